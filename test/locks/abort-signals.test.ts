import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { childPrograms } from "../support/worlds/child-programs.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();
const start = childPrograms();

describe("one AbortSignal in many calls", () => {
  test("cancels all of them, and Node warns of nothing [own-19]", { timeout: 60_000 }, async () => {
    const child = await start("warned-user", { deed: "signal" });
    expect(await child.next("cancelled")).toMatchObject({ calls: 30 });
    await child.next("done");
    expect(child.events.filter(({ event }) => event === "warning")).toEqual([]);
  });

  test("has one listener while any of them waits, and none afterwards", async () => {
    const { holdfast, connect, clock } = open();
    const { signal } = new AbortController();
    const lease = await holdfast.getLock("a").lock();
    const waits = [holdfast, connect().holdfast].flatMap((client) =>
      [100, 200].map((waitMs) => watched(client.getLock("a").lock({ waitMs, signal }))),
    );
    await clock.advance(0);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await clock.advance(100);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await clock.advance(100);
    expect(waits.every(({ outcome }) => outcome !== undefined)).toBe(true);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    const again = watched(holdfast.getLock("a").tryLock({ waitMs: 50, signal }));
    await clock.advance(0);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await lease.unlock();
    await clock.advance(50);
    expect(again.outcome).toMatchObject({ value: { state: "held" } });
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await holdfast.getLock("a").forceUnlock();
  });

  test("does not cancel a call that was over when another was cancelled by the same abort", async () => {
    const { holdfast, clock } = open();
    const leaving = new AbortController();
    const { signal } = leaving;
    const lease = await holdfast.getLock("a").lock({ signal });
    const waiting = watched(holdfast.getLock("a").lock({ signal }));
    await clock.advance(0);
    leaving.abort("gone");
    await clock.advance(0);
    expect(waiting.outcome).toEqual({ error: "gone" });
    expect(lease.state).toBe("held");
    await expect(holdfast.getLock("b").lock({ signal })).rejects.toBe("gone");
    await lease.unlock();
  });
});
