import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { fairTimes } from "../../src/protocol/fair-scripts.js";
import { momentsDriver } from "../support/drivers/moments-driver.js";
import { ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { watchLeaks } from "../support/run/leaks.js";
import { strideOf } from "../support/run/stride.js";
import { type Watched, watched } from "../support/run/watched.js";

watchLeaks();

const NEVER_MS = 60 * 60 * 1_000;
/** More than there are awaits between the driver and the caller of a lock. */
const MICROTASKS = 30;
/** A campaign tries each of them. */
const STRIDE = strideOf(4);
/** Longer than a lock is given for, so that the confirmation comes later. */
const WATCHDOG_MS = fairTimes.grantMs + 2_000;
/** By then the lease of a dead holder has ended, and a dead waiter is passed over. */
const PASSED_OVER_MS = WATCHDOG_MS + fairTimes.aliveMs + 3_000;

/** A world in which something happens to one who waits, at a moment that the schedule chooses. */
interface World {
  readonly victim: Holdfast;
  /** From the victim's client to the server. */
  readonly way: ScriptedDriver;
  readonly leaving: AbortController;
  /** What the victim's call has brought so far. */
  wait: Watched<Lease | null>;
  /** What the victim's release has brought. */
  readonly refusals: unknown[];
}

type Deed = (world: World) => void;

const reason = new Error("cancelled");
const cancel: Deed = ({ leaving }) => leaving.abort(reason);
const killClient: Deed = ({ way }) => {
  way.run = () => new Promise<never>(() => undefined);
  way.channels.mute(true);
};
const close: Deed = ({ victim }) => void victim.close();
const unlock: Deed = ({ wait: { outcome }, refusals }) => {
  if (outcome === undefined || !("value" in outcome)) return;
  outcome.value?.unlock().catch((error: unknown) => refusals.push(error));
};

/** After these, what the victim holds falls by itself. */
const ENDS: readonly Deed[] = [killClient, close];

interface Schedule {
  readonly deed: Deed;
  /** When the victim's time is up: at the very moment of the release, if it is 1. */
  readonly waitMs: number;
  /** After which moment it happens, and how much later. */
  readonly k: number;
  readonly microtasks: number;
}

/** @returns the moment at which it struck; undefined when there were not so many */
async function play({ deed, waitMs, k, microtasks }: Schedule): Promise<string | undefined> {
  const clock = new FakeClock();
  const server = new MemoryServer({ clock });
  let moments = 0;
  let struck: string | undefined;
  const strike = async (moment: string) => {
    moments += 1;
    if (moments !== k) return;
    struck = moment;
    for (let i = 0; i < microtasks; i++) await undefined;
    deed(world);
  };
  const way = new ScriptedDriver(memoryDriver(server));
  const connect = () => new Holdfast(memoryDriver(server), { clock });
  const telling = momentsDriver(way, (moment) => void strike(moment));
  const victim = new Holdfast(telling, { clock, watchdogMs: WATCHDOG_MS });
  const [holder, rival] = [connect(), connect()];
  const leaving = new AbortController();
  const world: World = { victim, way, leaving, wait: { outcome: undefined }, refusals: [] };
  const held = await holder.getFairLock("a").lock();
  world.wait = watched(victim.getFairLock("a").tryLock({ waitMs, signal: leaving.signal }));
  await clock.advance(0);
  const next = watched(rival.getFairLock("a").using(() => "entered"));
  clock.schedule(1, () => void held.unlock());
  await clock.advance(1);
  await clock.advance(fairTimes.grantMs / 2);
  unlock(world);
  await clock.advance(ENDS.includes(deed) ? PASSED_OVER_MS : 0);
  const what = `${microtasks} microtasks after moment ${k}: ${struck}`;
  expect(next.outcome, what).toEqual({ value: "entered" });
  expect(Object.keys(server.dump()), what).toEqual([]);
  const closed = Promise.all([victim, holder, rival].map((client) => client.close()));
  await clock.advance(120_000);
  await closed;
  expect(clock.pendingTimers, what).toBe(0);
  if (!ENDS.includes(deed)) expect(world.refusals, what).toEqual([]);
  // The dead get no answer.
  if (deed !== killClient) expect(getEventListeners(leaving.signal, "abort"), what).toEqual([]);
  if (deed === cancel && struck !== undefined)
    expect(world.wait.outcome, what).toSatisfy(
      (brought) => brought?.error === reason || (brought && "value" in brought),
    );
  return struck;
}

describe("a fair lock passes on", () => {
  test.each([
    ["from a waiter that is cancelled at any moment of its life [wire-L3] [B37] [R23]", cancel, NEVER_MS, 14],
    ["from one that is cancelled when its time is up and the lock is given to it [R23]", cancel, 1, 11],
    ["from a waiter whose client is closed at any moment of its life [wire-L3]", close, NEVER_MS, 12],
    ["from a waiter that is killed at any moment of its life [B9] [wire-L2] [R23]", killClient, NEVER_MS, 12],
    ["from a holder that releases at any moment before and after its confirmation", unlock, NEVER_MS, 14],
  ] as const)("%s", { timeout: 120_000 }, async (_, deed, waitMs, atLeast) => {
    const moments: string[] = [];
    for (;;) {
      const k = moments.length + 1;
      const struck = await play({ deed, waitMs, k, microtasks: 0 });
      if (struck === undefined) break;
      moments.push(struck);
      // Where something was sent, nothing of ours runs until it is answered. The dead do nothing any more.
      const microtasks = struck.endsWith("is sent") || deed === killClient ? 1 : MICROTASKS;
      for (let i = 1; i <= microtasks; i += STRIDE) await play({ deed, waitMs, k, microtasks: i });
    }
    expect(moments.length, moments.join(", ")).toBeGreaterThanOrEqual(atLeast);
  });
});
