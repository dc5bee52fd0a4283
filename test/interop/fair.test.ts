import { describe, expect, test } from "vitest";
import { fairQueueKey, fairTimeoutsKey } from "../../src/protocol/names.js";
import { interop, release } from "../support/jvm/interop.js";
import type { User } from "../support/jvm/lock-user.js";
import { proves } from "../support/run/proof.js";
import { until } from "../support/run/until.js";
import { interopKinds } from "./kinds.js";

const both = interop();
const NAME = "order:7";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const fairKinds = interopKinds.filter(({ name }) => name.endsWith("fair"));
const makers = { jvm: () => both.jvm(), node: () => both.node() };
const mixed = ["jvm", "node", "node", "jvm", "jvm", "node"] as const;

const queueKeys = [fairQueueKey(NAME), fairTimeoutsKey(NAME)] as const;

function queueTtlsMs(): Promise<readonly number[]> {
  return Promise.all(queueKeys.map((key) => both.plain.pttl(key)));
}

async function queued(count: number): Promise<void> {
  await until(async () => (await both.plain.llen(fairQueueKey(NAME))) === count);
}

describe.each(fairKinds)(
  `Redisson ${release}: a mixed queue of a lock of the kind: $name`,
  ({ name, of }) => {
    const lock = of(NAME);
    proves({ kind: name, direction: "both", of: "queue" });

    test.each(["jvm", "node"] as const)(
      "is served in its order behind a holder of the %s side, each once",
      async (side) => {
        const holder = await makers[side]();
        await holder.lock(lock, HOUR_MS);
        const entered: number[] = [];
        const visits: Promise<void>[] = [];
        for (const [at, maker] of mixed.entries()) {
          const user = await makers[maker]();
          visits.push(visit(user, at));
          await queued(at + 1);
        }
        await holder.unlock(lock);
        await Promise.all(visits);
        expect(entered).toEqual(mixed.map((_, at) => at));

        async function visit(user: User, at: number): Promise<void> {
          await user.lock(lock, HOUR_MS);
          entered.push(at);
          expect(await both.plain.hgetall(NAME)).toEqual({ [user.holder]: "1" });
          await user.unlock(lock);
        }
      },
    );

    test.each(["jvm", "node"] as const)("loses who gives up behind a holder of the %s side", async (side) => {
      const holder = await makers[side]();
      await holder.lock(lock, HOUR_MS);
      const [jvm, node, last] = [await both.jvm(), await both.node(), await both.node()];
      const timed = jvm.tryLock(lock, { waitMs: 5_000, leaseMs: HOUR_MS });
      await queued(1);
      const cancelled = node.lock(lock);
      await queued(2);
      const waiting = last.lock(lock);
      await queued(3);
      await Promise.all([expect(cancelled).rejects.toThrow("given up"), node.giveUp()]);
      expect(await timed).toBe(false);
      await queued(1);
      await holder.unlock(lock);
      await waiting;
      await last.unlock(lock);
    });

    test("gets an expiry from ours, which a JVM that comes keeps: where only JVMs come, the queue is gone when it is over [own-3]", async () => {
      const [holder, first, second] = [await both.jvm(), await both.jvm(), await both.jvm()];
      await holder.lock(lock, HOUR_MS);
      const waiting = first.tryLock(lock, { waitMs: 5_000, leaseMs: HOUR_MS });
      await queued(1);
      expect(await queueTtlsMs()).toEqual([-1, -1]);
      const node = await both.node();
      const leaving = node.lock(lock);
      await until(async () => (await queueTtlsMs()).every((ms) => ms > DAY_MS));
      await Promise.all([expect(leaving).rejects.toThrow("given up"), node.giveUp()]);
      await queued(1);
      // In place of the day.
      for (const key of queueKeys) await both.plain.pexpire(key, 2_000);
      const behind = second.tryLock(lock, { waitMs: 5_000, leaseMs: HOUR_MS });
      await queued(2);
      for (const ms of await queueTtlsMs()) {
        expect(ms).toBeGreaterThan(0);
        expect(ms).toBeLessThanOrEqual(2_000);
      }
      await until(async () => (await both.plain.exists(...queueKeys)) === 0);
      // Those who stood in it are told by nobody, and do not get in.
      await holder.unlock(lock);
      expect(await both.plain.exists(NAME)).toBe(0);
      expect(await Promise.all([waiting, behind])).toEqual([false, false]);
    });

    test("counts ten of ours once for a JVM behind them, and not at all when they have been [own-4]", async () => {
      const holder = await both.node();
      await holder.lock(lock, HOUR_MS);
      const nodes = await Promise.all(Array.from({ length: 10 }, () => both.node()));
      const visits: Promise<void>[] = [];
      for (const [at, node] of nodes.entries()) {
        visits.push(visit(node));
        await queued(at + 1);
      }
      const waitMs = 20_000;
      const jvm = await both.jvm();
      const waiting = jvm.tryLock(lock, { waitMs, leaseMs: HOUR_MS });
      await queued(11);
      expect(await scoreMs(jvm)).toBeLessThanOrEqual(330_000 + waitMs);
      const next = await both.jvm();
      const last = next.tryLock(lock, { waitMs, leaseMs: HOUR_MS });
      await queued(12);
      await holder.unlock(lock);
      await Promise.all(visits);
      expect(await waiting).toBe(true);
      // Behind a JVM that has entered it has its own wait, and at most 30 s for the lease that it saw.
      expect(await scoreMs(next)).toBeLessThanOrEqual(30_000 + waitMs);
      await jvm.unlock(lock);
      expect(await last).toBe(true);
      await next.unlock(lock);

      async function visit(user: User): Promise<void> {
        await user.lock(lock, 20_000);
        await user.unlock(lock);
      }

      async function scoreMs(user: User): Promise<number> {
        return Number(await both.plain.zscore(fairTimeoutsKey(NAME), user.holder)) - (await both.nowMs());
      }
    });
  },
);
