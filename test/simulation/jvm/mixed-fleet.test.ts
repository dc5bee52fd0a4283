import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { NodeUser } from "../../support/jvm/lock-user.js";
import type { RedissonSynchronizerName } from "../../support/jvm/redisson.js";
import { SimulatedFleet } from "../../support/jvm/simulated-fleet.js";
import { SimulatedSynchronizers, type SimulatedUser } from "../../support/jvm/simulated-jvm.js";
import { NodeSynchronizers, type SynchronizerUser } from "../../support/jvm/synchronizer-user.js";
import { type JvmLockKind, kindsOfJvmLock } from "./jvm-lock-kinds.js";

const HOUR_MS = 3_600_000;
const NAME = "order:7";

type Member = SimulatedUser | NodeUser;

let fleet: SimulatedFleet;
beforeEach(() => {
  fleet = new SimulatedFleet();
});
afterEach(async () => {
  expect(fleet.census()).toEqual({ watched: 0, waiting: 0, channels: 0 });
  expect(await fleet.close()).toBe(0);
});

const kinds = Object.keys(kindsOfJvmLock) as JvmLockKind[];

/** Who waits for what: read locks exclude each other only where one is a write lock. */
const trials = [
  ...kinds.filter((kind) => kind !== "read").map((kind) => ({ held: kind, wanted: kind })),
  { held: "read", wanted: "write" },
  { held: "write", wanted: "read" },
] as const;

const orders = [
  ["jvm", "jvm", "node"],
  ["jvm", "node", "jvm"],
  ["node", "jvm", "jvm"],
] as const;

const membersOf = (order: readonly ("jvm" | "node")[]): readonly Member[] =>
  order.map((side) => (side === "jvm" ? fleet.jvm() : fleet.node()));

describe.each(trials)("a held $held lock", ({ held, wanted }) => {
  const on = (kind: JvmLockKind) => ({ kind, name: NAME });
  const polling = wanted === "spin";

  test.each(orders)(
    "refuses %s, %s and %s but one, who wakes the next well before the lease ends",
    async (...order) => {
      const [holder, ...waiters] = membersOf(order);
      if (holder === undefined) throw new Error("an order has a first");
      await holder.lock(on(held), HOUR_MS);
      const entered: Member[] = [];
      let most = 0;
      let inside = 0;
      const visits = [];
      for (const waiter of waiters) {
        expect(await waiter.tryLock(on(wanted))).toBe(false);
        const visit = async () => {
          await waiter.lock(on(wanted), HOUR_MS);
          entered.push(waiter);
          inside += 1;
          most = Math.max(most, inside);
          expect(await waiter.isHeld(on(wanted))).toBe(true);
          inside -= 1;
          await waiter.unlock(on(wanted));
        };
        visits.push(visit());
        await waiter.waits({ polling });
      }
      expect(entered).toEqual([]);
      await holder.unlock(on(held));
      await fleet.clock.advance(1_000);
      await Promise.all(visits);
      expect(new Set(entered)).toEqual(new Set(waiters));
      if (wanted !== "read") expect(most).toBe(1);
      // Whoever queues for a fair lock has it in the order of the queue.
      if (wanted.endsWith("fair")) expect(entered).toEqual(waiters);
    },
  );

  test.each(orders)("is refused to %s, %s and %s for as long as they wait", async (...order) => {
    const [holder, ...waiters] = membersOf(order);
    if (holder === undefined) throw new Error("an order has a first");
    await holder.lock(on(held), HOUR_MS);
    const answers = waiters.map((waiter) => waiter.tryLock(on(wanted), { waitMs: 500, leaseMs: HOUR_MS }));
    await fleet.clock.advance(1_000);
    expect(await Promise.all(answers)).toEqual([false, false]);
    await holder.unlock(on(held));
    expect(await waiters[0]?.tryLock(on(wanted))).toBe(true);
    await waiters[0]?.unlock(on(wanted));
  });
});

describe.each(["semaphore", "permit-expirable-semaphore"] as const)("a %s", (kind) => {
  const on: RedissonSynchronizerName = { kind, name: NAME };
  test.each(orders)("gives its permit to %s, %s and %s, one after the other", async (...order) => {
    const members = order.map(
      (side): SynchronizerUser =>
        side === "jvm" ? new SimulatedSynchronizers(fleet.jvm()) : new NodeSynchronizers(fleet.node()),
    );
    const [holder, ...waiters] = members;
    if (holder === undefined) throw new Error("an order has a first");
    await holder.call(on, "trySetPermits", { permits: 1 });
    const releaseOf = (answer: unknown) => (Array.isArray(answer) ? { permitIds: answer } : {});
    const held = await holder.call(on, "acquire");
    let inside = 0;
    const visit = async (waiter: SynchronizerUser) => {
      const taken = await waiter.call(on, "acquire");
      inside += 1;
      expect(inside).toBe(1);
      expect(await waiter.call(on, "availablePermits")).toBe(0);
      inside -= 1;
      await waiter.call(on, "release", releaseOf(taken));
    };
    const visits = [];
    for (const waiter of waiters) {
      visits.push(visit(waiter));
      await waiter.waits();
    }
    await holder.call(on, "release", releaseOf(held));
    await fleet.clock.advance(1_000);
    await Promise.all(visits);
    expect(await holder.call(on, "availablePermits")).toBe(1);
  });
});

test.each(orders)("a latch holds up %s and %s until %s has counted down", async (...order) => {
  const on: RedissonSynchronizerName = { kind: "count-down-latch", name: NAME };
  const members = order.map(
    (side): SynchronizerUser =>
      side === "jvm" ? new SimulatedSynchronizers(fleet.jvm()) : new NodeSynchronizers(fleet.node()),
  );
  const [first, second, last] = members as [SynchronizerUser, SynchronizerUser, SynchronizerUser];
  await last.call(on, "trySetCount", { count: 2 });
  let passed = 0;
  const visits = [];
  for (const waiter of [first, second]) {
    visits.push(waiter.call(on, "await").then(() => (passed += 1)));
    await waiter.waits();
  }
  await last.call(on, "countDown");
  await fleet.clock.advance(100);
  expect(passed).toBe(0);
  await last.call(on, "countDown");
  await fleet.clock.advance(100);
  await Promise.all(visits);
  expect(passed).toBe(2);
});
