import { afterEach, describe, expect, test } from "vitest";
import { semaphoreChannel } from "../../src/protocol/names.js";
import { release, since } from "../support/jvm/interop.js";
import type { SynchronizerUser } from "../support/jvm/synchronizer-user.js";
import { proves } from "../support/run/proof.js";
import { until } from "../support/run/until.js";
import { keepJournal } from "../support/servers/key-journal.js";
import { had, synchronizerFleet, take } from "./synchronizer-fleet.js";

const { both, directions, jvm, node, clear } = synchronizerFleet();
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const SHORT_MS = 1_000;
const NAME = "order:7";

const kinds = ["semaphore", "permit-expirable-semaphore"] as const;

describe.each(directions)(`Redisson ${release}: $title`, ({ title, users, waiter: side }) => {
  afterEach(() => clear(NAME));

  describe.each(kinds)("%s", (kind) => {
    const on = { kind, name: NAME };
    // A JVM that waits for several permits with ids wakes since 3.51: see mixed-semaphores.test.ts.
    const several = kind === "semaphore" || side === "node" || since("3.51.0") ? 2 : 1;

    describe("permits", () => {
      proves({ kind, direction: title, of: "exclusion" });

      test("are refused while they are taken, and had as soon as they are released", async () => {
        const [holder, waiter] = await users();
        expect(await holder.call(on, "trySetPermits", { permits: 2 })).toBe(true);
        expect(await waiter.call(on, "trySetPermits", { permits: 5 })).toBe(false);
        const held = await take(holder, on, { permits: 2 });
        expect(await had(waiter, on)).toBe(false);
        const waiting = take(waiter, on);
        await waiter.waits();
        await held.giveBack();
        const taken = await waiting;
        expect([await had(holder, on, { permits: 2 }), await had(holder, on)]).toEqual([false, true]);
        await taken.giveBack();
        expect(await had(holder, on, { permits: 2 })).toBe(true);
      });

      test("are had by who waits for several, when there are enough", async () => {
        const [holder, waiter] = await users();
        await holder.call(on, "trySetPermits", { permits: several });
        const held = [];
        for (let i = 0; i < several; i += 1) held.push(await take(holder, on));
        const waiting = take(waiter, on, { permits: several });
        await waiter.waits();
        for (const one of held) await one.giveBack();
        const taken = await waiting;
        expect(await had(holder, on)).toBe(false);
        await taken.giveBack();
      });

      test("are waited for no longer than was said, and by nobody who gives up", async () => {
        const [[holder, waiter], [, other]] = [await users(), await users()];
        await holder.call(on, "trySetPermits", { permits: 1 });
        const held = await take(holder, on);
        expect(await had(other, on, { waitMs: SHORT_MS / 10 })).toBe(false);
        const waiting = take(waiter, on);
        await waiter.waits();
        await Promise.all([expect(waiting).rejects.toThrow(), waiter.giveUp()]);
        await held.giveBack();
        expect(await holder.call(on, "availablePermits")).toBe(1);
      });
    });

    describe("permits that are added", () => {
      proves({ kind, direction: title, of: "changes" });

      test("wake the other side", async () => {
        const [[holder, waiter], [, other]] = [await users(), await users()];
        const waiting = take(waiter, on);
        await waiter.waits();
        await holder.call(on, "addPermits", { permits: 1 });
        const taken = await waiting;
        const second = take(other, on);
        await other.waits();
        await holder.call(on, "addPermits", { permits: 2 });
        await Promise.all([taken.giveBack(), (await second).giveBack()]);
        expect(await holder.call(on, "availablePermits")).toBe(3);
      });

      test("are had once those that are owed were paid, of which ours tell nobody [wire-L16]", async () => {
        const [holder, waiter] = await users();
        const journal = await keepJournal(both.server);
        const waiting = take(waiter, on);
        await waiter.waits();
        await holder.call(on, "addPermits", { permits: -2 });
        const tells = side === "node" && kind === "semaphore";
        expect(await journal.read()).toEqual(tells ? [`-2 -> ${semaphoreChannel(NAME)}`] : []);
        expect([await holder.call(on, "availablePermits"), await had(holder, on)]).toEqual([-2, false]);
        await holder.call(on, "addPermits", { permits: 2 });
        await holder.call(on, "addPermits", { permits: 1 });
        await (await waiting).giveBack();
        expect(both.redisson.errors).not.toContain("SemaphorePubSub");
      });
    });

    describe("what is told of permits", () => {
      proves({ kind, direction: title, of: "questions" });

      test("is the same on both sides", async () => {
        const [holder, other] = await users();
        const seen = () => Promise.all([holder, other].map((user) => user.call(on, "availablePermits")));
        expect(await seen()).toEqual([0, 0]);
        await other.call(on, "trySetPermits", { permits: 3 });
        const held = await take(holder, on, { permits: 2 });
        expect(await seen()).toEqual([1, 1]);
        await held.giveBack();
        expect(await seen()).toEqual([3, 3]);
        expect([await other.call(on, "delete"), await holder.call(on, "delete")]).toEqual([true, false]);
        expect(await seen()).toEqual([0, 0]);
      });
    });
  });

  describe("semaphore", () => {
    const on = { kind: "semaphore", name: NAME } as const;
    proves({ kind: "semaphore", direction: title, of: "questions" });

    test("is drained by one side of what the other has set", async () => {
      const [holder, other] = await users();
      await holder.call(on, "trySetPermits", { permits: 3 });
      expect(await other.call(on, "drainPermits")).toBe(3);
      expect(await holder.call(on, "drainPermits")).toBe(0);
      await other.call(on, "release", { permits: 2 });
      expect(await holder.call(on, "drainPermits")).toBe(2);
    });

    test.runIf(since("3.29.0"))("ends at the time that the other side has set", async () => {
      const [holder, waiter] = await users();
      await holder.call(on, "trySetPermits", { permits: 1, ttlMs: SHORT_MS / 5 });
      await until(async () => (await waiter.call(on, "availablePermits")) === 0);
      expect(await waiter.call(on, "trySetPermits", { permits: 2, ttlMs: HOUR_MS })).toBe(true);
      await (await take(holder, on)).giveBack();
      expect(await both.plain.pttl(NAME)).toBeGreaterThan(HOUR_MS - MINUTE_MS);
    });

    test.runIf(since("4.0.0"))("is released by one side if the other has made it", async () => {
      const [holder, other] = await users();
      expect(await holder.call(on, "releaseIfExists")).toBe(false);
      await other.call(on, "trySetPermits", { permits: 0 });
      expect(await holder.call(on, "releaseIfExists", { permits: 2 })).toBe(true);
      expect(await other.call(on, "availablePermits")).toBe(2);
    });
  });
});

describe.each(kinds)(`Redisson ${release}: %s, where both sides wait`, (kind) => {
  const on = { kind, name: NAME };
  proves({ kind, direction: "both", of: "exclusion" });
  afterEach(() => clear(NAME));

  test("each release serves one of them", async () => {
    const [holder, waiters] = [await node(), [await jvm(), await node(), await jvm(), await node()]];
    await holder.call(on, "trySetPermits", { permits: 1 });
    const held = await take(holder, on);
    let inside = 0;
    const visits = [];
    for (const waiter of waiters) {
      visits.push(visit(waiter));
      await waiter.waits();
    }
    await held.giveBack();
    await Promise.all(visits);
    expect(await had(holder, on)).toBe(true);

    async function visit(user: SynchronizerUser): Promise<void> {
      const taken = await take(user, on);
      inside += 1;
      expect(inside).toBe(1);
      inside -= 1;
      await taken.giveBack();
    }
  });
});
