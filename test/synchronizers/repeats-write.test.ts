import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { lockConfirm } from "../../src/protocol/lock-scripts.js";
import { permitConfirm } from "../../src/protocol/semaphore-scripts.js";
import { ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { ask, info } from "../support/servers/ask.js";
import { locksOnReplicas } from "../support/servers/locks-on-replicas.js";

/** WAIT is about what its own connection has written, and a repeat may be all that a new one has sent. */
const redis = locksOnReplicas();
let driver: ScriptedDriver;
let holdfast: Holdfast;
beforeAll(() => ask(redis.servers.master, "CONFIG", "SET", "repl-ping-replica-period", 3_600));
beforeEach(() => {
  driver = new ScriptedDriver(ioredisDriver(redis.servers.master.client()));
  holdfast = new Holdfast(driver);
});
afterEach(async () => {
  await holdfast.close();
  await redis.plain.flushall();
});

/** How far the stream of writes to the replicas has come. */
async function written(): Promise<number> {
  return Number((await info(redis.servers.master, "replication")).get("master_repl_offset"));
}

const semaphore = () => holdfast.getSemaphore("semaphore");
const leasing = () => holdfast.getPermitExpirableSemaphore("leasing");
const latch = () => holdfast.getCountDownLatch("latch");

test.each<[script: string, before: () => Promise<unknown>, call: () => Promise<unknown>]>([
  ["lock-acquire", async () => {}, () => holdfast.getLock("lock").lock()],
  [
    "lock-acquire",
    () => holdfast.getLock("lock").lock({ threadId: 7, leaseMs: 60_000 }),
    () => holdfast.getLock("lock").lock({ threadId: 7, leaseMs: 1_000 }),
  ],
  ["count-try-set", async () => {}, () => latch().trySetCount(2)],
  ["latch-count-down", () => latch().trySetCount(2), () => latch().countDown()],
  ["count-delete", () => latch().trySetCount(2), () => latch().delete()],
  ["semaphore-acquire", () => semaphore().trySetPermits(2), () => semaphore().acquire()],
  ["semaphore-add", () => semaphore().trySetPermits(2), () => semaphore().release()],
  ["semaphore-drain", () => semaphore().trySetPermits(2), () => semaphore().drainPermits()],
  [
    "semaphore-resize",
    () => semaphore().trySetPermits(2),
    async () => holdfast.setPermits(await holdfast.inspect("semaphore"), 3),
  ],
  ["permit-acquire", () => leasing().trySetPermits(2), () => leasing().acquire()],
  ["permit-set-total", () => leasing().trySetPermits(2), () => leasing().setPermits(3)],
  [
    "permit-release",
    () => leasing().trySetPermits(2),
    async () => leasing().release((await leasing().acquire()).ids),
  ],
  [
    "permit-set-lease",
    () => leasing().trySetPermits(2),
    async () => leasing().updateLeaseTime((await leasing().acquire()).ids, 60_000),
  ],
])("a repeat of %s, which finds it done, writes as well", async (script, before, call) => {
  await before();
  let writtenByRepeat = 0;
  const met = driver.next(
    {
      name: "repeated",
      async meet(deliver) {
        const answer = await deliver();
        const writtenBefore = await written();
        const [, ...again] = (await deliver()) as unknown[];
        writtenByRepeat = (await written()) - writtenBefore;
        // But for the time.
        expect(again).toEqual((answer as unknown[]).slice(1));
        return answer;
      },
    },
    script,
  );
  await call();
  await met;
  expect(writtenByRepeat).toBeGreaterThan(0);
});

test("what asks whether a lock or permits are held still writes, too", async () => {
  const { holder } = await holdfast.getLock("lock").lock();
  await leasing().trySetPermits(2);
  const { ids } = await leasing().acquire();
  const asked = { holders: [holder], slots: [] };
  const questions = [
    lockConfirm.encode([{ key: "lock", ...asked }]),
    permitConfirm.encode([{ key: "leasing", ...asked, holders: ids }]),
  ];
  for (const { script, keys, args } of questions) {
    const writtenBefore = await written();
    const [, answer] = (await redis.plain.eval(script.lua, keys.length, ...keys, ...args)) as unknown[];
    expect(answer).toEqual(["renewed"]);
    expect(await written(), script.name).toBeGreaterThan(writtenBefore);
  }
});
