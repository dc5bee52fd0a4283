import { type ClientBase, Pool } from "pg";
import { FENCES, fenced } from "../postgres.js";
import { atOnce, type TransactionCounter } from "./counter.js";

/** For the tests, whose folder has no such package. */
export type { ClientBase, Pool } from "pg";

/** @param options of the connections, as `psql` takes them in PGOPTIONS */
export function openPostgres(port: number, options = ""): Pool {
  const pool = new Pool({ host: "127.0.0.1", port, user: "postgres", database: "postgres", options });
  // A server that ends an idle connection would end the process.
  pool.on("error", () => {});
  return pool;
}

export async function preparePostgres(port: number): Promise<void> {
  const pool = openPostgres(port);
  await pool.query(FENCES);
  await pool.query("CREATE TABLE IF NOT EXISTS counters (name text PRIMARY KEY, value int NOT NULL)");
  await pool.end();
}

export function postgresCounter(port: number, name: string, pool = openPostgres(port)): TransactionCounter {
  const read = async (tx: ClientBase | Pool) => {
    const { rows } = await tx.query<{ value: number }>("SELECT value FROM counters WHERE name = $1", [name]);
    return rows[0]?.value ?? 0;
  };
  const write = async (tx: ClientBase | Pool, value: number) => {
    const sql =
      "INSERT INTO counters VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value";
    await tx.query(sql, [name, value]);
  };
  return {
    value: () => read(pool),
    async add(token, between = atOnce) {
      const value = await fenced(pool, name, token, read);
      await between(value);
      await fenced(pool, name, token, (tx) => write(tx, value + 1));
    },
    addInOne: (token, between = atOnce) =>
      fenced(pool, name, token, async (tx) => {
        const value = await read(tx);
        await between(value);
        await write(tx, value + 1);
      }),
    async addUnguarded(between = atOnce) {
      const value = await read(pool);
      await between(value);
      await write(pool, value + 1);
    },
    close: () => pool.end(),
  };
}
