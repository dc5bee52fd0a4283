import { expect } from "vitest";
import { until } from "../../support/run/until.js";
import type { Chapter } from "./behaviour.js";

const MINUTE_MS = 60_000;

export const lifetime: Chapter = {
  title: "Leases, losses and queries",
  behaviours: [
    {
      promise: "is renewed beyond its first lease as long as it is held",
      async run({ client, lock }) {
        const watchdogMs = 3_000;
        const it = lock(client({ watchdogMs }));
        const lease = await it.lock();
        const endMs = () => performance.now() + lease.remainingMs();
        const renewedMs = endMs() + watchdogMs / 6;
        await until(() => endMs() > renewedMs);
        const ttlMs = await it.remainTimeToLive();
        expect(performance.now() + ttlMs).toBeGreaterThan(renewedMs);
        expect(lease.state).toBe("held");
        await lease.unlock();
      },
    },
    {
      promise: "has the TTL of the requested lease, and -2 when it is free",
      async run({ client, lock }) {
        const it = lock(client());
        expect(await it.remainTimeToLive()).toBe(-2);
        const lease = await it.lock({ leaseMs: MINUTE_MS });
        const ttlMs = await it.remainTimeToLive();
        expect(ttlMs).toBeGreaterThan(MINUTE_MS / 2);
        expect(ttlMs).toBeLessThanOrEqual(MINUTE_MS);
        expect(lease.remainingMs()).toBeLessThan(MINUTE_MS);
        await lease.unlock();
        expect(await it.remainTimeToLive()).toBe(-2);
      },
    },
    {
      promise: "is reported as locked by every client while it is held, and only then",
      async run({ client, lock }) {
        const [own, other] = [lock(client()), lock(client())];
        const seen = async () => [await own.isLocked(), await other.isLocked()];
        expect(await seen()).toEqual([false, false]);
        const lease = await own.lock();
        expect(await seen()).toEqual([true, true]);
        await lease.unlock();
        expect(await seen()).toEqual([false, false]);
      },
    },
    {
      promise:
        "can be freed by force by any client; the holder learns of it, and the holder's release is refused",
      hangsOnDrivers: true,
      async run({ client, lock }) {
        const own = lock(client());
        expect(await own.forceUnlock()).toBe(false);
        const lease = await own.lock();
        expect(await lock(client()).forceUnlock()).toBe(true);
        expect(await own.isLocked()).toBe(false);
        await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
        expect(lease.state).toBe("lost");
      },
    },
    {
      promise: "aborts the signal of its lease with the reason of the loss",
      async run({ client, lock }) {
        const own = lock(client());
        const lease = await own.lock({ leaseMs: 300 });
        await until(() => lease.signal.aborted);
        expect(lease.signal.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "expired" });
        expect(() => lease.assertHeld()).toThrow(lease.signal.reason);
        await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
      },
    },
    {
      promise: "ends after maxHoldMs although it is renewed",
      async run({ client, lock }) {
        const lease = await lock(client()).lock({ maxHoldMs: 300 });
        await until(() => lease.signal.aborted);
        expect(lease.signal.reason).toMatchObject({ reason: "max-hold" });
        await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
      },
    },
    {
      promise:
        "is released when its client is closed with releaseHeld, which rejects the client's waiting calls",
      async run({ client, lock, obstacle, waits }) {
        const own = client();
        const lease = await obstacle(own).lock();
        const waiting = lock(own).lock();
        await waits(own);
        const rejected = expect(waiting).rejects.toMatchObject({ code: "ERR_HOLDFAST_CLOSED" });
        await own.close({ releaseHeld: true });
        await rejected;
        expect(lease.signal.reason).toMatchObject({ reason: "closed" });
        await (await lock(client()).lock()).unlock();
      },
    },
    {
      promise: "has all its keys under the name that the name mapper makes [B33]",
      async run({ client, lock, server }) {
        const mapped = lock(client({ nameMapper: (name) => `app:{${name}}` }), "order");
        const lease = await mapped.lock();
        const keys = await server.keys();
        expect(keys.length).toBeGreaterThan(0);
        for (const key of keys) expect(key).toContain("app:{order");
        expect(await mapped.isLocked()).toBe(true);
        await lease.unlock();
      },
    },
    {
      promise: "refuses wrong options at once in every method, and is not acquired",
      async run({ client, lock }) {
        const it = lock(client());
        await expect(it.lock({ leaseMs: 0 })).rejects.toThrow(RangeError);
        await expect(it.tryLock({ waitMs: -1 })).rejects.toThrow(RangeError);
        await expect(it.using({ leaseMs: 10, maxHoldMs: 10 }, () => 1)).rejects.toThrow(TypeError);
        await expect(it.lock({ threadId: 0 })).rejects.toThrow(RangeError);
        expect(await it.isLocked()).toBe(false);
      },
    },
  ],
};
