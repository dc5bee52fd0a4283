import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { momentsDriver } from "../support/drivers/moments-driver.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type Watched, watched } from "../support/run/watched.js";
import { isRequestKey } from "../support/servers/request-keys.js";
import { CHANNEL, EXPIRIES, type Permits } from "../support/worlds/permit-time.js";

watchLeaks();

const NEVER_MS = 3_600_000;
/** More than there are awaits between the driver and the caller. */
const MICROTASKS = 12;
const TOTAL = 2;

/** Something that ends a call at a moment that the schedule chooses. */
type End = "cancelled" | "closed";

interface World {
  readonly clock: FakeClock;
  readonly server: MemoryServer;
  readonly client: Holdfast;
  readonly signal: AbortSignal;
}

/** Starts the call that is to be ended, and lets it have its permits. */
type Scenario = (world: World) => Promise<Watched<Permits | null>>;

const free: Scenario = async ({ client, clock, signal }) => {
  const victim = watched(client.getPermitExpirableSemaphore("a").acquire(TOTAL, { signal }));
  await clock.advance(0);
  return victim;
};

/** Somebody else has the permits, and releases them when the victim listens. */
const taken: Scenario = async ({ client, clock, server, signal }) => {
  server.command("SET", "a", 0);
  const victim = watched(client.getPermitExpirableSemaphore("a").acquire(TOTAL, { signal }));
  await clock.advance(0);
  server.command("SET", "a", TOTAL);
  server.command("PUBLISH", CHANNEL, TOTAL);
  await clock.advance(0);
  return victim;
};

/**
 * Plays a scenario, and ends the call a number of microtasks after the k-th moment.
 * @returns the moment; undefined when there was none
 */
async function play(
  scenario: Scenario,
  end: End,
  k: number,
  microtasks: number,
): Promise<string | undefined> {
  const clock = new FakeClock();
  const server = new MemoryServer({ clock });
  server.command("SET", "a", TOTAL);
  const leaving = new AbortController();
  let [moments, struck, closing] = [
    0,
    undefined as string | undefined,
    undefined as Promise<void> | undefined,
  ];
  const strike = async (moment: string) => {
    moments += 1;
    if (moments !== k) return;
    struck = moment;
    for (let i = 0; i < microtasks; i++) await undefined;
    if (end === "cancelled") leaving.abort(new Error("cancelled"));
    else closing = client.close();
  };
  const driver = momentsDriver(memoryDriver(server), (moment) => void strike(moment));
  const client: Holdfast = new Holdfast(driver, { clock, safetyPeriodMs: NEVER_MS });
  const { outcome } = await scenario({ clock, server, client, signal: leaving.signal });
  const given = outcome !== undefined && "value" in outcome ? outcome.value : null;
  if (end === "cancelled") await given?.release();
  await (closing ?? client.close());
  // What its caller was given before the client was closed is his.
  const acquired = end === "closed" && given !== null ? TOTAL : 0;
  expect(
    {
      ended: outcome !== undefined,
      available: server.command("GET", "a"),
      acquired: server.command("ZCARD", EXPIRIES),
      others: Object.keys(server.dump()).filter(
        (key) => !isRequestKey(key) && key !== "a" && key !== EXPIRIES,
      ),
      listened: getEventListeners(leaving.signal, "abort").length,
      timers: clock.pendingTimers,
    },
    `${end} ${microtasks} microtasks after moment ${k}: ${struck}`,
  ).toEqual({
    ended: true,
    available: String(TOTAL - acquired),
    acquired,
    others: [],
    listened: 0,
    timers: 0,
  });
  return struck;
}

describe("a call for permanent permits leaves none of them behind for nobody", () => {
  test.each<[string, Scenario, End, number]>([
    ["that are free, and is cancelled at any moment of its life [B37]", free, "cancelled", 4],
    ["that are taken, and is cancelled at any moment of its life [B37]", taken, "cancelled", 10],
    ["that are free, and whose client is closed at any moment of its life", free, "closed", 4],
    ["that are taken, and whose client is closed at any moment of its life", taken, "closed", 10],
  ])("%s", { timeout: 60_000 }, async (_, scenario, end, atLeast) => {
    const moments: string[] = [];
    for (;;) {
      const k = moments.length + 1;
      const struck = await play(scenario, end, k, 0);
      if (struck === undefined) break;
      moments.push(struck);
      // Where something was sent, nothing of ours runs until it is answered.
      const microtasks = struck.endsWith("is sent") ? 1 : MICROTASKS;
      for (let i = 1; i <= microtasks; i++) await play(scenario, end, k, i);
    }
    expect(moments.length, moments.join(", ")).toBeGreaterThanOrEqual(atLeast);
  });
});
