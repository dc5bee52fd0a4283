import { afterAll, beforeAll, expect, test } from "vitest";
import { pairs } from "../support/clients/pairs.js";
import { startSentinels, type WatchedRedis } from "../support/servers/sentinels.js";
import { type DoubleHold, type Findings, findDoubles, Taker } from "../support/worlds/second-holders.js";

/** Each takes a quarter of a minute. `npm run test:long` plays some more. */
const ROUNDS = Number(process.env["HOLDFAST_HOLDER_ROUNDS"] ?? 1);
/** As by default: a master of which they were not told that it is one no longer, stays one for four times as long. */
const PUBLISH_PERIOD_MS = 2_000;
/** So long before the fault everybody takes locks. */
const BEFORE_MS = 1_000;
/** Longer than it takes Sentinels to make a replica of the old master. */
const AFTER_MS = 11_000;
const ROUND_MS = 60_000;
/**
 * Ten times what it takes until a client has heard of another master and what it held at the old one is confirmed or lost, on a
 * machine that is busy.
 */
const LATENCY_MS = 1_000;

let servers: WatchedRedis;
const takers: Taker[] = [];

beforeAll(async () => {
  servers = await startSentinels();
  const { sentinels, name } = servers;
  for (const pair of pairs) {
    if (pair.topology !== "sentinel") continue;
    for (const mode of ["auto", "require", "off"] as const) {
      takers.push(new Taker(`${pair.client}, ${mode}`, await pair.connect({ sentinels, name }), mode));
    }
  }
}, ROUND_MS);

afterAll(async () => {
  await Promise.all(takers.map((taker) => taker.end()));
  await servers.stop();
}, ROUND_MS);

const faults: readonly (readonly [string, () => Promise<void>])[] = [
  ["a planned failover", async () => void (await servers.failover())],
  [
    "a failover from a master that stood still and goes on",
    async () => {
      const old = await servers.master();
      await old.pause();
      await servers.successor(old);
      old.resume();
    },
  ],
];

const rounds = faults.flatMap(([what, fault]) =>
  Array.from({ length: ROUNDS }, (_, at) => [what, at + 1, fault] as const),
);

test.each(rounds)(
  "%s, round %i: with replicas required no lock has two holders, else none for longer than the message takes [own-6]",
  { timeout: ROUND_MS },
  async (what, round, fault) => {
    await servers.settled();
    await servers.announceEvery(PUBLISH_PERIOD_MS);
    for (const taker of takers) taker.begin();
    await new Promise((resolve) => setTimeout(resolve, BEFORE_MS));
    await fault();
    const announcedMs = performance.now();
    const found = await findDoubles(takers, await servers.master(), announcedMs, announcedMs + AFTER_MS);
    report(`${what}, round ${round}`, found);
    const ofMode = (mode: string) => found.doubles.filter(({ who }) => who.endsWith(mode));
    expect(ofMode("require")).toEqual([]);
    expect(ofMode("auto").filter(isLate)).toEqual([]);
    // All go on.
    for (const { who, takenAfter } of found.tallies) expect([who, takenAfter > 0]).toEqual([who, true]);
  },
);

/** Whether it was taken, or believed, after everybody ought to have heard of the new master. */
function isLate({ takenMs, sinceMs, forMs }: DoubleHold): boolean {
  return takenMs > LATENCY_MS || sinceMs + forMs > LATENCY_MS;
}

/** Where a campaign is to be looked at. */
function report(round: string, { doubles, tallies }: Findings): void {
  if (process.env["HOLDFAST_HOLDER_ROUNDS"] === undefined) return;
  console.info(JSON.stringify({ round, doubles, tallies }));
}
