import { afterEach, describe, expect, test } from "vitest";
import { release } from "../support/jvm/interop.js";
import type { Answer } from "../support/jvm/synchronizer-user.js";
import { proves } from "../support/run/proof.js";
import { synchronizerFleet } from "./synchronizer-fleet.js";

const { both, directions, clear } = synchronizerFleet();
const SHORT_MS = 1_000;
const NAME = "order:7";

const kind = "count-down-latch";
const on = { kind, name: NAME } as const;

describe.each(directions)(`Redisson ${release}: $title, latches`, ({ title, users }) => {
  afterEach(() => clear(NAME));

  describe("who waits", () => {
    proves({ kind, direction: title, of: "exclusion" });

    test("goes on when the other side has counted down to zero, not before", async () => {
      const [holder, waiter] = await users();
      await holder.call(on, "trySetCount", { count: 2 });
      let open: Answer = false;
      const waiting = waiter.call(on, "await").then((answer) => {
        open = answer;
      });
      await waiter.waits();
      await holder.call(on, "countDown");
      expect([await holder.call(on, "getCount"), open]).toEqual([1, false]);
      await holder.call(on, "countDown");
      await waiting;
      expect(open).toBe(true);
      expect(await waiter.call(on, "await")).toBe(true);
    });

    test("waits no longer than was said, or than it wants to", async () => {
      const [[holder, waiter], [, other]] = [await users(), await users()];
      await holder.call(on, "trySetCount", { count: 1 });
      expect(await other.call(on, "await", { waitMs: SHORT_MS / 10 })).toBe(false);
      const waiting = waiter.call(on, "await");
      await waiter.waits();
      await Promise.all([expect(waiting).rejects.toThrow(), waiter.giveUp()]);
      expect(await waiter.call(on, "getCount")).toBe(1);
    });
  });

  describe("the count", () => {
    proves({ kind, direction: title, of: "questions" });

    test("is set once, and the same on both sides", async () => {
      const [holder, other] = await users();
      expect(await holder.call(on, "trySetCount", { count: 3 })).toBe(true);
      expect(await other.call(on, "trySetCount", { count: 5 })).toBe(false);
      await other.call(on, "countDown");
      expect([await holder.call(on, "getCount"), await other.call(on, "getCount")]).toEqual([2, 2]);
      expect([await other.call(on, "delete"), await holder.call(on, "delete")]).toEqual([true, false]);
      expect([await holder.call(on, "getCount"), await other.call(on, "getCount")]).toEqual([0, 0]);
      await other.call(on, "countDown");
      expect(await both.plain.exists(NAME)).toBe(0);
    });
  });

  describe("a latch that is deleted", () => {
    proves({ kind, direction: title, of: "changes" });

    test("lets go who waits on the other side", async () => {
      const [holder, waiter] = await users();
      await holder.call(on, "trySetCount", { count: 2 });
      const waiting = waiter.call(on, "await");
      await waiter.waits();
      await holder.call(on, "delete");
      expect(await waiting).toBe(true);
    });
  });
});
