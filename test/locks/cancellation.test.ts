import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../src/driver/memory/index.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { type OpenBackend, openEmbedded } from "../support/backends.js";
import { watched } from "../support/embedded-on-fake-time.js";
import { watchLeaks } from "../support/leaks.js";
import { MomentsDriver } from "../support/moments-driver.js";

watchLeaks();

const CHANNEL = "redisson_lock__channel:{a}";
const NEVER_MS = 60 * 60 * 1_000;
/** More than there are awaits between the driver and the caller of a lock. */
const MICROTASKS = 24;

/** A world in which one call is cancelled at a moment that the schedule chooses. */
interface World {
  readonly clock: FakeClock;
  readonly server: OpenBackend;
  /** The client whose call is cancelled. */
  readonly client: Holdfast;
  readonly signal: AbortSignal;
}

/** @returns what the call to be cancelled brought, and what a second waiter did */
interface Ending {
  readonly victim: { readonly value: unknown } | { readonly error: unknown } | undefined;
  readonly next: { readonly value: unknown } | { readonly error: unknown } | undefined;
}

type Scenario = (world: World) => Promise<Ending>;

async function giveBack(outcome: Ending["victim"]): Promise<void> {
  if (outcome !== undefined && "value" in outcome) await (outcome.value as Lease | null)?.unlock();
}

/** The lock is free: the victim asks once. */
const free: Scenario = async ({ client, clock, signal }) => {
  const victim = watched(client.getLock("a").lock({ signal }));
  const next = watched(client.getLock("a").using(() => "entered"));
  await clock.advance(0);
  await giveBack(victim.outcome);
  await clock.advance(0);
  return { victim: victim.outcome, next: next.outcome };
};

/** Somebody else has the lock and releases it when the victim listens. */
const contended: Scenario = async ({ client, clock, server, signal }) => {
  const holder = server.client();
  const held = await holder.getLock("a").lock();
  const victim = watched(client.getLock("a").lock({ signal }));
  const next = watched(client.getLock("a").using(() => "entered"));
  await clock.advance(0);
  await held.unlock();
  await clock.advance(0);
  await giveBack(victim.outcome);
  await clock.advance(0);
  await holder.close();
  return { victim: victim.outcome, next: next.outcome };
};

/** As before, and the wait has an end; the message comes together with it. */
const timed: Scenario = async ({ client, clock, server, signal }) => {
  const holder = server.client();
  const held = await holder.getLock("a").lock();
  const victim = watched(client.getLock("a").tryLock({ signal, waitMs: 1_000 }));
  const next = watched(client.getLock("a").using(() => "entered"));
  clock.schedule(1_000, () => void held.unlock());
  await clock.advance(1_000);
  await giveBack(victim.outcome);
  await clock.advance(0);
  await holder.close();
  return { victim: victim.outcome, next: next.outcome };
};

/** The victim re-enters a hold around it, after the body of a sibling. */
const sibling: Scenario = async ({ client, clock, signal }) => {
  const lock = client.getLock("a");
  let leave = (): void => undefined;
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  return lock.using(async () => {
    const first = lock.using(() => left);
    const victim = watched(lock.lock({ signal }));
    const next = watched(lock.using(() => "entered"));
    await clock.advance(0);
    leave();
    await first;
    await clock.advance(0);
    await giveBack(victim.outcome);
    await clock.advance(0);
    return { victim: victim.outcome, next: next.outcome };
  });
};

/**
 * Plays a scenario and aborts the signal a number of microtasks after the k-th moment.
 * @returns the moment; undefined when there was none, so that nothing was aborted
 */
async function play(
  scenario: Scenario,
  { clock, server }: Pick<World, "clock" | "server">,
  k: number,
  microtasks: number,
): Promise<string | undefined> {
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
  const client = server.client(
    { safetyPeriodMs: NEVER_MS },
    (driver) => new MomentsDriver(driver, (moment) => void strike(moment)),
  );
  const ending = await scenario({ clock, server, client, signal: leaving.signal });
  const when = `cancelled ${microtasks} microtasks after moment ${k}: ${struck}`;
  const { victim } = ending;
  expect(victim, when).toBeDefined();
  if (victim !== undefined && "error" in victim) expect(victim.error, when).toBe(reason);
  expect(ending.next, when).toEqual({ value: "entered" });
  expect(await server.keys(), when).toEqual([]);
  expect(getEventListeners(leaving.signal, "abort"), when).toEqual([]);
  await client.close();
  expect(await server.raw("PUBLISH", CHANNEL, "9"), when).toBe(0);
  expect(clock.pendingTimers, when).toBe(0);
  return struck;
}

describe("a call that is cancelled at any moment of its life leaves nothing behind, and lets the next in", () => {
  test.each([
    ["of a lock that is free [B37]", free, 6],
    ["of a lock that is held [B37]", contended, 12],
    ["whose time is up when the message comes [B37]", timed, 12],
    ["that waits to re-enter [B37]", sibling, 12],
  ] as const)("%s", { timeout: 60_000 }, async (_, scenario, atLeast) => {
    const clock = new FakeClock();
    const server = openEmbedded(clock);
    const moments = new Set<string>();
    for (let k = 1; ; k++) {
      let struck: string | undefined;
      for (let microtasks = 0; microtasks <= MICROTASKS; microtasks++) {
        struck = await play(scenario, { clock, server }, k, microtasks);
        if (struck === undefined) break;
      }
      if (struck === undefined) break;
      moments.add(`${k}: ${struck}`);
    }
    expect([...moments].length, [...moments].join(", ")).toBeGreaterThanOrEqual(atLeast);
  });
});
