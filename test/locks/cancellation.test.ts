import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../src/driver/memory/index.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { type Watched, watched } from "../support/embedded-on-fake-time.js";
import { watchLeaks } from "../support/leaks.js";
import { ModelServer } from "../support/model-server.js";
import { MomentsDriver } from "../support/moments-driver.js";

watchLeaks();

const NEVER_MS = 60 * 60 * 1_000;
/** More than there are awaits between the driver and the caller of a lock. */
const MICROTASKS = 30;

/** A world in which one call is cancelled at a moment that the schedule chooses. */
interface World {
  readonly clock: FakeClock;
  readonly server: ModelServer;
  /** The client whose call is cancelled. */
  readonly client: Holdfast;
  readonly signal: AbortSignal;
}

/** What the call to be cancelled brought, and what the next one did. */
interface Ending {
  readonly victim: Watched<Lease | null>;
  readonly next: Watched<string>;
}

type Scenario = (world: World) => Promise<Ending>;

/** The victim got the lock before it was cancelled. */
async function giveBack({ outcome }: Watched<Lease | null>, clock: FakeClock): Promise<void> {
  if (outcome !== undefined && "value" in outcome) await outcome.value?.unlock();
  await clock.advance(0);
}

async function visit(client: Holdfast): Promise<string> {
  const lease = await client.getLock("a").lock();
  await lease.unlock();
  return "entered";
}

/** The lock is free: the victim asks once. */
const free: Scenario = async ({ client, clock, signal }) => {
  const victim = watched(client.getLock("a").lock({ signal }));
  const next = watched(visit(client));
  await clock.advance(0);
  await giveBack(victim, clock);
  return { victim, next };
};

/** Somebody else has the lock and releases it when the victim listens, and when the time of a timed wait is up. */
function heldUntil(waitMs: number | undefined): Scenario {
  return async ({ client, clock, server, signal }) => {
    const holder = new Holdfast(server.driver(), { clock });
    const held = await holder.getLock("a").lock();
    const victim = watched(client.getLock("a").tryLock({ signal, waitMs: waitMs ?? NEVER_MS }));
    const next = watched(visit(client));
    await clock.advance(0);
    clock.schedule(waitMs ?? 1, () => void held.unlock());
    await clock.advance(waitMs ?? 1);
    await giveBack(victim, clock);
    await holder.close();
    return { victim, next };
  };
}

/** The victim re-enters a hold around it, after the body of a sibling. */
const sibling: Scenario = ({ client, clock, signal }) => {
  const lock = client.getLock("a");
  let leave = (): void => undefined;
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  return lock.using(async () => {
    const first = lock.using(() => left);
    const victim = watched(lock.using({ signal }, () => null));
    const next = watched(lock.using(() => "entered"));
    await clock.advance(0);
    leave();
    await first;
    await clock.advance(0);
    return { victim, next };
  });
};

/**
 * Plays a scenario and aborts the signal a number of microtasks after the k-th moment.
 * @returns the moment; undefined when there was none, so that nothing was aborted
 */
async function play(scenario: Scenario, k: number, microtasks: number): Promise<string | undefined> {
  const clock = new FakeClock();
  const server = new ModelServer(clock);
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
  const driver = new MomentsDriver(server.driver(), (moment) => void strike(moment));
  const client = new Holdfast(driver, { clock, safetyPeriodMs: NEVER_MS });
  const { victim, next } = await scenario({ clock, server, client, signal: leaving.signal });
  const listened = getEventListeners(leaving.signal, "abort").length;
  await client.close();
  expect(
    {
      victim: victim.outcome,
      next: next.outcome,
      listened,
      keys: server.locks.size,
      timers: clock.pendingTimers,
    },
    `cancelled ${microtasks} microtasks after moment ${k}: ${struck}`,
  ).toEqual({
    victim: expect.toSatisfy((outcome) => outcome?.error === reason || (outcome && "value" in outcome)),
    next: { value: "entered" },
    listened: 0,
    keys: 0,
    timers: 0,
  });
  return struck;
}

describe("a call that is cancelled at any moment of its life leaves nothing behind, and lets the next in", () => {
  test.each([
    ["of a lock that is free [B37]", free, 10],
    ["of a lock that is held [B37]", heldUntil(undefined), 16],
    ["whose time is up when the message comes [B37]", heldUntil(1_000), 14],
    ["that waits to re-enter [B37]", sibling, 14],
  ] as const)("%s", { timeout: 60_000 }, async (_, scenario, atLeast) => {
    const moments: string[] = [];
    for (;;) {
      const k = moments.length + 1;
      const struck = await play(scenario, k, 0);
      if (struck === undefined) break;
      moments.push(struck);
      // Where something was sent, nothing of ours runs until it is answered.
      const microtasks = struck.endsWith("is sent") ? 1 : MICROTASKS;
      for (let i = 1; i <= microtasks; i++) await play(scenario, k, i);
    }
    expect(moments.length, moments.join(", ")).toBeGreaterThanOrEqual(atLeast);
  });
});
