import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import type { LockVisitorSettings, Room } from "../support/programs/lock-visitor.js";
import { type SeededRandom, seededRandom } from "../support/run/seeded-random.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { type Child, spawnProgram } from "../support/worlds/child.js";
import {
  endVisits,
  everybodyEnters,
  type Notes,
  overlaps,
  rest,
  type Visit,
} from "../support/worlds/visits.js";

/** Folders that have the package of the last release and of the working tree; scripts/test-neighbours.mjs makes them. */
const folders = JSON.parse(process.env["HOLDFAST_NEIGHBOURS"] ?? "{}") as Readonly<Record<string, string>>;
/** For how long they fight, in both tests together. */
const FIGHT_MS = Number(process.env["HOLDFAST_NEIGHBOURS_MS"] ?? 10_000);
const LEASE_MS = 1_500;
const HOUR_MS = 3_600_000;
/** Within so long everybody comes into each lock: a stop, a lease that ends, a call without an answer, ten times over. */
const SOON_MS = 60_000;
/** How often each wakes the other from a wait of each kind. */
const ROUNDS = Math.ceil(FIGHT_MS / 1_000);
const versions = ["before", "now"] as const;
type Version = (typeof versions)[number];
const OF_EACH = 3;
const rooms = (at: number): readonly [Room, ...Room[]] => [
  { lock: "plain", kind: "lock" },
  { lock: "fair", kind: "fair" },
  { lock: "read-write", kind: at === 0 ? "write" : "read" },
  { lock: "permit", kind: "permit" },
  { lock: "open", kind: "nothing" },
];

const redis = locksOnRedis();
const fleet: Visitor[] = [];
const idle: Child[] = [];
afterEach(async () => {
  const all = [...children(), ...idle.splice(0)];
  fleet.length = 0;
  await Promise.all(all.map((child) => child.stop()));
  await redis.plain.flushall();
});

function programsOf(version: Version): URL {
  if (folders[version] === undefined) throw new Error("no package was provided: run npm run test:neighbours");
  return new URL("support/programs/", pathToFileURL(`${folders[version]}/`));
}

interface Visitor {
  readonly version: Version;
  /** The first of each version writes, the others read. */
  readonly at: number;
  readonly child: Child;
}

/** Starts one that does nothing yet. */
async function start(version: Version, room: Room): Promise<Child> {
  const at = { topology: "standalone", port: redis.server.port } as const;
  const settings = { at, who: version, ...room, options: { safetyPeriodMs: HOUR_MS } };
  const child = spawnProgram("lock-visitor", settings, programsOf(version));
  idle.push(child);
  await child.next("ready");
  return child;
}

let started = 0;
async function join(version: Version, at: number, safetyPeriodMs: number): Promise<Visitor> {
  const [first, ...also] = rooms(at);
  started += 1;
  const settings: LockVisitorSettings = {
    at: { topology: "standalone", port: redis.server.port },
    who: `${version} ${started}`,
    ...first,
    also,
    options: { watchdogMs: LEASE_MS, safetyPeriodMs },
  };
  const child = spawnProgram("lock-visitor", settings, programsOf(version));
  const visitor = { version, at, child };
  fleet.push(visitor);
  await child.next("ready");
  await child.ask("visit");
  return visitor;
}

async function gather(safetyPeriodMs: number): Promise<void> {
  await redis.holdfast().getPermitExpirableSemaphore("permit").trySetPermits(1);
  const places = versions.flatMap((version) =>
    Array.from({ length: OF_EACH }, (_, at) => [version, at] as const),
  );
  await Promise.all(places.map(([version, at]) => join(version, at, safetyPeriodMs)));
}

const children = () => fleet.map(({ child }) => child);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Holds up one of them: every third time for longer than a lease. */
async function stopOne(random: SeededRandom): Promise<void> {
  const { child } = one(random);
  await child.freeze();
  await pause(random.below(3) === 0 ? LEASE_MS + random.below(LEASE_MS / 2) : random.below(LEASE_MS / 3));
  child.thaw();
}

/** Another of the same version comes in its place. What it has noted before its last visits is kept. */
async function killOne(random: SeededRandom, safetyPeriodMs: number): Promise<Notes> {
  const victim = one(random);
  const notes = await rest([victim.child]);
  await victim.child.ask("visit");
  await pause(random.below(LEASE_MS / 3));
  await victim.child.stop();
  fleet.splice(fleet.indexOf(victim), 1);
  await join(victim.version, victim.at, safetyPeriodMs);
  return notes;
}

function one(random: SeededRandom): Visitor {
  const visitor = fleet[random.below(fleet.length)];
  if (visitor === undefined) throw new Error("there is nobody");
  return visitor;
}

/** How often the lock went from one version to the other. */
function crossings(visits: readonly Visit[]): number {
  const versionsInTurn = visits.map(({ who }) => who.split(" ")[0]);
  return versionsInTurn.filter((version, at) => at > 0 && version !== versionsInTurn[at - 1]).length;
}

