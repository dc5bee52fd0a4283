import { afterEach, describe, expect, test } from "vitest";
import { permitLeasesKey } from "../../src/protocol/names.js";
import { release, since } from "../support/jvm/interop.js";
import { proves } from "../support/run/proof.js";
import { until } from "../support/run/until.js";
import { childPrograms } from "../support/worlds/child-programs.js";
import { synchronizerFleet, take } from "./synchronizer-fleet.js";

const { both, directions, jvm, clear } = synchronizerFleet();
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const SHORT_MS = 1_000;
const WATCHDOG_MS = 2_000;
const NAME = "order:7";

const kind = "permit-expirable-semaphore";
const leased = { kind, name: NAME } as const;

describe.each(directions)(`Redisson ${release}: $title, permits with ids`, ({ title, users }) => {
  afterEach(() => clear(NAME));

  describe("ids", () => {
    proves({ kind, direction: title, of: "ids" });

    test("are the same on both sides, and 16 bytes in Redis", async () => {
      const [holder, other] = await users();
      await other.call(leased, "trySetPermits", { permits: 3 });
      const ids = await holder.acquireIds(leased, { permits: 3, leaseMs: HOUR_MS });
      expect(ids).toEqual(ids.map(() => expect.stringMatching(/^[0-9a-f]{32}$/)));
      const stored = await both.plain.callBuffer("ZRANGE", permitLeasesKey(NAME), 0, -1);
      expect((stored as Buffer[]).map((bytes) => bytes.toString("hex")).sort()).toEqual([...ids].sort());
    });

    test("are released by the other side, one by one or together", async () => {
      const [holder, other] = await users();
      await other.call(leased, "trySetPermits", { permits: 3 });
      const [one = "", ...rest] = await holder.acquireIds(leased, { permits: 3, leaseMs: HOUR_MS });
      await other.call(leased, "release", { permitIds: one });
      expect(await other.call(leased, "tryRelease", { permitIds: rest })).toBe(true);
      expect(await holder.call(leased, "tryRelease", { permitIds: one })).toBe(false);
      const release = holder.call(leased, "release", { permitIds: rest });
      expect(await release.catch((error: unknown) => holder.refusal(error))).toBe("not held");
      expect(await holder.call(leased, "availablePermits")).toBe(3);
    });

    test.runIf(since("3.41.0"))("of which one is not held release nothing", async () => {
      const [holder, other] = await users();
      await other.call(leased, "trySetPermits", { permits: 2 });
      const ids = await holder.acquireIds(leased, { permits: 2 });
      await other.call(leased, "release", { permitIds: ids[0] ?? "" });
      expect(await other.call(leased, "tryRelease", { permitIds: ids })).toBe(false);
      expect(await holder.call(leased, "acquiredPermits")).toBe(1);
    });
  });

  describe("the total", () => {
    proves({ kind, direction: title, of: "changes" });

    test("wakes the other side when it is raised", async () => {
      const [holder, waiter] = await users();
      await holder.call(leased, "setPermits", { permits: 1 });
      await holder.call(leased, "acquire");
      const waiting = take(waiter, leased);
      await waiter.waits();
      await holder.call(leased, "setPermits", { permits: 0 });
      await holder.call(leased, "setPermits", { permits: 2 });
      await waiting;
      expect(await waiter.call(leased, "availablePermits")).toBe(0);
    });
  });

  describe("counts and leases", () => {
    proves({ kind, direction: title, of: "questions" });

    test("are told alike on both sides, and changed across", async () => {
      const [holder, other] = await users();
      await other.call(leased, "trySetPermits", { permits: 3 });
      const [id = ""] = await holder.acquireIds(leased, { leaseMs: HOUR_MS });
      for (const user of [holder, other]) {
        const counts = ["availablePermits", "acquiredPermits", "getPermits"] as const;
        expect(await Promise.all(counts.map((count) => user.call(leased, count)))).toEqual([2, 1, 3]);
      }
      const lengthened = { permitIds: id, leaseMs: 2 * HOUR_MS };
      expect(await other.call(leased, "updateLeaseTime", lengthened)).toBe(true);
      const endMs = Number(await both.plain.zscore(permitLeasesKey(NAME), Buffer.from(id, "hex")));
      expect(Math.abs(endMs - (await both.nowMs()) - 2 * HOUR_MS)).toBeLessThan(MINUTE_MS);
      await other.call(leased, "release", { permitIds: id });
      expect(await holder.call(leased, "updateLeaseTime", lengthened)).toBe(false);
    });

    test.runIf(since("3.41.0"))("are told by id", async () => {
      const [holder, other] = await users();
      await other.call(leased, "trySetPermits", { permits: 2 });
      const [leasedId = ""] = await holder.acquireIds(leased, { leaseMs: HOUR_MS });
      const [permanentId = ""] = await holder.acquireIds(leased);
      for (const user of [holder, other]) {
        const leftMs = await user.call(leased, "getLeaseTime", { permitIds: leasedId });
        expect(Math.abs(Number(leftMs) - HOUR_MS)).toBeLessThan(MINUTE_MS);
        expect(await user.call(leased, "getLeaseTime", { permitIds: permanentId })).toBe(-1);
        const unknown = user.call(leased, "getLeaseTime", { permitIds: "0".repeat(32) });
        expect(await unknown.catch((error: unknown) => user.refusal(error))).toBe("not held");
      }
    });
  });

  describe("a lease that ends", () => {
    proves({ kind, direction: title, of: "leases" });

    test("lets in who waits on the other side, and its id is refused by both", async () => {
      const [holder, waiter] = await users();
      await holder.call(leased, "trySetPermits", { permits: 1 });
      const [id = ""] = await holder.acquireIds(leased, { leaseMs: SHORT_MS });
      const waiting = take(waiter, leased, { leaseMs: HOUR_MS });
      await waiting;
      for (const user of [holder, waiter]) {
        expect(await user.call(leased, "tryRelease", { permitIds: id })).toBe(false);
      }
      expect(await holder.call(leased, "availablePermits")).toBe(0);
    });

    test("is noticed by the other side when it asks", async () => {
      const [holder, other] = await users();
      await holder.call(leased, "trySetPermits", { permits: 2 });
      await holder.acquireIds(leased, { permits: 2, leaseMs: SHORT_MS / 5 });
      await until(async () => (await other.call(leased, "availablePermits")) === 2);
      expect(await both.plain.zcard(permitLeasesKey(NAME))).toBe(0);
    });
  });
});

describe(`Redisson ${release}: permits that our watchdog keeps`, () => {
  proves({ kind, direction: "Node holds, a JVM waits", of: "watchdog" });
  const startProgram = childPrograms();
  afterEach(() => clear(NAME));

  test("outlive their first lease while the process lives, and end with it", async () => {
    const waiter = await jvm();
    const child = await startProgram("permit-holder", {
      port: both.server.port,
      semaphore: NAME,
      watchdogMs: WATCHDOG_MS,
    });
    await waiter.call(leased, "trySetPermits", { permits: 1 });
    const { event, ids } = await child.ask("acquire", { watchdog: true });
    expect(event).toBe("held");
    const waiting = waiter.call(leased, "acquire", { leaseMs: HOUR_MS });
    const endMs = (await both.nowMs()) + 1.5 * WATCHDOG_MS;
    await until(async () => (await both.nowMs()) > endMs);
    const [stored] = (await both.plain.callBuffer("ZRANGE", permitLeasesKey(NAME), 0, -1)) as Buffer[];
    expect([stored?.toString("hex")]).toEqual(ids);
    await child.stop();
    await waiting;
  });
});
