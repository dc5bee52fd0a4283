import { afterEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../src/clock.js";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";

/** All that Vitest fakes in a process of its own; by default it leaves out `queueMicrotask`. */
const ALL = [
  "setTimeout",
  "clearTimeout",
  "setInterval",
  "clearInterval",
  "setImmediate",
  "clearImmediate",
  "Date",
  "performance",
  "queueMicrotask",
] as const;

afterEach(() => {
  vi.useRealTimers();
});

/** Two clients of one embedded server. */
function clients(clock?: FakeClock): { ours: Holdfast; theirs: Holdfast } {
  const time = clock === undefined ? {} : { clock };
  const server = new MemoryServer(time);
  const client = () => new Holdfast(memoryDriver(server), time);
  return { ours: client(), theirs: client() };
}

/** All that needs no time, with nothing advanced. */
async function useLocks({ ours, theirs }: { ours: Holdfast; theirs: Holdfast }): Promise<void> {
  const lease = await ours.getLock("job").lock();
  const waiting = theirs.getLock("job").lock();
  expect(await theirs.getLock("job").tryLock()).toBeNull();
  await lease.unlock();
  const next = await waiting;
  expect(await ours.getLock("job").tryLock()).toBeNull();
  await next.unlock();
}

describe("under fake timers of the test runner that nobody advances", () => {
  test.each<{ faked: string; config?: Parameters<typeof vi.useFakeTimers>[0] }>([
    { faked: "what Vitest fakes by default" },
    { faked: "all", config: { toFake: [...ALL] } },
    { faked: "setTimeout and Date alone", config: { toFake: ["setTimeout", "clearTimeout", "Date"] } },
  ])(
    "locks of the embedded server are taken, waited for and released; faked: $faked [own-13]",
    async ({ config }) => {
      vi.useFakeTimers(config);
      const both = clients();
      await useLocks(both);
      await Promise.all([both.ours.close(), both.theirs.close()]);
    },
  );

  test("so they are when the clients were made before [own-13]", async () => {
    const both = clients();
    await useLocks(both);
    vi.useFakeTimers();
    await useLocks(both);
    await Promise.all([both.ours.close(), both.theirs.close()]);
  });

  test("a FakeClock goes on as ever [own-13]", async () => {
    vi.useFakeTimers({ toFake: [...ALL] });
    const clock = new FakeClock();
    const both = clients(clock);
    await useLocks(both);
    const lease = await both.ours.getLock("job").lock({ leaseMs: 10_000 });
    await clock.advance(10_000);
    expect([lease.state, clock.pendingTimers]).toEqual(["lost", 0]);
    await Promise.all([both.ours.close(), both.theirs.close()]);
  });
});

describe("under fake timers that are advanced", () => {
  test("what follows without time has happened before the next timer fires", async () => {
    vi.useFakeTimers();
    let turns = 0;
    const goOn = () => {
      turns += 1;
      if (turns < 100) systemClock.schedule(0, goOn);
    };
    const seen: number[] = [];
    systemClock.schedule(5, goOn);
    systemClock.schedule(6, () => seen.push(turns));
    systemClock.schedule(0, () => seen.push(-1)).cancel();
    await vi.advanceTimersByTimeAsync(10);
    expect(seen).toEqual([100]);
  });

  test("time passes for leases, waiters and the watchdog", async () => {
    vi.useFakeTimers();
    const { ours, theirs } = clients();
    const lost = await ours.getLock("job").lock({ leaseMs: 10_000 });
    const waiting = theirs.getLock("job").lock();
    const late = theirs.getLock("job").tryLock({ waitMs: 2_000 });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await late).toBeNull();
    await vi.advanceTimersByTimeAsync(8_002);
    expect(lost.state).toBe("lost");
    const held = await waiting;
    await vi.advanceTimersByTimeAsync(120_000);
    expect(held.state).toBe("held");
    expect(await ours.getLock("job").tryLock()).toBeNull();
    await held.unlock();
    await Promise.all([ours.close(), theirs.close()]);
  });
});
