import { getEventListeners } from "node:events";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { momentsDriver } from "../support/drivers/moments-driver.js";
import { watchLeaks } from "../support/run/leaks.js";
import { strideOf } from "../support/run/stride.js";
import { type Watched, watched } from "../support/run/watched.js";
import { isRequestKey } from "../support/servers/request-keys.js";

watchLeaks();

const NEVER_MS = 60 * 60 * 1_000;
/** More than there are awaits between the driver and the caller. */
const MICROTASKS = 12;
const STRIDE = strideOf(4);
const PERMITS = 2;

/** A server that has seen the scripts before is much quicker, so all plays of a scenario share one. */
interface Stage {
  readonly clock: FakeClock;
  readonly server: MemoryServer;
}

/** A world in which one call is cancelled at a moment that the schedule chooses. */
interface World extends Stage {
  /** The client whose call is cancelled. */
  readonly client: Holdfast;
  readonly signal: AbortSignal;
}

/** What the call to be cancelled brought, and what the next one did. */
interface Ending {
  readonly victim: Watched<boolean>;
  readonly next: Watched<string>;
}

type Scenario = (world: World) => Promise<Ending>;

/** The victim got its permits before it was cancelled. */
async function giveBack({ outcome }: Watched<boolean>, { client, clock }: World): Promise<void> {
  if (outcome !== undefined && "value" in outcome && outcome.value) {
    await client.getSemaphore("s").release(PERMITS);
  }
  await clock.advance(0);
}

function visit({ client }: World): Promise<string> {
  return client.getSemaphore("s").using(() => "entered");
}

/** There are permits: the victim asks once. */
const free: Scenario = async (world) => {
  const { client, clock, signal } = world;
  const victim = watched(client.getSemaphore("s").tryAcquire(PERMITS, { signal }));
  const next = watched(visit(world));
  await clock.advance(10);
  await giveBack(victim, world);
  return { victim, next };
};

/** Somebody else has the permits and gives them back after so long. */
function takenFor(takenMs: number, waitMs: number): Scenario {
  return async (world) => {
    const { client, clock, server, signal } = world;
    server.command("DECRBY", "s", PERMITS);
    const victim = watched(client.getSemaphore("s").tryAcquire(PERMITS, { signal, waitMs }));
    const next = watched(visit(world));
    await clock.advance(0);
    clock.schedule(takenMs, () => {
      server.command("INCRBY", "s", PERMITS);
      server.command("PUBLISH", "redisson_sc:{s}", String(PERMITS));
    });
    await clock.advance(takenMs);
    await giveBack(victim, world);
    return { victim, next };
  };
}

/**
 * Plays a scenario and aborts the signal a number of microtasks after the k-th moment.
 * @returns the moment; undefined when there was none, so that nothing was aborted
 */
async function play(
  { clock, server }: Stage,
  scenario: Scenario,
  k: number,
  microtasks: number,
): Promise<string | undefined> {
  server.flush();
  server.command("SET", "s", PERMITS);
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
  const driver = momentsDriver(memoryDriver(server), (moment) => void strike(moment));
  const client = new Holdfast(driver, { clock, safetyPeriodMs: NEVER_MS });
  const { victim, next } = await scenario({ clock, server, client, signal: leaving.signal });
  await clock.advance(100);
  const listened = getEventListeners(leaving.signal, "abort").length;
  await client.close();
  expect(
    {
      victim: victim.outcome,
      next: next.outcome,
      listened,
      permits: server.command("GET", "s"),
      keys: Object.keys(server.dump()).filter((key) => !isRequestKey(key)),
      timers: clock.pendingTimers,
    },
    `cancelled ${microtasks} microtasks after moment ${k}: ${struck}`,
  ).toEqual({
    victim: expect.toSatisfy((outcome) => outcome?.error === reason || (outcome && "value" in outcome)),
    next: { value: "entered" },
    listened: 0,
    permits: String(PERMITS),
    keys: ["s"],
    timers: 0,
  });
  return struck;
}

afterEach(() => void vi.restoreAllMocks());

describe("a call for permits that is cancelled at any moment of its life leaves nothing behind, and lets the next in", () => {
  test.each([
    ["when they are to be had [B37]", free, 6],
    ["when they are taken [B37]", takenFor(1, NEVER_MS), 12],
    ["when its time is up as the message comes [B37]", takenFor(500, 500), 12],
    ["when they are saved up for it [B37]", takenFor(1_500, NEVER_MS), 14],
  ] as const)("%s", { timeout: 60_000 }, async (_, scenario, atLeast) => {
    // Each play is to go as the others.
    vi.spyOn(Math, "random").mockReturnValue(0);
    const clock = new FakeClock();
    const stage = { clock, server: new MemoryServer({ clock }) };
    const moments: string[] = [];
    for (;;) {
      const k = moments.length + 1;
      const struck = await play(stage, scenario, k, 0);
      if (struck === undefined) break;
      moments.push(struck);
      // Where something was sent, nothing of ours runs until it is answered.
      const microtasks = struck.endsWith("is sent") ? 1 : MICROTASKS;
      for (let i = 1; i <= microtasks; i += STRIDE) await play(stage, scenario, k, i);
    }
    expect(moments.length, moments.join(", ")).toBeGreaterThanOrEqual(atLeast);
  });
});
