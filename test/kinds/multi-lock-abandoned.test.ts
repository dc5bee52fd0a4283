import { describe, expect, test } from "vitest";
import type { Lock } from "../../src/locks/lock.js";
import { collectAll } from "../support/run/garbage.js";
import { fakeMasters } from "../support/servers/fake-masters.js";
import { fakeTime } from "../support/worlds/fake-time.js";

/** Takes a lock and forgets its lease, in a frame of its own. */
async function forget(lock: Lock): Promise<string> {
  const lease = await lock.lock();
  return lease.signal.aborted ? "lost" : lease.state;
}

describe("a lease of several locks that was forgotten", () => {
  const open = fakeTime({ forgets: true });
  const openMasters = fakeMasters();

  test("is renewed no more, and all keys of a multi lock fall by their TTL", async () => {
    const { holdfast, clock, fields } = open();
    const names = ["a", "b", "c"];
    const lock = holdfast.getMultiLock(...names.map((name) => holdfast.getLock(name)));
    expect(await forget(lock)).toBe("held");
    await clock.advance(60_000);
    await collectAll();
    await clock.advance(31_000);
    expect(names.map((name) => fields(name))).toEqual([{}, {}, {}]);
  });

  test.each(["nothing of it was", "its signal was"])(
    "is renewed no more, nor taken on a server that comes back, in a red lock, when %s kept",
    async (kept) => {
      const { clock, party, heldOn, masters } = openMasters();
      const [server] = masters;
      if (server === undefined) throw new Error("there are three");
      server.health = "dead";
      const { red, drivers } = party({ redMemberTimeoutMs: 50 });
      const forgetAll = async () => {
        const lock = red().lock();
        await clock.advance(100);
        const lease = await lock;
        return kept === "its signal was" ? lease.signal : undefined;
      };
      const signal = await forgetAll();
      await clock.advance(5_000);
      await collectAll();
      server.health = 0;
      await clock.advance(24_000);
      expect(heldOn("a")).toEqual([1, 2]);
      expect(drivers[0]?.names).not.toContain("lock-acquire");
      expect(signal?.aborted ?? false).toBe(false);
      await clock.advance(2_000);
      expect(heldOn("a")).toEqual([]);
      expect(signal?.reason).toEqual(signal && expect.objectContaining({ reason: "expired" }));
    },
  );

  test("is renewed no more where the locks of a red lock had been taken again", async () => {
    const { clock, party, heldOn, masters } = openMasters();
    const forgetRetaken = async () => {
      const lease = await party().red().lock();
      for (const { server } of masters.slice(0, 2)) {
        server.flush();
        await clock.advance(15_000);
      }
      expect([lease.state, heldOn("a")]).toEqual(["held", [0, 1, 2]]);
    };
    await forgetRetaken();
    await clock.advance(5_000);
    await collectAll();
    await clock.advance(31_000);
    expect(heldOn("a")).toEqual([]);
  });

  test("is kept up in asThread, whose unlock can still release it, though all its locks were taken again", async () => {
    const { holdfast, clock, fields, server } = open();
    const names = ["a", "b", "c"];
    const lock = holdfast.getRedLock(...names.map((name) => holdfast.getLock(name)));
    const held = () => names.filter((name) => Object.keys(fields(name)).length > 0);
    await holdfast.asThread(async () => {
      expect(await forget(lock)).toBe("held");
      for (const name of names) {
        server.command("DEL", name);
        await clock.advance(15_000);
      }
      await (await holdfast.getLock("other").lock()).unlock();
      await collectAll();
      await clock.advance(60_000);
      expect(held()).toEqual(names);
      await lock.unlock();
    });
    expect(held()).toEqual([]);
  });

  test("is kept up while somebody has the lease, collected garbage or not", async () => {
    const { clock, party, heldOn, masters } = openMasters();
    const lease = await party().red().lock();
    masters[1]?.server.flush();
    await collectAll();
    await clock.advance(60_000);
    await collectAll();
    await clock.advance(60_000);
    expect([lease.state, heldOn("a")]).toEqual(["held", [0, 1, 2]]);
    await lease.unlock();
  });
});
