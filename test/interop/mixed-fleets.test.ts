import { describe, expect, test } from "vitest";
import {
  fairQueueKey,
  fairTimeoutsKey,
  fencingTokenKey,
  MODE_FIELD,
  readHoldKey,
} from "../../src/protocol/names.js";
import { interop, release, since } from "../support/jvm/interop.js";
import { JvmUser } from "../support/jvm/lock-user.js";
import { startRedisson } from "../support/jvm/redisson.js";
import { until } from "../support/run/until.js";
import { keepJournal } from "../support/servers/key-journal.js";
import { spawnProgram } from "../support/worlds/child.js";
import { interopKinds } from "./kinds.js";

const both = interop();
const NAME = "order:7";
const HOUR_MS = 3_600_000;
/** Of those of ours whom nobody tells. */
const ASKS_EACH_MS = 200;

const plain = { kind: "lock", name: NAME } as const;
const spin = { kind: "spin", name: NAME } as const;
const fenced = { kind: "fenced", name: NAME } as const;
const reader = { kind: "read", name: NAME } as const;
const writer = { kind: "write", name: NAME } as const;

async function queue(): Promise<readonly string[]> {
  return both.plain.lrange(fairQueueKey(NAME), 0, -1);
}

// What docs/reference/redisson-differences.md says of mixed fleets.
describe(`Redisson ${release} does as it does, beside holdfast`, () => {
  describe.each(interopKinds.filter(({ name }) => name.endsWith("fair")))("$name", ({ of }) => {
    const lock = of(NAME);

    test("a JVM that was interrupted keeps its place until 30 s after its score, with ours [wire-L3]", async () => {
      const [holder, jvm, node, other] = [
        await both.node(),
        await both.jvm(),
        await both.node(),
        await both.node(),
      ];
      await holder.lock(lock, HOUR_MS);
      const interrupted = jvm.lock(lock);
      await jvm.waits();
      const waiting = node.lock(lock);
      await until(async () => (await queue()).length === 2);
      await Promise.all([expect(interrupted).rejects.toThrow("InterruptedException"), jvm.giveUp()]);
      await holder.unlock(lock);
      expect(await both.plain.exists(NAME)).toBe(0);
      expect(await queue()).toEqual([jvm.holder, node.holder]);
      await both.plain.zadd(fairTimeoutsKey(NAME), (await both.nowMs()) - 15_000, jvm.holder);
      expect(await other.tryLock(lock)).toBe(false);
      expect(await queue()).toEqual([jvm.holder, node.holder]);
      await both.plain.zadd(fairTimeoutsKey(NAME), (await both.nowMs()) - 30_000, jvm.holder);
      await waiting;
      expect(await queue()).toEqual([]);
      await node.unlock(lock);
    });
  });

  test("a JVM that was killed in the queue of a fair lock keeps its place, with JVMs until its score [wire-L2]", async () => {
    const fair = { kind: "fair", name: NAME } as const;
    const [holder, node, other] = [await both.node(), await both.node(), await both.jvm()];
    const redisson = await startRedisson(release);
    const killed = await JvmUser.of(await redisson.connect(both.server.url));
    await holder.lock(fair, HOUR_MS);
    killed.lock(fair, HOUR_MS).catch(() => undefined);
    await killed.waits();
    await redisson.stop();
    await holder.unlock(fair);
    expect([await node.tryLock(fair), await other.tryLock(fair)]).toEqual([false, false]);
    await both.plain.zadd(fairTimeoutsKey(NAME), await both.nowMs(), killed.holder);
    expect([await node.tryLock(fair), await other.tryLock(fair)]).toEqual([false, true]);
    await other.unlock(fair);
  });

  test.runIf(!since("3.52.0"))(
    "a JVM with a name mapper has a queue of its own for fair locks: no common order [B33]",
    async () => {
      const settings = { namePrefix: "app:" };
      const [holder, jvm] = [await both.node(settings), await both.jvm(settings)];
      const fair = { kind: "fair", name: NAME } as const;
      await holder.lock(fair, HOUR_MS);
      const waiting = jvm.tryLock(fair, { waitMs: 500, leaseMs: HOUR_MS });
      await jvm.waits();
      expect(await both.plain.keys("redisson_lock_queue:*")).toEqual([fairQueueKey(NAME)]);
      expect(await waiting).toBe(false);
      await holder.unlock(fair);
    },
  );

  test.runIf(!since("3.32.0"))(
    "a JVM waits for ever for a fair lock whose holder was kept alive and died, until one of ours asks [wire-L6]",
    async () => {
      const fair = { kind: "fair", name: NAME } as const;
      const watchdogMs = 500;
      const holder = spawnProgram("lock-taker", {
        port: both.server.port,
        lock: NAME,
        kind: "fair",
        watchdogMs,
      });
      try {
        await holder.next("ready");
        expect(await holder.ask("lock")).toMatchObject({ event: "held" });
        const [jvm, node] = [await both.jvm(), await both.node()];
        const waiting = jvm.lock(fair, HOUR_MS);
        await jvm.waits();
        // It asks again when the TTL that it saw has passed, hears of a time that has passed, and sleeps.
        const endMs = (await both.nowMs()) + 3 * watchdogMs;
        await until(async () => (await both.nowMs()) > endMs);
        await holder.stop();
        await until(async () => (await both.plain.exists(NAME)) === 0);
        const freeMs = (await both.nowMs()) + 3 * watchdogMs;
        await until(async () => (await both.nowMs()) > freeMs);
        expect(await both.plain.exists(NAME)).toBe(0);
        expect(await node.tryLock(fair)).toBe(false);
        await waiting;
        await jvm.unlock(fair);
      } finally {
        await holder.stop();
      }
    },
  );

  test("a JVM enters with its read-write lock beside a plain lock of that name; ours does not [wire-S21]", async () => {
    const [jvm, node] = [await both.jvm(), await both.node()];
    await node.lock(plain, HOUR_MS);
    expect(await jvm.tryLock(writer, { leaseMs: HOUR_MS })).toBe(true);
    await both.plain.del(NAME);
    await jvm.lock(plain, HOUR_MS);
    expect(await node.tryLock(writer)).toBe(false);
    expect(await node.tryLock(reader)).toBe(false);
    await jvm.unlock(plain);
  });

  test("a JVM that goes on as a reader tells nobody: ours ask each safety period [wire-L11]", async () => {
    const journal = await keepJournal(both.server);
    const [jvm, node] = [await both.jvm(), await both.node({ safetyPeriodMs: ASKS_EACH_MS })];
    await jvm.lock(writer, HOUR_MS);
    await jvm.lock(reader, HOUR_MS);
    const waiting = node.lock(reader, HOUR_MS);
    await node.waits();
    await jvm.unlock(writer);
    await waiting;
    expect(await journal.read()).toEqual([]);
    expect(await both.plain.hkeys(NAME)).toEqual([MODE_FIELD, jvm.holder, node.holder]);
    await Promise.all([jvm.unlock(reader), node.unlock(reader)]);
  });

  test("a JVM that reads does not give way to a writer that waits; ours does [wire-L12]", async () => {
    const [first, jvm, node, patient] = [
      await both.jvm(),
      await both.jvm(),
      await both.node(),
      await both.node(),
    ];
    await first.lock(reader, HOUR_MS);
    const waiting = patient.lock({ kind: "fair write", name: NAME }, HOUR_MS);
    await patient.waits();
    expect(await node.tryLock({ kind: "fair read", name: NAME })).toBe(false);
    expect(await jvm.tryLock(reader, { leaseMs: HOUR_MS })).toBe(true);
    await Promise.all([first.unlock(reader), jvm.unlock(reader)]);
    await waiting;
    await patient.unlock(writer);
  });

  test("a JVM's watchdog shortens the TTL of a lock that ours reads longer: it is written anew [wire-S6]", async () => {
    const watchdogMs = 3_000;
    const redisson = await startRedisson(release);
    const node = await both.node({ watchdogMs });
    try {
      await node.lock(reader, HOUR_MS);
      const jvm = (await redisson.connect(both.server.url, { watchdogMs })).thread("reader");
      await jvm.call(reader, "lock");
      await until(async () => (await both.plain.pttl(NAME)) <= watchdogMs);
    } finally {
      await redisson.stop();
    }
    const endMs = (await both.nowMs()) + watchdogMs;
    await until(async () => (await both.nowMs()) > endMs);
    expect(await node.holdCount(reader)).toBe(1);
    expect(await both.plain.pttl(NAME)).toBeGreaterThan(HOUR_MS / 2);
    expect(await both.plain.exists(readHoldKey(NAME, node.holder, 1))).toBe(1);
    await node.unlock(reader);
    await both.plain.del(NAME);
  });

  test.runIf(!since("4.4.0"))("a JVM that reads keeps the holds of dead readers alive [B3]", async () => {
    const watchdogMs = 3_000;
    const dead = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";
    const jvm = await both.jvm({ watchdogMs });
    await jvm.lock(reader);
    await both.plain.hset(NAME, dead, 1);
    const hold = readHoldKey(NAME, dead, 1);
    await both.plain.set(hold, 1, "PX", watchdogMs / 2);
    await until(async () => (await both.plain.pttl(hold)) > watchdogMs / 2);
    await jvm.unlock(reader);
    expect(await both.plain.exists(NAME)).toBe(1);
    await both.plain.del(NAME, hold);
  });

  test("a JVM that releases a spin lock tells nobody who waits for a plain one; ours does [wire-L23]", async () => {
    const journal = await keepJournal(both.server);
    const [jvm, node] = [await both.jvm(), await both.node({ safetyPeriodMs: ASKS_EACH_MS })];
    await jvm.lock(spin, HOUR_MS);
    const ours = node.lock(plain, HOUR_MS);
    await node.waits();
    await jvm.unlock(spin);
    await ours;
    expect(await journal.read()).toEqual([]);
    await node.unlock(plain);
    await node.lock(spin, HOUR_MS);
    const theirs = jvm.lock(plain, HOUR_MS);
    await jvm.waits();
    await node.unlock(spin);
    await theirs;
    await jvm.unlock(plain);
  });

  test("a JVM that asks for the token of a lock without a TTL believes to have it, with token -1 [wire-S12]", async () => {
    const [jvm, node] = [await both.jvm(), await both.node()];
    expect(await node.lock(fenced, HOUR_MS)).toBe(1n);
    await both.plain.persist(NAME);
    expect(await jvm.thread.call(fenced, "tryLockAndGetToken")).toBe(-1);
    expect([await jvm.isHeld(fenced), await node.isHeld(fenced)]).toEqual([false, true]);
    await node.unlock(fenced);
  });

  test("a JVM that asks for a lock and its token with a lease has the watchdog's [wire-L18]", async () => {
    const jvm = await both.jvm();
    expect(await jvm.thread.call(fenced, "lockAndGetToken", { leaseMs: HOUR_MS })).toBe(1);
    expect(await both.plain.pttl(NAME)).toBeLessThanOrEqual(30_000);
    await jvm.unlock(fenced);
  });

  test("a JVM's multi lock gives the counter of a fenced lock a TTL: ours takes it off [wire-S13]", async () => {
    const [jvm, node] = [await both.jvm(), await both.node()];
    const multi = { kind: "multi", name: NAME, members: [fenced] } as const;
    expect(await node.lock(fenced, HOUR_MS)).toBe(1n);
    await node.unlock(fenced);
    expect(await jvm.tryLock(multi, { leaseMs: HOUR_MS })).toBe(true);
    await jvm.unlock(multi);
    expect(await both.plain.pttl(fencingTokenKey(NAME))).toBeGreaterThan(0);
    expect(await node.lock(fenced, HOUR_MS)).toBe(3n);
    expect(await both.plain.pttl(fencingTokenKey(NAME))).toBe(-1);
    await node.unlock(fenced);
  });
});
