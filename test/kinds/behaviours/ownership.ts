import { expect } from "vitest";
import type { Chapter } from "./behaviour.js";

export const ownership: Chapter = {
  title: "Ownership and re-entry",
  behaviours: [
    {
      promise: "can be re-entered inside its body, and its hold count goes 1, 2, 1, 0",
      needs: "re-entry",
      async run({ client, lock }) {
        const it = lock(client());
        const counts: number[] = [];
        await it.using(async (outer) => {
          counts.push(outer.holdCount);
          await it.using(async (inner) => {
            counts.push(inner.holdCount);
            expect(await it.getHoldCount()).toBe(2);
          });
          counts.push(await it.getHoldCount());
        });
        counts.push(await it.getHoldCount());
        expect(counts).toEqual([1, 2, 1, 0]);
        expect(await it.isLocked()).toBe(false);
      },
    },
    {
      promise: "can be re-entered with the threadId of its lease, and is free after the last release",
      needs: "re-entry",
      async run({ client, lock }) {
        const it = lock(client());
        const outer = await it.lock();
        const inner = await it.tryLock({ threadId: outer.threadId });
        expect(inner?.holdCount).toBe(2);
        await outer.unlock();
        expect(await it.isLocked()).toBe(true);
        await inner?.unlock();
        expect(await it.isLocked()).toBe(false);
      },
    },
    {
      promise: "is held by the current thread in asThread until unlock() releases it",
      async run({ client, lock }) {
        const own = client();
        const it = lock(own);
        await own.asThread(async () => {
          await it.lock();
          expect([await it.isHeldByCurrentThread(), await it.getHoldCount()]).toEqual([true, 1]);
          await it.unlock();
          expect(await it.isHeldByCurrentThread()).toBe(false);
          await expect(it.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
        });
      },
    },
    {
      promise: "can belong to a threadId that the caller chooses, with which it is queried and released",
      async run({ client, lock }) {
        const it = lock(client());
        await it.lock({ threadId: 7 });
        expect([await it.isHeldByThread(7), await it.isHeldByThread(8), await it.getHoldCount(7)]).toEqual([
          true,
          false,
          1,
        ]);
        await expect(it.unlock(8)).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
        await it.unlock(7);
        expect(await it.isLocked()).toBe(false);
      },
    },
    {
      promise: "is released when using() ends, which returns the body's result or throws the body's error",
      async run({ client, lock }) {
        const it = lock(client());
        expect(await it.using(() => "done")).toBe("done");
        const error = new Error("of the body");
        await expect(it.using(() => Promise.reject(error))).rejects.toBe(error);
        expect(await it.isLocked()).toBe(false);
      },
    },
    {
      promise: "is released once, even if unlock() of its lease is called repeatedly",
      async run({ client, lock }) {
        const it = lock(client());
        const lease = await it.lock();
        await Promise.all([lease.unlock(), lease.unlock()]);
        await lease.unlock();
        expect([lease.state, await it.isLocked()]).toEqual(["released", false]);
      },
    },
  ],
};
