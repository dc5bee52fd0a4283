import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { backends, openedFor } from "../support/servers/backends.js";

const NAME = "order:7";

const kinds = [
  { kind: "non-reentrant", of: (client: Holdfast): Lock => client.getNonReentrantLock(NAME) },
  { kind: "non-reentrant fair", of: (client: Holdfast): Lock => client.getNonReentrantFairLock(NAME) },
];

describe.each(kinds)("a $kind lock", ({ of }) => {
  describe.each(backends)("on $name", (backend) => {
    const server = openedFor(backend);

    test("refuses its own holder at once, whichever way it asks, and leaves the hold as it is", async () => {
      const client = server().client();
      const reentry = { code: "ERR_HOLDFAST_REENTRY" };
      await of(client).using(async (lease) => {
        // Another object of the same name is the same lock.
        for (const lock of [of(client), of(client)]) {
          await expect(lock.lock()).rejects.toMatchObject(reentry);
          await expect(lock.tryLock()).rejects.toMatchObject(reentry);
          await expect(lock.tryLock({ waitMs: 60_000 })).rejects.toMatchObject(reentry);
          await expect(lock.using(() => undefined)).rejects.toMatchObject(reentry);
        }
        await expect(of(client).lock({ threadId: lease.threadId })).rejects.toMatchObject(reentry);
        expect(await server().fields(NAME)).toEqual({ [lease.holder]: "1" });
      });
      expect(await of(client).isLocked()).toBe(false);
    });

    test("tells its own holder that the lease is lost, rather than that it may not enter again", async () => {
      const client = server().client();
      const lost = { code: "ERR_HOLDFAST_LEASE_LOST" };
      const body = of(client).using(async () => {
        await of(client).forceUnlock();
        await expect(of(client).lock()).rejects.toMatchObject(lost);
      });
      await expect(body).rejects.toMatchObject(lost);
    });

    test("refuses a sibling of a body inside, as it refuses that body", async () => {
      const client = server().client();
      const outcomes = await of(client).using(() =>
        Promise.allSettled([of(client).lock(), of(client).using(() => undefined)]),
      );
      expect(outcomes).toMatchObject([
        { reason: { code: "ERR_HOLDFAST_REENTRY" } },
        { reason: { code: "ERR_HOLDFAST_REENTRY" } },
      ]);
    });

    test("refuses an explicit thread that holds it, and takes it again for one that has released it", async () => {
      const client = server().client();
      const first = await of(client).lock({ threadId: 7 });
      await expect(of(client).tryLock({ threadId: 7 })).rejects.toMatchObject({
        code: "ERR_HOLDFAST_REENTRY",
      });
      await first.unlock();
      const second = await of(client).lock({ threadId: 7 });
      expect(second.holdCount).toBe(1);
      await second.unlock();
    });

    test("excludes strangers of the same client, who wait and are let in", async () => {
      const client = server().client();
      const lease = await of(client).lock();
      expect(await of(client).tryLock()).toBeNull();
      const waiting = of(client).lock();
      await lease.unlock();
      await (await waiting).unlock();
    });
  });
});
