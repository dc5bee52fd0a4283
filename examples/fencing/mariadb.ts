import type { FencedLock } from "holdfast";
import type { Connection, Pool, RowDataPacket } from "mysql2/promise";
import { StaleTokenError } from "./stale-token-error.js";

/** InnoDB has transactions. VARBINARY tells "a" from "A", which the usual collations do not. */
export const FENCES = `CREATE TABLE IF NOT EXISTS fences (
  resource VARBINARY(255) PRIMARY KEY,
  token BIGINT NOT NULL
) ENGINE = InnoDB`;

/** Locks the row until the transaction ends, whichever token is greater. */
const RAISE = `INSERT INTO fences (resource, token) VALUES (?, ?)
  ON DUPLICATE KEY UPDATE token = GREATEST(token, VALUES(token))`;

/** As text, since drivers make a number of BIGINT. FOR UPDATE reads what is stored now, not what a snapshot shows. */
const GREATEST = "SELECT CAST(token AS CHAR) AS token FROM fences WHERE resource = ? FOR UPDATE";

/** Runs the body in a transaction that begins with the check, so that what the body reads is under the fence too. */
export async function fenced<T>(
  pool: Pool,
  resource: string,
  token: bigint,
  body: (tx: Connection) => Promise<T>,
): Promise<T> {
  const tx = await pool.getConnection();
  let isCommitted = false;
  try {
    await tx.beginTransaction();
    await tx.query(RAISE, [resource, token]);
    const [rows] = await tx.query<RowDataPacket[]>(GREATEST, [resource]);
    if (rows[0]?.["token"] !== String(token)) throw new StaleTokenError(resource, token);
    const value = await body(tx);
    await tx.commit();
    isCommitted = true;
    return value;
  } finally {
    // A connection that is closed rolls back.
    if (isCommitted) tx.release();
    else tx.destroy();
  }
}

export async function deposit(lock: FencedLock, pool: Pool, cents: number): Promise<void> {
  await lock.using(({ token }) =>
    fenced(pool, lock.name, token, async (tx) => {
      const [rows] = await tx.query<RowDataPacket[]>("SELECT cents FROM accounts WHERE id = 7");
      await tx.query("UPDATE accounts SET cents = ? WHERE id = 7", [rows[0]?.["cents"] + cents]);
    }),
  );
}
