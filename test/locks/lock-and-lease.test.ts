import { describe, expect, test } from "vitest";
import { LeaseLostError, NotHeldError, WaitTimeoutError } from "../../src/errors.js";
import { watchLeaks } from "../support/run/leaks.js";
import { backends, openedFor } from "../support/servers/backends.js";

watchLeaks();

const HOUR_MS = 60 * 60 * 1_000;

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`resolved with ${String(value)}`);
    },
    (error: unknown) => error,
  );
}

async function timeoutOf(promise: Promise<unknown>): Promise<WaitTimeoutError> {
  const error = await errorOf(promise);
  if (!(error instanceof WaitTimeoutError)) throw error;
  return error;
}

for (const backend of backends) {
  describe(`Lock and Lease on ${backend.name}`, () => {
    const server = openedFor(backend);

    test("a client's id is a random UUID and the first half of its holders", async () => {
      const [first, second] = [server().client(), server().client()];
      expect(first.clientId).toMatch(/^[\da-f]{8}-[\da-f]{4}-8001-[89ab][\da-f]{3}-[\da-f]{12}$/);
      expect(second.clientId).not.toBe(first.clientId);
      const lease = await first.getLock("id").lock();
      expect(lease.holder).toBe(`${first.clientId}:${lease.threadId}`);
      await lease.unlock();
    });

    test("a lease tells what it is, from the acquisition to the release", async () => {
      const client = server().client();
      const lock = client.getLock("told");
      expect(lock.name).toBe("told");
      const lease = await lock.lock({ leaseMs: HOUR_MS });
      expect(lease).toMatchObject({ name: "told", holdCount: 1, state: "held" });
      expect(lease.signal.aborted).toBe(false);
      expect(lease.remainingMs()).toBeGreaterThan(0.98 * HOUR_MS - 10_000);
      expect(lease.remainingMs()).toBeLessThanOrEqual(0.99 * HOUR_MS);
      expect(() => lease.assertHeld()).not.toThrow();
      await lease.unlock();
      await lease.unlock();
      expect(lease.state).toBe("released");
      expect(lease.signal.aborted).toBe(false);
      expect(lease.remainingMs()).toBe(0);
      expect(() => lease.assertHeld()).toThrow(NotHeldError);
      await expect(lease.run(() => "never")).rejects.toBeInstanceOf(NotHeldError);
    });

    test("a lost lease says so wherever it is asked", async () => {
      const lease = await server().client().getLock("lost").lock({ leaseMs: 50 });
      const lost = new Promise((resolve) => lease.signal.addEventListener("abort", resolve, { once: true }));
      await lost;
      const reason: unknown = lease.signal.reason;
      expect(reason).toBeInstanceOf(LeaseLostError);
      expect(reason).toMatchObject({ lockName: "lost", holder: lease.holder, reason: "expired" });
      expect(lease.state).toBe("lost");
      expect(lease.remainingMs()).toBe(0);
      expect(() => lease.assertHeld()).toThrow(LeaseLostError);
      await expect(lease.run(() => "never")).rejects.toBe(reason);
      expect(await errorOf(lease.unlock())).toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD", cause: reason });
    });

    test("tells a lease that its own client's forceUnlock has stolen it, at once", async () => {
      const client = server().client();
      const lease = await client.getLock("stolen").lock();
      const { signal } = lease;
      await client.getLock("stolen").forceUnlock();
      expect(lease.state).toBe("lost");
      const loss: unknown = signal.reason;
      expect(loss).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "stolen", lockName: "stolen" });
      await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD", cause: loss });
    });

    test("await using releases at the end of the scope", async () => {
      const lock = server().client().getLock("scoped");
      {
        await using lease = await lock.lock();
        expect(await server().fields("scoped")).toEqual({ [lease.holder]: "1" });
      }
      expect(await lock.isLocked()).toBe(false);
    });

    test("await using throws the loss at the end of the scope", async () => {
      const client = server().client();
      const lock = client.getLock("scoped");
      const scope = async () => {
        await using lease = await lock.lock();
        await lock.forceUnlock();
        return lease.state;
      };
      expect(await errorOf(scope())).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "stolen" });
    });

    test("using hands over the lease, answers with the body's result and releases", async () => {
      const lock = server().client().getLock("body");
      const result = await lock.using({ leaseMs: HOUR_MS }, async (lease) => {
        expect(lease.state).toBe("held");
        expect(await lock.remainTimeToLive()).toBeGreaterThan(HOUR_MS - 10_000);
        return 42;
      });
      expect(result).toBe(42);
      expect(await lock.using(() => "plain")).toBe("plain");
      expect(await server().keys()).toEqual([]);
    });

    test("using rejects with the body's own error object and releases", async () => {
      const lock = server().client().getLock("body");
      const mine = new Error("mine");
      expect(await errorOf(lock.using(() => Promise.reject(mine)))).toBe(mine);
      const lostAndThrown = lock.using(async () => {
        await lock.forceUnlock();
        throw mine;
      });
      expect(await errorOf(lostAndThrown)).toBe(mine);
      expect(await lock.isLocked()).toBe(false);
    });

    test("using rejects with the loss when the lease was lost while the body ran", async () => {
      const lock = server().client().getLock("body");
      const lost = lock.using(() => lock.forceUnlock());
      expect(await errorOf(lost)).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "stolen" });
    });

    test("run lets what it calls enter once more, and threadId whoever is told it", async () => {
      const lock = server().client().getLock("entered");
      const outer = await lock.lock();
      const inner = await outer.run(() => lock.tryLock());
      expect(inner).toMatchObject({ holder: outer.holder, holdCount: 2 });
      const told = await lock.lock({ threadId: outer.threadId });
      expect(told).toMatchObject({ holder: outer.holder, holdCount: 3 });
      expect(await lock.getHoldCount(outer.threadId)).toBe(3);
      expect(await lock.tryLock()).toBeNull();
      for (const lease of [told, inner, outer]) await lease?.unlock();
      expect(await server().keys()).toEqual([]);
    });

    test("an id that the caller chose owns what was locked with it", async () => {
      const client = server().client();
      const lock = client.getLock("chosen");
      await lock.lock({ threadId: 7 });
      expect(await server().fields("chosen")).toEqual({ [`${client.clientId}:7`]: "1" });
      expect([await lock.isHeldByThread(7), await lock.isHeldByThread(8)]).toEqual([true, false]);
      expect([await lock.getHoldCount(7), await lock.getHoldCount(8)]).toEqual([1, 0]);
      expect(await lock.isHeldByCurrentThread()).toBe(false);
      await lock.unlock(7);
      await expect(lock.unlock(7)).rejects.toBeInstanceOf(NotHeldError);
    });

    test("a hold ends with maxHoldMs, and its lock is free once it was given back", async () => {
      const lock = server().client().getLock("long");
      const lease = await lock.lock({ maxHoldMs: 100 });
      const startMs = performance.now();
      expect(lease.remainingMs()).toBeLessThanOrEqual(100);
      await new Promise((resolve) => lease.signal.addEventListener("abort", resolve, { once: true }));
      expect(performance.now() - startMs).toBeLessThan(1_000);
      expect(lease.signal.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "max-hold" });
      await expect(lease.unlock()).rejects.toBeInstanceOf(NotHeldError);
      await (await lock.lock({ waitMs: 5_000 })).unlock();
    });

    test("a timed wait for somebody else's lock names the holder, its TTL and the time waited", async () => {
      const [holder, client] = [server().client(), server().client()];
      const lease = await holder.getLock("theirs").lock({ leaseMs: HOUR_MS });
      const error = await timeoutOf(client.getLock("theirs").lock({ waitMs: 20 }));
      expect(error).toMatchObject({ code: "ERR_HOLDFAST_WAIT_TIMEOUT", lockName: "theirs" });
      expect(error.obstacle).toMatchObject({ holder: lease.holder, own: false });
      expect(error.obstacle?.ttlMs).toBeGreaterThan(HOUR_MS - 10_000);
      expect(error.obstacle?.ttlMs).toBeLessThanOrEqual(HOUR_MS);
      expect(error.waitedMs).toBeGreaterThanOrEqual(20);
      expect(error.waitedMs).toBeLessThan(2_000);
      expect(error.message).toContain(lease.holder);
      expect(error.message).not.toContain("this client");
      await lease.unlock();
    });

    test("a timed wait for a lock of this client hints at run, using and threadId", async () => {
      const lock = server().client().getLock("ours");
      const lease = await lock.lock();
      const error = await timeoutOf(lock.lock({ waitMs: 0 }));
      expect(error.obstacle).toMatchObject({ holder: lease.holder, own: true });
      expect(error.message).toMatch(
        /this client.*lease\.run\(\) or using\(\), or pass { threadId: lease\.threadId }/,
      );
      const inLine = await timeoutOf(lock.lock({ waitMs: 20 }));
      expect(inLine.obstacle).toMatchObject({ holder: lease.holder, own: true });
      await expect(lock.using({ waitMs: 0 }, () => "never")).rejects.toBeInstanceOf(WaitTimeoutError);
      await lease.unlock();
    });

    test("clockSkewMs shortens the trust in a lease, and nothing in Redis [R12]", async () => {
      const lock = server().client({ clockSkewMs: 2_000 }).getLock("skewed");
      const lease = await lock.lock({ leaseMs: 10_000 });
      expect(lease.remainingMs()).toBeLessThanOrEqual(10_000 - 102 - 2_000);
      expect(await lock.remainTimeToLive()).toBeGreaterThan(10_000 - 2_000);
      await lease.unlock();
    });

    test("inspect shows who holds a lock, how often, for how long, and what is the asker's", async () => {
      const [holder, other] = [server().client(), server().client()];
      const free = {
        kind: "none",
        holders: [],
        holdCounts: {},
        ttlMs: -2,
        queue: [],
        waitingClients: [],
        waitingClientCount: 0,
        token: null,
        ownHolders: [],
        kept: false,
        listeners: 0,
      };
      expect(await other.inspect("shown")).toEqual({ name: "shown", key: "shown", ...free });
      const lease = await holder.getLock("shown").lock({ leaseMs: HOUR_MS });
      const again = await lease.run(() => holder.getLock("shown").lock());
      const held = await holder.inspect("shown");
      expect(held).toMatchObject({ kind: "lock", holders: [lease.holder], ownHolders: [lease.holder] });
      expect(held.holdCounts).toEqual({ [lease.holder]: 2 });
      expect(held.ttlMs).toBeGreaterThan(HOUR_MS - 10_000);
      expect(await other.inspect("shown")).toMatchObject({ holders: [lease.holder], ownHolders: [] });
      await again.unlock();
      await lease.unlock();
    });

    test("a name mapper changes the keys and channels, and no name that the program sees", async () => {
      const client = server().client({ nameMapper: (name) => `app:${name}` });
      const messages = await server().listen("redisson_lock__channel:{app:mapped}");
      const lease = await client.getLock("mapped").lock();
      expect(lease.name).toBe("mapped");
      expect(await server().keys()).toEqual(["app:mapped"]);
      expect(await client.inspect("mapped")).toMatchObject({
        name: "mapped",
        key: "app:mapped",
        kind: "lock",
      });
      await lease.unlock();
      await expect.poll(() => messages).toEqual(["0"]);
    });

    test("clients of one server exclude and wake each other, whatever object a lock is taken on", async () => {
      const clients = [server().client(), server().client(), server().client({ safetyPeriodMs: HOUR_MS })];
      const [first, second, third] = clients.map((client) => client.getLock("shared"));
      const lease = await first?.lock();
      expect(await second?.tryLock()).toBeNull();
      expect(await clients[0]?.getLock("shared").tryLock()).toBeNull();
      const waiting = third?.lock();
      await lease?.unlock();
      await (await waiting)?.unlock();
    });
  });
}
