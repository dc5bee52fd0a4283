import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { mariadbServer } from "../support/mariadb-server.mjs";

/** @import { Library } from "../support/contracts.js" */

/** As often as redis-semaphore. */
const RETRY_DELAY_MS = 10;
/** The driver's default. */
const CONNECTIONS = 10;
/** Statements on one row that come together may be refused as a deadlock, and are to be tried again. */
const DEADLOCK = 1213;
const MAX_TRIES = 100;

const TABLE = `CREATE TABLE IF NOT EXISTS bench.locks (
  name VARCHAR(190) PRIMARY KEY, owner CHAR(36) NOT NULL, until DATETIME(3) NOT NULL)`;
/** MariaDB assigns from left to right: whoever reads \`until\` must come before it is written. */
const TAKE = `INSERT INTO bench.locks VALUES (?, ?, NOW(3) + INTERVAL ? * 1000 MICROSECOND)
  ON DUPLICATE KEY UPDATE
    owner = IF(until < NOW(3), VALUES(owner), owner),
    until = IF(owner = VALUES(owner), VALUES(until), until)`;
const GIVE_BACK = "DELETE FROM bench.locks WHERE name = ? AND owner = ?";

/**
 * What one would write by hand where there is a database: a row with a unique name and an end.
 *
 * @type {Library}
 */
export const mariadbRow = {
  name: "mariadb-row",
  role: "other",
  server: mariadbServer,
  packages: ["mariadb"],
  claims: { kinds: [], waits: true, renews: false },

  async open({ port, run }) {
    const { createPool, SqlError } = await import("mariadb");
    const pool = createPool({
      host: "127.0.0.1",
      port,
      user: "root",
      connectionLimit: CONNECTIONS,
      // Rows count that were changed, not those that were found.
      foundRows: false,
    });
    await pool.query("CREATE DATABASE IF NOT EXISTS bench");
    await pool.query(TABLE);

    /** @type {(sql: string, values: readonly unknown[]) => Promise<number>} */
    async function changedRows(sql, values) {
      for (let tries = 1; ; tries += 1) {
        try {
          return (await pool.query(sql, values)).affectedRows;
        } catch (error) {
          const isDeadlock = error instanceof SqlError && error.errno === DEADLOCK;
          if (!isDeadlock || tries === MAX_TRIES) throw error;
        }
      }
    }

    return {
      async acquire(name, { ttlMs = 30_000 }) {
        const row = `${run}:${name}`;
        const owner = randomUUID();
        for (;;) {
          const untilMs = Date.now() + ttlMs;
          if ((await changedRows(TAKE, [row, owner, ttlMs])) > 0) return { row, owner, untilMs };
          await sleep(RETRY_DELAY_MS);
        }
      },

      release: async (/** @type {{ row: string, owner: string }} */ { row, owner }) =>
        (await changedRows(GIVE_BACK, [row, owner])) > 0,

      isHeld: (/** @type {{ untilMs: number }} */ { untilMs }) => untilMs > Date.now(),
    };
  },
};
