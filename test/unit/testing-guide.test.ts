import { readFileSync } from "node:fs";
import { join } from "node:path";
import { events, Holdfast, UnavailableError } from "holdfast";
import { FakeClock, MemoryServer, memoryDriver } from "holdfast/memory";
import { afterEach, describe, expect, test, vi } from "vitest";
import { root } from "../support/tidy/tree.js";

const GUIDE = "docs/guide/testing.md";

afterEach(() => {
  vi.useRealTimers();
});

/** Resolves when a call finds the lock held. */
function contended(name: string): Promise<void> {
  return new Promise((resolve) => {
    const onContended = (event: unknown) => {
      if ((event as { name: string }).name !== name) return;
      events.contended.unsubscribe(onContended);
      resolve();
    };
    events.contended.subscribe(onContended);
  });
}

describe(GUIDE, () => {
  test("a lease of so many milliseconds is lost after these, and its key falls one later", async () => {
    const clock = new FakeClock();
    const server = new MemoryServer({ clock });
    const ours = new Holdfast(memoryDriver(server), { clock });
    const theirs = new Holdfast(memoryDriver(server), { clock });
    const lease = await ours.getLock("job").lock({ leaseMs: 10_000 });
    await clock.advance(10_000);
    expect(lease.state).toBe("lost");
    expect(await theirs.getLock("job").tryLock()).toBeNull();
    await clock.advance(1);
    expect(await theirs.getLock("job").tryLock()).not.toBeNull();
    await Promise.all([ours.close({ releaseHeld: true }), theirs.close({ releaseHeld: true })]);
  });

  test("the timers of the test runner are the time of a client without a clock", async () => {
    vi.useFakeTimers();
    const holdfast = new Holdfast(memoryDriver());
    const lease = await holdfast.getLock("job").lock({ leaseMs: 10_000 });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(lease.state).toBe("lost");
    await holdfast.close();
  });

  test("with a fake clock, a call waits once all has settled", async () => {
    const clock = new FakeClock();
    const server = new MemoryServer({ clock });
    const ours = new Holdfast(memoryDriver(server), { clock });
    const theirs = new Holdfast(memoryDriver(server), { clock });
    const lease = await ours.getLock("job").lock();
    const waiting = theirs.getLock("job").lock();
    await clock.advance(0);
    // It waits now.
    const before = clock.monotonicMs();
    await lease.unlock();
    await (await waiting).unlock();
    expect(clock.monotonicMs()).toBe(before);
    await Promise.all([ours.close(), theirs.close()]);
  });

  test.each(["real", "fake"])("with %s timers, an event says that a call waits", async (timers) => {
    if (timers === "fake") vi.useFakeTimers();
    const server = new MemoryServer();
    const ours = new Holdfast(memoryDriver(server));
    const theirs = new Holdfast(memoryDriver(server));
    const lease = await ours.getLock("job").lock();
    const waits = contended("job");
    const waiting = theirs.getLock("job").lock();
    await waits;
    await lease.unlock();
    await (await waiting).unlock();
    expect((await waiting).state).toBe("released");
    await Promise.all([ours.close(), theirs.close()]);
  });

  test("without Redis calls reject and leases are lost, and all goes on when it is back", async () => {
    const clock = new FakeClock();
    const server = new MemoryServer({ clock });
    const holdfast = new Holdfast(memoryDriver(server), { clock });
    const lease = await holdfast.getLock("job").lock();

    server.goAway();
    const failing = expect(holdfast.getLock("report").lock()).rejects.toThrow(UnavailableError);
    await clock.advance(3_100);
    await failing;
    await clock.advance(30_000);
    expect(lease.state).toBe("lost");

    server.comeBack();
    const next = holdfast.getLock("report").lock();
    await clock.advance(1_000);
    await (await next).unlock();
    const closing = holdfast.close();
    await clock.advance(60_000);
    await closing;
  });

  test("shows what these tests run", () => {
    const own = lines(readFileSync(join(root, "test/unit/testing-guide.test.ts"), "utf8"));
    const recipes = readFileSync(join(root, GUIDE), "utf8").split("## Time")[1] ?? "";
    const blocks = [...recipes.matchAll(/```ts\n(.*?)```/gs)].map(([, code = ""]) => lines(code));
    expect(blocks.length).toBeGreaterThan(3);
    for (const shown of blocks.flat()) {
      // What a reader is told in a comment, the test expects.
      const isTold = /; \/\/ (?:"|null)/.test(shown) || shown.startsWith("import ");
      expect({ shown, runs: isTold || own.includes(shown) }).toEqual({ shown, runs: true });
    }
  });
});

function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
