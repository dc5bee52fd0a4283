import { afterEach, describe, expect, test } from "vitest";
import { permitLeasesKey, savedPermitsKey } from "../../src/protocol/names.js";
import { release, since } from "../support/jvm/interop.js";
import type { RedissonSynchronizerName } from "../support/jvm/redisson.js";
import { until } from "../support/run/until.js";
import { synchronizerFleet } from "./synchronizer-fleet.js";

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
