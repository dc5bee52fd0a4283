import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { deposit, update } from "../../examples/fencing/s3.js";
import { openS3, s3Counter, valueIn } from "../../examples/fencing/test/s3-counter.js";
import type { DatabaseServer } from "../support/servers/database-process.js";
import { describeDeposits } from "./deposits.js";
import { listening } from "./listening.js";
import { objectStore } from "./object-store.js";
import { describeStoppedProcess } from "./stopped-process.js";
import { testedStore } from "./stores.js";

const STALE = { name: "StaleTokenError" };

/** So many answers are still to be lost. */
let dropped = 0;
const store = testedStore({
  start: () =>
    listening(
      objectStore({
        minds: true,
        dropsAnswer: () => {
          if (dropped === 0) return false;
          dropped -= 1;
          return true;
        },
      }),
    ),
  open: s3Counter,
});
/** Without conditions, the guard is none. */
let heedless: DatabaseServer | undefined;
beforeAll(async () => {
  heedless = await listening(objectStore({ minds: false }));
});
afterAll(() => heedless?.stop());

describe("the guard, on a stand-in for S3", () => {
  test("creates the object, and lets the same token and greater ones write", async () => {
    const counter = store.counter(store.freshName());
    for (const token of [7n, 7n, 10n]) await counter.add(token);
    expect(await counter.value()).toBe(3);
  });

  test("refuses a token once a greater one has written", async () => {
    const counter = store.counter(store.freshName());
    await counter.add(10n);
    await expect(counter.add(9n)).rejects.toMatchObject(STALE);
    expect(await counter.value()).toBe(1);
  });

  test("refuses the write of a holder that has read before the next one wrote", async () => {
    const counter = store.counter(store.freshName());
    await expect(counter.add(1n, () => counter.add(2n))).rejects.toMatchObject(STALE);
    expect(await counter.value()).toBe(1);
  });

  test("refuses it also where the next one has written the value that was there: the ETag is another", async () => {
    const s3 = openS3(store.port);
    const place = { Bucket: "accounts", Key: store.freshName() };
    await update(s3, place, 1n, () => 5);
    const touch = () => update(s3, place, 2n, (value) => value);
    const late = update(s3, place, 1n, async (value) => {
      await touch();
      return value + 1;
    });
    await expect(late).rejects.toMatchObject(STALE);
    s3.destroy();
  });

  test("does not lose what an earlier holder writes between the next one's read and write", async () => {
    const counter = store.counter(store.freshName());
    await counter.add(1n);
    let reads = 0;
    await counter.add(2n, async () => {
      reads += 1;
      if (reads === 1) await counter.add(1n);
    });
    expect([reads, await counter.value()]).toEqual([2, 3]);
  });

  test("counts a write once whose answer was lost, and which the client has repeated", async () => {
    const counter = store.counter(store.freshName());
    await counter.add(1n);
    dropped = 1;
    await counter.add(1n);
    expect([dropped, await counter.value()]).toEqual([0, 2]);
  });

  test("lets two create it at once, and loses neither", async () => {
    const name = store.freshName();
    const [one, two] = [store.counter(name), store.counter(name)];
    await Promise.all([one.add(1n), two.add(1n)]);
    expect(await one.value()).toBe(2);
  });
});

describe("a store that ignores conditions", () => {
  test("lets a late write pass, guard or not: test yours", async () => {
    const counter = store.counter(store.freshName(), heedless?.port);
    await counter.add(1n, () => counter.add(2n));
    expect(await counter.value()).toBe(1);
  });
});

const clients: ReturnType<typeof openS3>[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});
describeDeposits(() => {
  const s3 = openS3(store.port);
  clients.push(s3);
  return {
    deposit: (lock, cents) => deposit(lock, s3, cents),
    balance: () => valueIn(s3, { Bucket: "accounts", Key: "7.json" }),
  };
});
describeStoppedProcess({
  store: "s3",
  port: () => store.port,
  counter: store.counter,
  guarded: [{ way: "in steps", refusals: ["StaleTokenError"] }],
});
