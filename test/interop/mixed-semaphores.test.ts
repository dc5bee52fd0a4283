import { afterEach, describe, expect, test } from "vitest";
import { permitLeasesKey, savedPermitsKey } from "../../src/protocol/names.js";
import { release, since } from "../support/jvm/interop.js";
import type { RedissonSynchronizerName } from "../support/jvm/redisson.js";
import { until } from "../support/run/until.js";
import { synchronizerFleet, take } from "./synchronizer-fleet.js";

const { both, jvm: jvmUser, node: nodeUser } = synchronizerFleet();
const HOUR_MS = 3_600_000;
const NAME = "order:7";

const semaphore: RedissonSynchronizerName = { kind: "semaphore", name: NAME };
const leased: RedissonSynchronizerName = { kind: "permit-expirable-semaphore", name: NAME };
const latch: RedissonSynchronizerName = { kind: "count-down-latch", name: NAME };

// What docs/reference/redisson-differences.md says of mixed fleets.
describe(`Redisson ${release} does as it does with semaphores and latches, beside holdfast`, () => {
  afterEach(() => both.plain.del(NAME, permitLeasesKey(NAME), savedPermitsKey(NAME)));

  test("a JVM takes permits that are saved up for one of ours; ours does not [B28]", async () => {
    const [jvm, node] = [await jvmUser(), await nodeUser()];
    await node.call(semaphore, "trySetPermits", { permits: 1 });
    await both.plain.set(savedPermitsKey(NAME), "somebody:2:1795000000000");
    expect(await node.call(semaphore, "tryAcquire")).toBe(false);
    expect(await jvm.call(semaphore, "tryAcquire")).toBe(true);
  });

  test("a JVM that adds permits takes the end off a semaphore; ours does not [wire-A9]", async () => {
    const [jvm, node] = [await jvmUser(), await nodeUser()];
    await node.call(semaphore, "trySetPermits", { permits: 1, ttlMs: HOUR_MS });
    await node.call(semaphore, "addPermits");
    expect(await both.plain.pttl(NAME)).toBeGreaterThan(0);
    await jvm.call(semaphore, "addPermits");
    expect([await both.plain.pttl(NAME), await both.plain.get(NAME)]).toEqual([-1, "3"]);
  });

  test.runIf(!since("3.51.0"))(
    "a JVM that waits for several permits with ids sleeps until as many messages have come [B28]",
    async () => {
      const [jvm, node] = [await jvmUser(), await nodeUser()];
      await node.call(leased, "trySetPermits", { permits: 2 });
      const ids = await node.acquireIds(leased, { permits: 2 });
      const waiting = jvm.call(leased, "acquire", { permits: 2 });
      await jvm.waits();
      await node.call(leased, "release", { permitIds: ids });
      const endMs = (await both.nowMs()) + 300;
      await until(async () => (await both.nowMs()) > endMs);
      expect(await node.call(leased, "availablePermits")).toBe(2);
      await jvm.waits();
      await node.call(leased, "addPermits");
      expect(await waiting).toHaveLength(2);
    },
  );

  describe.each([semaphore, leased])("a $kind of one permit that 8 clients of ours and a JVM want", (on) => {
    const OURS = 8;
    /** Each waits by messages and ends of turns alone, and gives the permit back at once. */
    const turn = async (user: Awaited<ReturnType<typeof nodeUser>>, served: (typeof user)[]) => {
      const { giveBack } = await take(user, on);
      served.push(user);
      await giveBack();
    };

    test("a JVM that gives it back wakes one of ours, and all of these are served after each other", async () => {
      const jvm = await jvmUser();
      const ours = await Promise.all(Array.from({ length: OURS }, () => nodeUser()));
      await jvm.call(on, "trySetPermits", { permits: 1 });
      const { giveBack } = await take(jvm, on);
      const served: typeof ours = [];
      const turns = ours.map((user) => turn(user, served));
      await Promise.all(ours.map((user) => user.waits()));
      await giveBack();
      await Promise.all(turns);
      expect(new Set(served).size).toBe(OURS);
      expect(await jvm.call(on, "availablePermits")).toBe(1);
    });

    test("one of ours that gives it back wakes the JVM, which waits among the others: nobody is forgotten", async () => {
      const jvm = await jvmUser();
      const ours = await Promise.all(Array.from({ length: OURS }, () => nodeUser()));
      const [first] = ours;
      if (first === undefined) throw new Error("there is no client");
      await first.call(on, "trySetPermits", { permits: 1 });
      const { giveBack } = await take(first, on);
      const served: (typeof jvm)[] = [];
      const waiting = ours.slice(1).map((user) => turn(user, served));
      await Promise.all(ours.slice(1).map((user) => user.waits()));
      const theirs = turn(jvm, served);
      await jvm.waits();
      await giveBack();
      await Promise.all([...waiting, theirs]);
      expect(served).toHaveLength(OURS);
      expect(served).toContain(jvm);
      expect(await jvm.call(on, "availablePermits")).toBe(1);
    });
  });

  test("a JVM that deletes a latch wakes ours, and not a JVM until it is opened anew [wire-L17]", async () => {
    const [deleter, jvm, node] = [await jvmUser(), await jvmUser(), await nodeUser()];
    await deleter.call(latch, "trySetCount", { count: 1 });
    const [ours, theirs] = [node.call(latch, "await"), jvm.call(latch, "await")];
    await Promise.all([node.waits(), jvm.waits()]);
    await deleter.call(latch, "delete");
    expect(await ours).toBe(true);
    await jvm.waits();
    await deleter.call(latch, "trySetCount", { count: 1 });
    await node.call(latch, "countDown");
    expect(await theirs).toBe(true);
  });
});
