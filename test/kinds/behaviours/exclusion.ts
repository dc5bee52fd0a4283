import { expect } from "vitest";
import { until } from "../../support/run/until.js";
import type { Chapter } from "./behaviour.js";

const MINUTE_MS = 60_000;

export const exclusion: Chapter = {
  title: "Exclusion and waiting",
  behaviours: [
    {
      promise: "refuses a second caller, of the same client or of another, while it is held",
      hangsOnDrivers: true,
      needs: "exclusion",
      async run({ client, lock }) {
        const own = client();
        const lease = await lock(own).lock();
        expect([await lock(own).tryLock(), await lock(client()).tryLock()]).toEqual([null, null]);
        await lease.unlock();
        const next = await lock(own).tryLock();
        expect(next?.state).toBe("held");
        await next?.unlock();
      },
    },
    {
      promise: "admits one of many tasks of two clients at a time, and all of them in the end",
      hangsOnDrivers: true,
      needs: "exclusion",
      async run({ client, lock }) {
        const clients = [client(), client()];
        let inside = 0;
        let visits = 0;
        const visit = async () => {
          inside += 1;
          expect(inside).toBe(1);
          await new Promise(setImmediate);
          inside -= 1;
          visits += 1;
        };
        const calls = Array.from({ length: 24 }, (_, i) => lock(clients[i % 2] ?? client()).using(visit));
        await Promise.all(calls);
        expect(visits).toBe(24);
      },
    },
    {
      promise: "admits a waiter when the holder releases, long before the holder's lease is over",
      hangsOnDrivers: true,
      async run({ client, lock, obstacle, waits }) {
        const lease = await obstacle(client()).lock({ leaseMs: 10 * MINUTE_MS });
        const other = client({ safetyPeriodMs: 10 * MINUTE_MS });
        const waiting = lock(other).lock();
        await waits(other);
        await lease.unlock();
        const next = await waiting;
        expect(next.state).toBe("held");
        await next.unlock();
      },
    },
    {
      promise: "admits a waiter when the holder's lease expires, and refuses the late release of that holder",
      async run({ client, lock, obstacle }) {
        const lease = await obstacle(client()).lock({ leaseMs: 300 });
        const waiter = await lock(client()).lock({ waitMs: MINUTE_MS });
        expect(lease.state).toBe("lost");
        await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
        expect(waiter.state).toBe("held");
        await waiter.unlock();
      },
    },
    {
      promise:
        "ends a wait after waitMs: lock() rejects with WaitTimeoutError, tryLock() returns null; a later call succeeds",
      async run({ client, lock, obstacle }) {
        const other = client();
        const lease = await obstacle(client()).lock();
        await expect(lock(other).lock({ waitMs: 20 })).rejects.toMatchObject({
          code: "ERR_HOLDFAST_WAIT_TIMEOUT",
        });
        expect(await lock(other).tryLock({ waitMs: 20 })).toBeNull();
        await lease.unlock();
        await (await lock(other).lock()).unlock();
      },
    },
    {
      promise: "ends a cancelled wait with the caller's own reason, and leaves nothing behind in Redis",
      hangsOnDrivers: true,
      async run({ server, client, lock, obstacle, waits }) {
        const other = client();
        const lease = await obstacle(client()).lock();
        const keys = await server.keys();
        const cancel = new AbortController();
        const waiting = lock(other).lock({ signal: cancel.signal });
        await waits(other);
        const reason = new Error("not any more");
        cancel.abort(reason);
        await expect(waiting).rejects.toBe(reason);
        await until(async () => (await server.keys()).length === keys.length);
        await lease.unlock();
        await (await lock(other).lock()).unlock();
      },
    },
    {
      promise: "does not affect locks with other names",
      async run({ client, lock }) {
        const own = client();
        const leases = [await lock(own, "one").lock(), await lock(own, "two").lock()];
        expect(leases.map(({ state }) => state)).toEqual(["held", "held"]);
        for (const lease of leases) await lease.unlock();
      },
    },
  ],
};