/** Nobody was inside beside another but where nothing keeps them apart: that they would be seen. */
function expectApart(visits: readonly Visit[]): void {
  const isOpen = ({ name }: Visit) => name === "open";
  expect(overlaps(visits.filter((visit) => !isOpen(visit)))).toEqual([]);
  expect(overlaps(visits.filter(isOpen)).length).toBeGreaterThan(100);
}

/** A call of one that was stopped may be told that what it was given was over before it heard of it; nothing else fails. */
function expectServed({ refused }: Notes): void {
  expect(Object.keys(refused).filter((code) => code !== "ERR_HOLDFAST_UNAVAILABLE")).toEqual([]);
}

function tell(what: string, notes: Notes, faults: string): void {
  const named = new Map<string, Visit[]>();
  for (const visit of [...notes.visits].sort((a, b) => a.sinceUs - b.sinceUs)) {
    named.set(visit.name, [...(named.get(visit.name) ?? []), visit]);
  }
  const counts = [...named].map(([name, visits]) => {
    const [before, now] = versions.map(
      (version) => visits.filter(({ who }) => who.startsWith(version)).length,
    );
    return `${name}: ${before} and ${now} visits, ${crossings(visits)} crossings, nobody inside for ${longestGapMs(visits)} ms`;
  });
  console.info(
    [
      `${what}; ${faults}; lost ${JSON.stringify(notes.lost)}, refused ${JSON.stringify(notes.refused)}`,
      ...counts,
    ].join("\n  "),
  );
}

/** For how long nobody was inside, at most. */
function longestGapMs(visits: readonly Visit[]): number {
  let [lastUs, longestUs] = [visits[0]?.untilUs ?? 0, 0];
  for (const { sinceUs, untilUs } of visits) {
    longestUs = Math.max(longestUs, sinceUs - lastUs);
    lastUs = Math.max(lastUs, untilUs);
  }
  return Math.round(longestUs / 1000);
}

/** Kinds whose waiters sleep until a message comes. */
const waking: readonly Room["kind"][] = [
  "lock",
  "non-reentrant",
  "fair",
  "non-reentrant fair",
  "fenced",
  "read",
  "write",
  "fair write",
  "multi",
  "permit",
  "semaphore",
];
const roomOf = (kind: Room["kind"], at: number): Room => {
  // Whoever reads waits for who writes.
  if (kind !== "read") return { lock: `wake:${kind}`, ...(kind && { kind }) };
  return { lock: "wake:read", kind: at === 0 ? "write" : "read" };
};

describe("processes of the last release and of this version", () => {
  const timeout = 2 * SOON_MS + FIGHT_MS;

  test.each(waking)("wake each other from a wait for: %s", { timeout }, async (kind = "lock") => {
    const name = roomOf(kind, 0).lock;
    if (kind === "semaphore") await redis.holdfast().getSemaphore(name).trySetPermits(1);
    if (kind === "permit") await redis.holdfast().getPermitExpirableSemaphore(name).trySetPermits(1);
    const isListenedTo = async () =>
      (await redis.plain.pubsub("CHANNELS")).some((channel) => `${channel}`.includes(name));
    for (const [holding, waiting] of [versions, [...versions].reverse()] as const) {
      const holder = await start(holding as Version, roomOf(kind, 0));
      const waiter = await start(waiting as Version, roomOf(kind, 1));
      for (let round = 0; round < ROUNDS; round += 1) {
        expect(await holder.ask("hold", { leaseMs: HOUR_MS })).toMatchObject({ event: "held" });
        const entering = waiter.ask("hold", { leaseMs: HOUR_MS });
        await until(isListenedTo);
        await holder.ask("leave");
        // Nothing but the message lets it in before an hour is over.
        expect(await entering).toMatchObject({ event: "held" });
        await waiter.ask("leave");
      }
      await endVisits([holder, waiter]);
      await until(async () => !(await isListenedTo()));
    }
  });

  test("exclude each other, and wake each other without fail, while some are stopped", {
    timeout,
  }, async () => {
    // A message that got lost would keep its waiter for an hour.
    await gather(HOUR_MS);
    const random = seededRandom();
    const endMs = performance.now() + FIGHT_MS / 2;
    let stops = 0;
    for (; performance.now() < endMs; stops += 1) await stopOne(random);
    await everybodyEnters(children(), SOON_MS);
    const notes = await endVisits(children());
    tell("Stopped", notes, `${stops} stops`);
    expectApart(notes.visits);
    expectServed(notes);
  });

  test("exclude each other, and get in within the safety period, while some are stopped and killed", {
    timeout,
  }, async () => {
    const safetyPeriodMs = 2_000;
    await gather(safetyPeriodMs);
    const random = seededRandom();
    const endMs = performance.now() + FIGHT_MS / 2;
    const visits: Visit[] = [];
    let [stops, kills] = [0, 0];
    while (performance.now() < endMs) {
      await stopOne(random);
      stops += 1;
      visits.push(...(await killOne(random, safetyPeriodMs)).visits);
      kills += 1;
    }
    await everybodyEnters(children(), SOON_MS);
    const last = await endVisits(children());
    const notes = { ...last, visits: [...visits, ...last.visits] };
    tell("Stopped and killed", notes, `${stops} stops, ${kills} kills`);
    expectApart(notes.visits);
    expectServed(notes);
  });
});
