import { describe, expect, test } from "vitest";
import { events } from "../../src/events.js";
import { believedMs } from "../../src/lease.js";
import type { HoldState } from "../../src/threads/held.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
endRecordings();
const open = fakeTime();

interface Held {
  readonly state: HoldState;
  remainingMs(): number;
}

const LEASE_MS = 10_000;
const options = { leaseMs: LEASE_MS };

/** What is taken has no renewals, so that it ends by itself. */
const takes: Readonly<Record<string, (world: FakeTime) => Promise<Held>>> = {
  "a lease": ({ holdfast }) => holdfast.getLock("a").lock(options),
  "a fenced lease": ({ holdfast }) => holdfast.getFencedLock("a").lock(options),
  "a multi lease": ({ holdfast }) =>
    holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b")).lock(options),
  permits: async ({ holdfast }) => {
    const semaphore = holdfast.getPermitExpirableSemaphore("s");
    await semaphore.trySetPermits(1);
    return semaphore.acquire(options);
  },
};

describe.each(Object.entries(takes))("how long %s is believed", (_, take) => {
  test("is the answer that a look at its state would get, at any moment, and changes nothing", async () => {
    const world = open();
    const { clock } = world;
    const held = await take(world);
    const lost = recorded(events.leaseLost);
    const start = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    const inMs = (ms: number) => ({ monotonicMs: start.monotonicMs + ms, wallMs: start.wallMs + ms });
    const endMs = held.remainingMs();
    expect(believedMs(held)).toBe(endMs);
    expect(believedMs(held, inMs(endMs - 1))).toBe(1);
    expect(believedMs(held, inMs(endMs))).toBe(0);
    expect(believedMs(held, { ...start, wallMs: start.wallMs + endMs })).toBe(0);
    expect([held.state, held.remainingMs()]).toEqual(["held", endMs]);
    expect(lost).toEqual([]);
    await clock.advance(endMs);
    expect(believedMs(held)).toBe(0);
    expect(held.state).toBe("lost");
    expect(believedMs(held, start)).toBe(0);
    world.server.flush();
  });
});

test("what was released is not believed", async () => {
  const { holdfast, clock } = open();
  const lease = await holdfast.getLock("a").lock();
  const before = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  await lease.unlock();
  expect(believedMs(lease, before)).toBe(0);
});

test("to look leaves a loss untold until somebody asks for the state", async () => {
  const { holdfast, clock } = open();
  const lease = await holdfast.getLock("a").lock(options);
  await clock.advance(LEASE_MS / 2);
  const { wallMs, monotonicMs } = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
  const late = { wallMs: wallMs + LEASE_MS, monotonicMs: monotonicMs + LEASE_MS };
  const lost = recorded(events.leaseLost);
  expect(believedMs(lease, late)).toBe(0);
  expect([lost, lease.state]).toEqual([[], "held"]);
  await lease.unlock();
});

test("a red lease is believed while enough of its holds are, each on the clock of its own client", async () => {
  const worlds = [open(), open(), open()] as const;
  const [one, two, three] = worlds;
  const locks = worlds.map(({ holdfast }) => holdfast.getLock("a"));
  const lease = await one.holdfast.getRedLock(...locks).lock(options);
  await one.clock.advance(LEASE_MS);
  expect(believedMs(lease)).toBeGreaterThan(0);
  await two.clock.advance(LEASE_MS);
  expect(believedMs(lease)).toBe(0);
  expect(lease.state).toBe("lost");
  await three.clock.advance(LEASE_MS);
});

test("nothing else can be believed", () => {
  expect(() => believedMs({})).toThrow(TypeError);
});
