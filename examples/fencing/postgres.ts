import type { FencedLock } from "holdfast";
import type { ClientBase, Pool } from "pg";
import { StaleTokenError } from "./stale-token-error.js";

export const FENCES = `CREATE TABLE IF NOT EXISTS fences (
  resource text PRIMARY KEY,
  token bigint NOT NULL
)`;

/** Changes no row where the stored token is greater; else it locks the row until the transaction ends. */
const RAISE = `INSERT INTO fences AS fence (resource, token) VALUES ($1, $2)
  ON CONFLICT (resource) DO UPDATE SET token = EXCLUDED.token WHERE fence.token <= EXCLUDED.token`;

/** Runs the body in a transaction that begins with the check, so that what the body reads is under the fence too. */
export async function fenced<T>(
  pool: Pool,
  resource: string,
  token: bigint,
  body: (tx: ClientBase) => Promise<T>,
): Promise<T> {
  const tx = await pool.connect();
  // Without a listener, a connection that breaks between two statements would end the process.
  const ignore = () => {};
  tx.on("error", ignore);
  let isCommitted = false;
  try {
    await tx.query("BEGIN");
    const { rowCount } = await tx.query(RAISE, [resource, token]);
    if (rowCount === 0) throw new StaleTokenError(resource, token);
    const value = await body(tx);
    // PostgreSQL answers COMMIT with ROLLBACK, and no error, where the body has swallowed the error of a statement.
    isCommitted = (await tx.query("COMMIT")).command === "COMMIT";
    if (!isCommitted) throw new Error("PostgreSQL has rolled the transaction back");
    return value;
  } finally {
    tx.off("error", ignore);
    // A connection that is closed rolls back.
    tx.release(!isCommitted);
  }
}

export async function deposit(lock: FencedLock, pool: Pool, cents: number): Promise<void> {
  await lock.using(({ token }) =>
    fenced(pool, lock.name, token, async (tx) => {
      const { rows } = await tx.query<{ cents: number }>("SELECT cents FROM accounts WHERE id = 7");
      await tx.query("UPDATE accounts SET cents = $1 WHERE id = 7", [(rows[0]?.cents ?? 0) + cents]);
    }),
  );
}
