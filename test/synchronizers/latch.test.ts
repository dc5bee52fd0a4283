import { afterEach, describe, expect, test } from "vitest";
import type { HoldfastOptions } from "../../src/client-options.js";
import { InvalidNameError, WrongTypeError } from "../../src/errors.js";
import type { CountDownLatch } from "../../src/index.js";
import { scriptedClient } from "../support/drivers/scripted-client.js";
import { deliverTwice, loseReply, rejectAtOnce } from "../support/faults/call-faults.js";
import { until } from "../support/run/until.js";
import { backends, openedFor } from "../support/servers/backends.js";

/** So long that a waiter which had to help itself would outlast its test. */
const NEVER_MS = 10 * 60_000;
const CHANNEL = "redisson_countdownlatch__channel__{l}";

/** As JavaScript would pass it: whatever, unchecked by a compiler. */
function whatever<T>(value: unknown): T {
  return value as T;
}

describe.each(backends)("a count-down latch on $name", (backend) => {
  const server = openedFor(backend);
  afterEach(() => server().raw("DEL", "l"));

  function latch(options: HoldfastOptions = {}): CountDownLatch {
    return server()
      .client({ safetyPeriodMs: NEVER_MS, ...options })
      .getCountDownLatch("l");
  }

  async function latchOf(count: number): Promise<CountDownLatch> {
    const own = latch();
    await own.trySetCount(count);
    return own;
  }

  /** So many clients wait, and listen. */
  async function listening(clients: number): Promise<void> {
    await until(async () => Number(await server().raw("PUBLISH", CHANNEL, "1")) === clients);
  }

  describe("its count", () => {
    test("is set once, and again only when it has come to nothing", async () => {
      const [ours, theirs] = [latch(), latch()];
      expect(ours.name).toBe("l");
      expect(await ours.trySetCount(2)).toBe(true);
      expect(await theirs.trySetCount(3)).toBe(false);
      expect(await theirs.getCount()).toBe(2);
      await theirs.countDown();
      expect(await theirs.trySetCount(3)).toBe(false);
      await ours.countDown();
      expect(await theirs.trySetCount(3)).toBe(true);
      expect(await ours.getCount()).toBe(3);
    });

    test("is nothing before it is set", async () => {
      expect(await latch().getCount()).toBe(0);
      expect(await server().raw("EXISTS", "l")).toBe(0);
    });

    test("is stored as a number, and not at all when it is nothing", async () => {
      const ours = await latchOf(2);
      await ours.countDown();
      expect(await server().raw("GET", "l")).toBe("1");
      expect(await server().ttlMs("l")).toBe(-1);
      await ours.countDown();
      expect(await server().raw("EXISTS", "l")).toBe(0);
    });

    test("stays at nothing when it is counted down further", async () => {
      const ours = await latchOf(1);
      await ours.countDown();
      await ours.countDown();
      await ours.countDown();
      expect(await ours.getCount()).toBe(0);
      expect(await ours.await()).toBe(true);
      expect(await ours.trySetCount(1)).toBe(true);
      expect(await ours.getCount()).toBe(1);
    });

    test("can not be set to nothing, nor to anything that is no count [wire-L17]", async () => {
      const ours = latch();
      for (const count of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
        await expect(ours.trySetCount(count)).rejects.toBeInstanceOf(RangeError);
      }
      for (const count of ["1", null, undefined, 1n, {}]) {
        await expect(ours.trySetCount(whatever(count))).rejects.toBeInstanceOf(TypeError);
      }
      expect(await server().raw("EXISTS", "l")).toBe(0);
    });

    test("goes with the latch when that is deleted", async () => {
      const ours = await latchOf(2);
      expect(await ours.delete()).toBe(true);
      expect(await ours.delete()).toBe(false);
      expect(await ours.getCount()).toBe(0);
      expect(await ours.await()).toBe(true);
    });

    test("keeps a TTL that somebody has given it", async () => {
      const ours = await latchOf(3);
      await server().raw("PEXPIRE", "l", 60_000);
      await ours.countDown();
      expect(await server().ttlMs("l")).toBeGreaterThan(50_000);
    });
  });

  describe("waiting for it", () => {
    test("ends at once where there is nothing to wait for", async () => {
      expect(await latch().await()).toBe(true);
      expect(await latch().await({ waitMs: 0 })).toBe(true);
      expect(await latch().await({ waitMs: 10_000 })).toBe(true);
    });

    test("ends when others have counted it down", async () => {
      const ours = await latchOf(2);
      const waiting = latch().await({ waitMs: NEVER_MS });
      await listening(1);
      await ours.countDown();
      await ours.countDown();
      expect(await waiting).toBe(true);
    });

    test("ends with false when its time is up before", async () => {
      const ours = await latchOf(2);
      const waiting = latch().await({ waitMs: 30 });
      await ours.countDown();
      expect(await waiting).toBe(false);
      expect(await ours.await({ waitMs: 0 })).toBe(false);
      expect(await ours.getCount()).toBe(1);
    });

    test("ends for all who wait, in all clients [B25]", async () => {
      const ours = await latchOf(1);
      const clients = [latch(), latch(), latch()];
      const waiting = clients.flatMap((own) => Array.from({ length: 20 }, () => own.await()));
      await listening(3);
      await ours.countDown();
      expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
    });

    test("ends when the latch is deleted [B26] [wire-L17]", async () => {
      const ours = await latchOf(5);
      const waiting = [latch().await(), latch().await()];
      await listening(2);
      await ours.delete();
      expect(await Promise.all(waiting)).toEqual([true, true]);
    });

    test("ends when as many have counted down as wait", async () => {
      const count = 10;
      const ours = await latchOf(count);
      const clients = [ours, latch(), latch()];
      const of = (i: number): CountDownLatch => clients[i % clients.length] ?? ours;
      const waiting = Array.from({ length: count }, (_, i) => of(i).await());
      await Promise.all(Array.from({ length: count }, (_, i) => of(i).countDown()));
      expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
    });

    test("goes on when the latch is counted down in part, and when a new one is set [wire-L17]", async () => {
      const ours = await latchOf(2);
      let ended = false;
      const waiting = latch()
        .await()
        .then(() => {
          ended = true;
        });
      await listening(1);
      await ours.countDown();
      expect(await ours.getCount()).toBe(1);
      expect(ended).toBe(false);
      await ours.countDown();
      await waiting;
    });
  });

  describe("its messages", () => {
    test("are 1 when a count is set, and 0 when it is open: counted down or deleted [wire-L17]", async () => {
      const ours = latch();
      const messages = await server().listen(CHANNEL);
      await ours.countDown();
      await ours.delete();
      await ours.trySetCount(2);
      await ours.trySetCount(2);
      await ours.countDown();
      await ours.countDown();
      await ours.countDown();
      await ours.trySetCount(2);
      await ours.delete();
      await server().raw("PUBLISH", CHANNEL, "end");
      await until(() => messages.at(-1) === "end");
      expect(messages).toEqual(["1", "0", "1", "0", "end"]);
    });

    test("about a name with braces go to a channel with the name in braces", async () => {
      const messages = await server().listen("redisson_countdownlatch__channel__{a{b}c}");
      const ours = server().client().getCountDownLatch("a{b}c");
      await ours.trySetCount(1);
      await ours.countDown();
      await until(() => messages.length === 2);
      expect(messages).toEqual(["1", "0"]);
    });
  });

  describe.each([loseReply, deliverTwice, rejectAtOnce])("a call that meets the fault: $name", (fault) => {
    async function scripted(count?: number) {
      const { client, driver } = scriptedClient(server());
      await client.getCountDownLatch("acquaintance").getCount();
      if (count !== undefined) await server().raw("SET", "l", count);
      void driver.next(fault);
      return client.getCountDownLatch("l");
    }

    test(`sets the count once, and knows that it has (${fault.name}) [R9] [wire-S25]`, async () => {
      const ours = await scripted();
      expect(await ours.trySetCount(3)).toBe(true);
      expect(await server().raw("GET", "l")).toBe("3");
    });

    test(`counts down once (${fault.name}) [R9]`, async () => {
      const ours = await scripted(3);
      await ours.countDown();
      expect(await server().raw("GET", "l")).toBe("2");
    });

    test(`opens the latch once (${fault.name}) [R9]`, async () => {
      const messages = await server().listen(CHANNEL);
      const ours = await scripted(1);
      await ours.countDown();
      await server().raw("PUBLISH", CHANNEL, "end");
      await until(() => messages.at(-1) === "end");
      expect(messages).toEqual(["0", "end"]);
      expect(await server().raw("EXISTS", "l")).toBe(0);
    });

    test(`deletes the latch, and knows that it has (${fault.name}) [R9]`, async () => {
      const ours = await scripted(3);
      expect(await ours.delete()).toBe(true);
      expect(await server().raw("EXISTS", "l")).toBe(0);
    });

    test(`waits as if nothing had happened (${fault.name})`, async () => {
      const ours = await scripted(1);
      const waiting = ours.await();
      await listening(1);
      await latch().countDown();
      expect(await waiting).toBe(true);
    });
  });

  describe("a bad input", () => {
    test("of waiting is refused", async () => {
      const ours = latch();
      for (const waitMs of [-1, 0.5, Number.NaN, Number.NEGATIVE_INFINITY]) {
        await expect(ours.await({ waitMs })).rejects.toBeInstanceOf(RangeError);
      }
      for (const options of [null, 5, { waitMs: "1" }, { signal: {} }, { leaseMs: 1 }, { waitms: 1 }]) {
        await expect(ours.await(whatever(options))).rejects.toBeInstanceOf(TypeError);
      }
    });

    test("of names is refused", () => {
      expect(() => server().client().getCountDownLatch("")).toThrow(InvalidNameError);
    });

    test.each<[string, (own: CountDownLatch) => Promise<unknown>]>([
      ["trySetCount", (own) => own.trySetCount(1)],
      ["countDown", (own) => own.countDown()],
      ["getCount", (own) => own.getCount()],
      ["await", (own) => own.await()],
      ["await for a while", (own) => own.await({ waitMs: 60_000 })],
    ])("of Redis, a key that holds something else, is refused and left alone: %s", async (_, call) => {
      const lease = await server().client().getLock("l").lock();
      await expect(call(latch())).rejects.toMatchObject({
        constructor: WrongTypeError,
        key: "l",
        type: "hash",
      });
      expect(await server().fields("l")).toEqual({ [lease.holder]: "1" });
      await lease.unlock();
    });
  });
});
