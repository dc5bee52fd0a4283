import { type Connection, createPool, type Pool, type PoolOptions, type RowDataPacket } from "mysql2/promise";
import { FENCES, fenced } from "../mariadb.js";
import { atOnce, type TransactionCounter } from "./counter.js";

/** For the tests, whose folder has no such package. */
export type { Connection, Pool, PoolOptions, ResultSetHeader, RowDataPacket } from "mysql2/promise";

const DATABASE = "holdfast";

export function openMariadb(port: number, options: PoolOptions = {}): Pool {
  return createPool({ host: "127.0.0.1", port, user: "root", database: DATABASE, ...options });
}

export async function prepareMariadb(port: number): Promise<void> {
  const outside = createPool({ host: "127.0.0.1", port, user: "root" });
  await outside.query(`CREATE DATABASE IF NOT EXISTS ${DATABASE}`);
  await outside.end();
  const pool = openMariadb(port);
  await pool.query(FENCES);
  await pool.query(
    "CREATE TABLE IF NOT EXISTS counters (name VARCHAR(99) PRIMARY KEY, value INT NOT NULL) ENGINE = InnoDB",
  );
  await pool.end();
}

export function mariadbCounter(port: number, name: string, pool = openMariadb(port)): TransactionCounter {
  const read = async (tx: Connection | Pool): Promise<number> => {
    const [rows] = await tx.query<RowDataPacket[]>("SELECT value FROM counters WHERE name = ?", [name]);
    return rows[0]?.["value"] ?? 0;
  };
  const write = async (tx: Connection | Pool, value: number) => {
    const sql = "INSERT INTO counters VALUES (?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)";
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
