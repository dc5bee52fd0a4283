import { afterEach, describe, expect, test } from "vitest";
import { deposit, fenced } from "../../examples/fencing/postgres.js";
import {
  type ClientBase,
  openPostgres,
  type Pool,
  postgresCounter,
  preparePostgres,
} from "../../examples/fencing/test/postgres-counter.js";
import { until } from "../support/run/until.js";
import { startPostgres } from "../support/servers/postgres-server.js";
import { describeDeposits } from "./deposits.js";
import { describeGuard } from "./guard-promises.js";
import { describeStoppedProcess } from "./stopped-process.js";
import { testedStore } from "./stores.js";
import { describeTransactions } from "./transaction-promises.js";

const store = testedStore({ start: startPostgres, prepare: preparePostgres, open: postgresCounter });
/** What `pg` calls its errors where the server has ended the connection: before the statement, or in answer to it. */
const NO_CONNECTION = ["Error", "error"];
const pools: Pool[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
});

function pool(options?: string): Pool {
  const opened = openPostgres(store.port, options);
  pools.push(opened);
  return opened;
}

async function untilOneWaits(): Promise<void> {
  const onlooker = pool();
  const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  await until(async () => (await onlooker.query(waiting)).rowCount === 1);
}

describeGuard(store);
describeTransactions(store, untilOneWaits);
describeDeposits(async () => {
  const opened = pool();
  await opened.query("CREATE TABLE accounts (id int PRIMARY KEY, cents int NOT NULL)");
  await opened.query("INSERT INTO accounts VALUES (7, 100)");
  return {
    deposit: (lock, cents) => deposit(lock, opened, cents),
    balance: async () => (await opened.query("SELECT cents FROM accounts WHERE id = 7")).rows[0].cents,
  };
});
describeStoppedProcess({
  store: "postgres",
  port: () => store.port,
  counter: store.counter,
  guarded: [
    { way: "in steps", refusals: ["StaleTokenError"] },
    { way: "in one transaction", refusals: ["StaleTokenError", ...NO_CONNECTION] },
  ],
});

describe("PostgreSQL", () => {
  test("answers a commit without an error where the body has swallowed one: the guard throws", async () => {
    const name = store.freshName();
    const swallowing = async (tx: ClientBase) => {
      await tx.query("INSERT INTO counters VALUES ($1, 1)", [name]);
      await tx.query("SELECT 1 / 0").catch(() => undefined);
    };
    await expect(fenced(pool(), name, 1n, swallowing)).rejects.toThrow("rolled the transaction back");
    expect(await store.counter(name).value()).toBe(0);
  });

  test("keeps no listener on a connection that goes back to its pool", async () => {
    const opened = pool();
    const listeners: number[] = [];
    for (let times = 0; times < 3; times += 1) {
      await fenced(opened, store.freshName(), 1n, async (tx) => {
        listeners.push((tx as unknown as NodeJS.EventEmitter).listenerCount("error"));
      });
    }
    expect(listeners).toEqual([1, 1, 1]);
  });

  test.each(["repeatable read", "serializable"])(
    "refuses one that has waited for the fence with 40001 where transactions are %s",
    async (level) => {
      const name = store.freshName();
      const strict = pool(`-c default_transaction_isolation=${level.replace(" ", "\\ ")}`);
      const counter = store.counter(name);
      await counter.add(1n);
      let waiting: Promise<unknown> = Promise.resolve();
      await counter.addInOne(1n, async () => {
        waiting = fenced(strict, name, 2n, async () => "in").catch((error: unknown) => error);
        await untilOneWaits();
      });
      expect(await waiting).toMatchObject({ code: "40001" });
      expect(await fenced(strict, name, 2n, async () => "in")).toBe("in");
    },
  );

  test("loses an update where the check comes with the write alone", async () => {
    const name = store.freshName();
    const [late, next] = [store.counter(name), store.counter(name)];
    const plain = pool();
    await late.add(1n, async () => undefined);
    const read = await next.value();
    await late.add(1n);
    await fenced(plain, name, 2n, (tx) =>
      tx.query("UPDATE counters SET value = $1 WHERE name = $2", [read + 1, name]),
    );
    expect(await next.value()).toBe(2);
  });
});
