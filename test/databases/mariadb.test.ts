import { afterEach, describe, expect, test } from "vitest";
import { deposit } from "../../examples/fencing/mariadb.js";
import {
  type Connection,
  mariadbCounter,
  openMariadb,
  type Pool,
  type PoolOptions,
  prepareMariadb,
  type ResultSetHeader,
  type RowDataPacket,
} from "../../examples/fencing/test/mariadb-counter.js";
import { until } from "../support/run/until.js";
import { startMariadb } from "../support/servers/mariadb-server.js";
import { describeDeposits } from "./deposits.js";
import { describeGuard } from "./guard-promises.js";
import { describeStoppedProcess } from "./stopped-process.js";
import { testedStore } from "./stores.js";
import { describeTransactions } from "./transaction-promises.js";

const store = testedStore({ start: startMariadb, prepare: prepareMariadb, open: mariadbCounter });
const pools: Pool[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
});

function pool(options?: PoolOptions): Pool {
  const opened = openMariadb(store.port, options);
  pools.push(opened);
  return opened;
}

async function untilOneWaits(): Promise<void> {
  const onlooker = pool();
  // Not innodb_trx: looked at more than ten times a second, it always shows the same.
  const waiting = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'";
  await until(async () => (await rowsOf(onlooker, waiting))[0]?.["Value"] === "1");
}

async function rowsOf(on: Pool | Connection, sql: string, values: unknown[] = []): Promise<RowDataPacket[]> {
  const [rows] = await on.query<RowDataPacket[]>(sql, values);
  return rows;
}

describeGuard(store);
describeTransactions(store, untilOneWaits);
describeDeposits(async () => {
  const opened = pool();
  await opened.query("CREATE TABLE accounts (id INT PRIMARY KEY, cents INT NOT NULL) ENGINE = InnoDB");
  await opened.query("INSERT INTO accounts VALUES (7, 100)");
  return {
    deposit: (lock, cents) => deposit(lock, opened, cents),
    balance: async () => (await rowsOf(opened, "SELECT cents FROM accounts WHERE id = 7"))[0]?.["cents"],
  };
});
describeStoppedProcess({
  store: "mariadb",
  port: () => store.port,
  counter: store.counter,
  guarded: [
    { way: "in steps", refusals: ["StaleTokenError"] },
    { way: "in one transaction", refusals: ["StaleTokenError", "Error"] },
  ],
});

describe("MariaDB, and why the guard is as it is", () => {
  const UPSERT = `INSERT INTO fences VALUES (?, ?)
    ON DUPLICATE KEY UPDATE token = IF(token <= VALUES(token), VALUES(token), token)`;
  const CONDITIONAL = "UPDATE fences SET token = ? WHERE resource = ? AND token <= ?";

  test.each([
    ["found", ["FOUND_ROWS"], 1],
    ["changed", ["-FOUND_ROWS"], 0],
  ])("counts rows that were %s: a stale token and the same one again look alike", async (_, flags, count) => {
    const connection = pool({ flags });
    const name = store.freshName();
    const upsert = async (token: number) => {
      const [{ affectedRows }] = await connection.query<ResultSetHeader>(UPSERT, [name, token]);
      return affectedRows;
    };
    expect([await upsert(5), await upsert(6)]).toEqual([1, 2]);
    expect({ same: await upsert(6), stale: await upsert(5) }).toEqual({ same: count, stale: count });
  });

  test("counts the same token again as no row where changed rows count", async () => {
    const name = store.freshName();
    const counts = [];
    for (const flags of [["FOUND_ROWS"], ["-FOUND_ROWS"]]) {
      const connection = pool({ flags });
      await connection.query(UPSERT, [name, 6]);
      const [{ affectedRows }] = await connection.query<ResultSetHeader>(CONDITIONAL, [6, name, 6]);
      counts.push(affectedRows);
    }
    expect(counts).toEqual([1, 0]);
  });

  test("locks nothing by FOR UPDATE where there is no row", async () => {
    const name = store.freshName();
    const connections = await Promise.all([pool().getConnection(), pool().getConnection()]);
    for (const connection of connections) {
      await connection.beginTransaction();
      const sql = "SELECT token FROM fences WHERE resource = ? FOR UPDATE";
      expect(await rowsOf(connection, sql, [name])).toEqual([]);
    }
    for (const connection of connections) connection.destroy();
  });

  test("shows what was there at the first read of a transaction, also after the check: FOR UPDATE does not", async () => {
    const name = store.freshName();
    const counter = store.counter(name);
    await counter.add(1n);
    const early = await pool().getConnection();
    await early.beginTransaction();
    await rowsOf(early, "SELECT 1 FROM counters");
    await counter.add(9n);
    await early.query(UPSERT, [name, 2]);
    expect(await rowsOf(early, "SELECT value FROM counters WHERE name = ?", [name])).toEqual([{ value: 1 }]);
    const fence = "SELECT token FROM fences WHERE resource = ?";
    expect(await rowsOf(early, fence, [name])).toEqual([{ token: 1 }]);
    expect(await rowsOf(early, `${fence} FOR UPDATE`, [name])).toEqual([{ token: 9 }]);
    early.destroy();
  });
});
