import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import type { Lock } from "../../src/locks/lock.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { momentsDriver } from "../support/drivers/moments-driver.js";
import { watchLeaks } from "../support/run/leaks.js";
import { strideOf } from "../support/run/stride.js";
import { type Watched, watched } from "../support/run/watched.js";

watchLeaks();

const NEVER_MS = 60 * 60 * 1_000;
const MICROTASKS = [0, 1, 3, 8, 20];
const STRIDE = strideOf(3);

/** A world in which one call is cancelled at a moment that the schedule chooses. */
interface World {
  readonly clock: FakeClock;
  readonly server: MemoryServer;
  /** The clients of the call. */
  readonly clients: readonly [Holdfast, Holdfast];
  readonly lock: Lock;
  readonly signal: AbortSignal;
}

type Scenario = (world: World) => Promise<Watched<Lease | null>>;

/** The locks are free: the victim asks two clients, the first for two locks in one command. */
const free: Scenario = async ({ lock, signal, clock }) => {
  const victim = watched(lock.lock({ signal }));
  await clock.advance(0);
  return victim;
};

/** The last lock is held, and freed when the victim waits for it. */
const held: Scenario = async ({ lock, signal, clock, server }) => {
  const holder = new Holdfast(memoryDriver(server), { clock });
  const lease = await holder.getLock("c").lock();
  const victim = watched(lock.tryLock({ signal, waitMs: NEVER_MS }));
  await clock.advance(100);
  clock.schedule(1, () => void lease.unlock());
  await clock.advance(100);
  await holder.close();
  return victim;
};

/** The victim enters once more what is held around it. */
const again: Scenario = async ({ lock, signal, clock }) => {
  const outer = await lock.lock();
  const victim = await outer.run(async () => {
    const inner = watched(lock.lock({ signal }));
    await clock.advance(0);
    return inner;
  });
  await giveBack(victim);
  await clock.advance(100);
  await outer.unlock();
  return victim;
};

async function giveBack({ outcome }: Watched<Lease | null>): Promise<void> {
  if (outcome !== undefined && "value" in outcome) await outcome.value?.unlock();
}

/** @returns the moment at which the call was cancelled; undefined when there was none any more */
async function play(scenario: Scenario, k: number, microtasks: number): Promise<string | undefined> {
  const clock = new FakeClock();
  const server = new MemoryServer({ clock });
  const leaving = new AbortController();
  const reason = new Error("cancelled");
  let moments = 0;
  let struck: string | undefined;
  const strike = async (moment: string) => {
    moments += 1;
    if (moments !== k) return;
    struck = moment;
    for (let i = 0; i < microtasks; i++) await undefined;
    leaving.abort(reason);
  };
  const connect = () => {
    const driver = momentsDriver(memoryDriver(server), (moment) => void strike(moment));
    return new Holdfast(driver, { clock, safetyPeriodMs: NEVER_MS });
  };
  const clients = [connect(), connect()] as const;
  const [one, two] = clients;
  const lock = one.getMultiLock(one.getLock("a"), one.getLock("b"), two.getLock("c"));
  const victim = await scenario({ clock, server, clients, lock, signal: leaving.signal });
  await giveBack(victim);
  await clock.advance(100);
  // Whoever comes next finds nothing in the way.
  const next = watched(lock.tryLock());
  await clock.advance(0);
  await giveBack(next);
  await clock.advance(0);
  const listened = getEventListeners(leaving.signal, "abort").length;
  await Promise.all(clients.map((client) => client.close()));
  expect(
    {
      victim: victim.outcome,
      next: next.outcome,
      listened,
      keys: Object.keys(server.dump()),
      timers: clock.pendingTimers,
    },
    `cancelled ${microtasks} microtasks after moment ${k}: ${struck}`,
  ).toEqual({
    victim: expect.toSatisfy((outcome) => outcome?.error === reason || (outcome && "value" in outcome)),
    next: { value: expect.objectContaining({ holdCount: 1 }) },
    listened: 0,
    keys: [],
    timers: 0,
  });
  return struck;
}

describe("a call for a multi lock that is cancelled at any moment leaves nothing behind, and lets the next in", () => {
  test.each([
    ["when all is free", free, 6],
    ["when it has to wait for one lock", held, 14],
    ["when it enters again", again, 10],
  ] as const)("%s [B13]", { timeout: 60_000 }, async (_, scenario, atLeast) => {
    const moments: string[] = [];
    for (;;) {
      const k = moments.length + 1;
      const some = MICROTASKS.filter((_, nth) => (nth + k) % STRIDE === 0);
      let struck: string | undefined;
      for (const microtasks of some) struck = await play(scenario, k, microtasks);
      if (struck === undefined) break;
      moments.push(struck);
    }
    expect(moments.length, moments.join(", ")).toBeGreaterThanOrEqual(atLeast);
  });
});
