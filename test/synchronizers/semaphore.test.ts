import { afterEach, describe, expect, test } from "vitest";
import { until } from "../support/run/until.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { PERMITS_CHANNEL } from "../support/worlds/permits.js";

/** So long that a waiter which had to help itself would outlast its test. */
const NEVER_MS = 10 * 60_000;
const MOST_PERMITS = 2 ** 31 - 1;

describe.each(backends)("a semaphore on $name", (backend) => {
  const server = openedFor(backend);
  afterEach(() => server().raw("DEL", "s", "t"));

  function semaphore() {
    return server().client().getSemaphore("s");
  }

  /** Of another client. */
  async function semaphoreOf(permits: number) {
    const own = semaphore();
    await own.trySetPermits(permits);
    return own;
  }

  describe("its permits", () => {
    test("are set once, and not again, also not at zero", async () => {
      const [ours, theirs] = [semaphore(), semaphore()];
      expect(await ours.availablePermits()).toBe(0);
      expect(await ours.trySetPermits(2)).toBe(true);
      expect(await theirs.trySetPermits(5)).toBe(false);
      expect(await theirs.availablePermits()).toBe(2);
      await theirs.acquire(2);
      expect(await theirs.trySetPermits(5)).toBe(false);
      expect(await ours.availablePermits()).toBe(0);
      expect(await server().raw("GET", "s")).toBe("0");
    });

    test("may be set to none, and are set then", async () => {
      const ours = semaphore();
      expect(await ours.trySetPermits(0)).toBe(true);
      expect(await ours.trySetPermits(1)).toBe(false);
      expect(await ours.tryAcquire()).toBe(false);
    });

    test("set with a TTL fall with it", async () => {
      const ours = semaphore();
      expect(await ours.trySetPermits(3, { ttlMs: 60_000 })).toBe(true);
      expect(await server().ttlMs("s")).toBeGreaterThan(50_000);
      expect(await ours.trySetPermits(3, { ttlMs: 1 })).toBe(false);
      expect(await server().ttlMs("s")).toBeGreaterThan(50_000);
      await server().raw("PEXPIRE", "s", 1);
      await until(async () => (await server().ttlMs("s")) === -2);
      expect(await ours.availablePermits()).toBe(0);
      expect(await ours.tryAcquire()).toBe(false);
      expect(await ours.trySetPermits(3)).toBe(true);
      expect(await server().ttlMs("s")).toBe(-1);
    });

    test("are fewer by those acquired and more by those released", async () => {
      const ours = await semaphoreOf(5);
      await ours.acquire();
      await ours.acquire(2);
      expect(await ours.availablePermits()).toBe(2);
      await ours.release(2);
      await ours.release();
      expect(await ours.availablePermits()).toBe(5);
    });

    test("begin with the first release when nobody has set them", async () => {
      const ours = semaphore();
      await ours.release();
      expect(await ours.availablePermits()).toBe(1);
      await ours.release(3);
      expect(await ours.availablePermits()).toBe(4);
      await ours.acquire(4);
      expect(await server().raw("GET", "s")).toBe("0");
    });

    test("belong to nobody: who releases without having acquired makes more", async () => {
      const ours = await semaphoreOf(1);
      await ours.acquire();
      await semaphore().release();
      await semaphore().release();
      expect(await ours.availablePermits()).toBe(2);
    });

    test("are added and taken away, down to less than none", async () => {
      const ours = await semaphoreOf(10);
      await ours.addPermits(5);
      expect(await ours.availablePermits()).toBe(15);
      await ours.addPermits(-10);
      expect(await ours.availablePermits()).toBe(5);
      await ours.addPermits(-10);
      expect(await ours.availablePermits()).toBe(-5);
      expect(await ours.tryAcquire()).toBe(false);
      await ours.release(5);
      expect(await ours.tryAcquire()).toBe(false);
      await ours.release();
      expect(await ours.tryAcquire()).toBe(true);
    });

    test("can be added before any are set", async () => {
      const ours = semaphore();
      await ours.addPermits(2);
      expect(await ours.trySetPermits(9)).toBe(false);
      expect(await ours.availablePermits()).toBe(2);
    });

    test("keep their TTL when some are added, released or drained [wire-A9]", async () => {
      const ours = semaphore();
      await ours.trySetPermits(3, { ttlMs: 60_000 });
      const calls = [
        () => ours.acquire(),
        () => ours.release(),
        () => ours.releaseIfExists(),
        () => ours.addPermits(2),
        () => ours.addPermits(-1),
        () => ours.drainPermits(),
      ];
      for (const call of calls) {
        await call();
        expect(await server().ttlMs("s")).toBeGreaterThan(50_000);
      }
    });

    test("are drained: the rest is answered, and none is left", async () => {
      const ours = await semaphoreOf(5);
      await ours.acquire(2);
      expect(await ours.drainPermits()).toBe(3);
      expect(await ours.drainPermits()).toBe(0);
      expect(await server().raw("GET", "s")).toBe("0");
    });

    test("can be drained where there is no semaphore, which makes none", async () => {
      const ours = semaphore();
      expect(await ours.drainPermits()).toBe(0);
      expect(await server().raw("EXISTS", "s")).toBe(0);
    });

    test("of a negative balance are no permits to drain, and the debt stays [wire-A9]", async () => {
      const ours = semaphore();
      await ours.addPermits(-3);
      expect(await ours.drainPermits()).toBe(0);
      expect(await ours.availablePermits()).toBe(-3);
    });

    test("are released only where there is a semaphore, by releaseIfExists", async () => {
      const ours = semaphore();
      expect(await ours.releaseIfExists()).toBe(false);
      expect(await server().raw("EXISTS", "s")).toBe(0);
      await ours.trySetPermits(0);
      expect(await ours.releaseIfExists()).toBe(true);
      expect(await ours.releaseIfExists(3)).toBe(true);
      expect(await ours.availablePermits()).toBe(4);
    });

    test("are at most 2147483647: what would be more is refused and changes nothing", async () => {
      const ours = semaphore();
      const messages = await server().listen(PERMITS_CHANNEL);
      expect(await ours.trySetPermits(MOST_PERMITS)).toBe(true);
      await ours.acquire(MOST_PERMITS);
      expect(await ours.availablePermits()).toBe(0);
      await ours.release(MOST_PERMITS);
      for (const call of [() => ours.release(), () => ours.releaseIfExists(MOST_PERMITS)]) {
        await expect(call()).rejects.toBeInstanceOf(RangeError);
      }
      expect(await ours.availablePermits()).toBe(MOST_PERMITS);
      await ours.acquire();
      await ours.release();
      const most = String(MOST_PERMITS);
      await until(() => messages.length >= 3);
      expect(messages).toEqual([most, most, most]);
    });

    test("go with the semaphore when that is deleted", async () => {
      const ours = await semaphoreOf(2);
      expect(await ours.delete()).toBe(true);
      expect(await ours.delete()).toBe(false);
      expect(await ours.availablePermits()).toBe(0);
      expect(await ours.trySetPermits(3)).toBe(true);
      expect(await ours.availablePermits()).toBe(3);
    });

    test("stay taken when the client that took them closes", async () => {
      const ours = await semaphoreOf(2);
      const client = server().client();
      await client.getSemaphore("s").acquire();
      await client.close({ releaseHeld: true });
      expect(await ours.availablePermits()).toBe(1);
    });

    test("of one name are not those of another", async () => {
      const client = server().client();
      const [s, t] = [client.getSemaphore("s"), client.getSemaphore("t")];
      expect([s.name, t.name]).toEqual(["s", "t"]);
      await s.trySetPermits(1);
      expect(await t.tryAcquire()).toBe(false);
      await t.trySetPermits(1);
      await s.acquire();
      expect(await t.tryAcquire()).toBe(true);
    });
  });

  describe("no permits at all", () => {
    test("are acquired and released without asking anybody", async () => {
      const ours = semaphore();
      await ours.acquire(0);
      expect(await ours.tryAcquire(0)).toBe(true);
      expect(await ours.tryAcquire(0, { waitMs: 1 })).toBe(true);
      await ours.release(0);
      expect(await ours.releaseIfExists(0)).toBe(false);
      expect(await ours.using(0, () => "ran")).toBe("ran");
      expect(await server().raw("EXISTS", "s")).toBe(0);
    });
  });

  describe("its messages", () => {
    test("tell how many permits are available, and never of none or less [wire-L16]", async () => {
      const ours = semaphore();
      const messages = await server().listen(PERMITS_CHANNEL);
      await ours.trySetPermits(0);
      await ours.delete();
      await ours.trySetPermits(3);
      await ours.trySetPermits(4);
      await ours.acquire(2);
      await ours.release();
      await ours.releaseIfExists();
      await ours.addPermits(4);
      await ours.addPermits(-9);
      await ours.addPermits(1);
      await ours.release();
      await ours.addPermits(5);
      await ours.drainPermits();
      await ours.drainPermits();
      await ours.delete();
      await ours.releaseIfExists();
      await ours.trySetPermits(9);
      await until(() => messages.at(-1) === "9");
      expect(messages).toEqual(["3", "2", "3", "7", "5", "9"]);
    });

    test.each([
      ["s", "redisson_sc:{s}"],
      ["a{b}c", "redisson_sc:a{b}c"],
    ])("about %s go to %s", async (name, channel) => {
      const messages = await server().listen(channel);
      const ours = server().client().getSemaphore(name);
      await ours.trySetPermits(1);
      await until(() => messages.length === 1);
      const theirs = server().client({ safetyPeriodMs: NEVER_MS }).getSemaphore(name).acquire(2);
      await until(async () => Number(await server().raw("PUBLISH", channel, "0")) === 2);
      await ours.release();
      await theirs;
      expect(await ours.delete()).toBe(true);
    });
  });

  test("is named by the name mapper in Redis", async () => {
    const client = server().client({ nameMapper: (name) => `app:${name}` });
    const ours = client.getSemaphore("s");
    expect(ours.name).toBe("s");
    await ours.trySetPermits(4);
    expect(await server().raw("GET", "app:s")).toBe("4");
    expect(await ours.delete()).toBe(true);
  });
});
