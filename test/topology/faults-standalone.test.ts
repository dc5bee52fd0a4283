import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { cut, dropNextReply, refuse } from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import type { LockVisitorSettings } from "../support/programs/lock-visitor.js";
import { until } from "../support/run/until.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";
import { isRequestKey } from "../support/servers/request-keys.js";
import { type Child, spawnProgram } from "../support/worlds/child.js";
import {
  endVisits,
  everybodyEnters,
  type Notes,
  nowUs,
  overlaps,
  rest,
  somebodyEnters,
} from "../support/worlds/visits.js";

/** How long the tests go on that repeat their fault. */
const CAMPAIGN_MS = Number(process.env["HOLDFAST_CAMPAIGN_MS"] ?? 500);
const ROUNDS = 3;
const HOUR_MS = 3_600_000;
const LEASE_MS = 1_000;
/** Of the one who is to learn of a loss by a renewal, and not because the time is up. */
const LONG_LEASE_MS = 6_000;
const CUT_MS = 3_000;
/**
 * Within so long everybody has been in each lock that nobody keeps. What one has to wait for at most is a command without
 * an answer, 3 s, and the sign of life of a fair lock's waiter, 1.5 s; ten times that much, since the machine may be busy.
 * A message that is lost and not made up for would cost an hour.
 */
const SOON_MS = 45_000;
const TEST_MS = 120_000;
const UNAVAILABLE = "ERR_HOLDFAST_UNAVAILABLE";
const NOT_HELD = "ERR_HOLDFAST_NOT_HELD";

const locks = ["plain", "fair", "read-write"] as const;
const leased = [...locks, "permit"] as const;
const guarded = [...leased, "semaphore"] as const;

let server: RedisServer;
let proxy: TcpProxy;
let plain: Redis;
let holdfast: Holdfast;
let holder: Child;
let rival: Child;
/** The one with long leases. */
let reader: Child;
/** These three, who come through the proxy. */
let fleet: readonly Child[] = [];

async function visitor(
  who: string,
  mode: "read" | "write",
  settings: Pick<LockVisitorSettings, "at" | "options" | "wallAheadMs">,
): Promise<Child> {
  const also = [
    { lock: "fair", kind: "fair" },
    { lock: "read-write", kind: mode },
    { lock: "permit", kind: "permit" },
    { lock: "semaphore", kind: "semaphore" },
    { lock: "open", kind: "nothing" },
  ] as const;
  const child = spawnProgram("lock-visitor", { who, lock: "plain", also, ...settings });
  await child.next("ready");
  return child;
}

async function givePermits(): Promise<void> {
  await holdfast.getSemaphore("semaphore").trySetPermits(1);
  await holdfast.getPermitExpirableSemaphore("permit").trySetPermits(1);
}

beforeAll(async () => {
  server = await startRedis();
  proxy = await startProxy(server.port);
  plain = server.client();
  holdfast = new Holdfast(ioredisDriver(plain));
  await givePermits();
  const at = { topology: "standalone", port: proxy.port } as const;
  const options = (watchdogMs: number) => ({ watchdogMs, safetyPeriodMs: HOUR_MS });
  [holder, rival, reader] = await Promise.all([
    visitor("the holder", "write", { at, options: options(LEASE_MS) }),
    visitor("the rival", "write", { at, options: options(LEASE_MS) }),
    visitor("the reader", "read", { at, options: options(LONG_LEASE_MS) }),
  ]);
  fleet = [holder, rival, reader];
});

afterEach(async () => {
  if (!server.running) server.resume();
  await plain.config("SET", "maxmemory", "0");
  await proxy.heal();
  await rest(fleet);
});

afterAll(async () => {
  try {
    await endVisits(fleet);
    expect(proxy.connections).toEqual([]);
  } finally {
    await Promise.all(fleet.map((child) => child.stop()));
    await holdfast.close();
    await proxy.close();
    await server.stop();
  }
});

async function visit(visitors: readonly Child[], options: object = {}): Promise<void> {
  await Promise.all(visitors.map((child) => child.ask("visit", { locks: guarded, ...options })));
}

async function hold(visitor: Child, names: readonly string[], options: object = {}): Promise<void> {
  const answers = await Promise.all(names.map((lock) => visitor.ask("hold", { lock, ...options })));
  expect(answers).toMatchObject(names.map(() => ({ event: "held" })));
}

/** How many channels are listened to, each as often as somebody does. */
async function subscriptions(): Promise<number> {
  const channels = await plain.pubsub("CHANNELS");
  const counts = await plain.pubsub("NUMSUB", ...(channels as string[]));
  return counts.reduce<number>((sum, count, at) => sum + (at % 2 === 0 ? 0 : Number(count)), 0);
}

/** Resolves once the visitor knows that it has lost all that it held. */
async function knowsOfLosses(visitor: Child, names: readonly string[]): Promise<void> {
  await until(async () => {
    const states = await Promise.all(names.map((lock) => visitor.ask("state", { lock })));
    return states.every((answer) => answer["state"] === "lost");
  });
}

/** When what it holds is over without a renewal, as `nowUs` tells time. */
async function leaseEndUs(visitor: Child, lock: string): Promise<number> {
  const { remainingMs } = await visitor.ask("state", { lock });
  return nowUs() + 1_000 * Number(remainingMs);
}

/** So long goes a fault on. */
function lasts(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function again(fault: () => Promise<unknown>): Promise<void> {
  const endMs = performance.now() + CAMPAIGN_MS;
  for (let round = 0; round < ROUNDS || performance.now() < endMs; round += 1) await fault();
}

/**
 * Ends the visits. Nobody was inside together with somebody else, nobody was told anything but that the server was not there
 * and that a lost lease was lost, and nothing is left.
 */
async function expectHarmless(visitors: readonly Child[] = fleet): Promise<Notes> {
  const notes = await rest(visitors);
  expect(overlaps(notes.visits)).toEqual([]);
  const { [UNAVAILABLE]: _, ...refused } = notes.refused;
  const { [UNAVAILABLE]: __, [NOT_HELD]: notHeld = 0, ...unreleased } = notes.unreleased;
  const { unreachable = 0, expired = 0, ...lost } = notes.lost;
  expect([refused, unreleased, lost]).toEqual([{}, {}, {}]);
  expect(notHeld).toBeLessThanOrEqual(unreachable + expired);
  await nothingIsLeft();
  return notes;
}

/** What was not answered is cleaned up behind the scenes. */
async function nothingIsLeft(): Promise<void> {
  const values = ["permit", "semaphore"];
  await until(async () => {
    const keys = (await plain.keys("*")).filter((key) => !isRequestKey(key));
    const free = await plain.mget(values);
    return keys.length === values.length && free.every((permits) => permits === "1");
  });
}

describe("three processes that visit locks of several kinds and semaphores", () => {
  test("are found out when they do so without a lock, so that the tests below can fail", async () => {
    for (const one of fleet) await hold(one, ["open"]);
    const { visits } = await rest(fleet);
    expect(overlaps(visits)).toHaveLength(2);
  });

  test("get in one by one when subscriber connections are cut, and messages with them, again and again", {
    timeout: TEST_MS,
  }, async () => {
    const others = [rival, reader];
    await hold(holder, guarded, { leaseMs: HOUR_MS });
    await visit(others, { leaseMs: HOUR_MS });
    await until(async () => (await subscriptions()) >= others.length * guarded.length);
    proxy.inject(refuse);
    await proxy.inject(cut({ on: "subscribe" })).struck;
    for (const lock of guarded) await holder.ask("leave", { lock });
    await proxy.heal();
    await everybodyEnters(others, SOON_MS);
    await visit([holder], { leaseMs: HOUR_MS });
    await again(async () => {
      await until(() => proxy.carrying("subscribe").length > 0);
      await proxy.inject(cut({ on: "subscribe" })).struck;
      await everybodyEnters(fleet, SOON_MS);
    });
    const { lost } = await expectHarmless();
    expect(lost).toEqual({});
  });

  test("get in one by one when command connections are cut between request and reply, again and again", {
    timeout: TEST_MS,
  }, async () => {
    await visit(fleet, { leaseMs: HOUR_MS });
    await again(async () => {
      for (const name of guarded) await proxy.inject(dropNextReply({ on: `\r\n${name}\r\n` })).struck;
    });
    await everybodyEnters(fleet, SOON_MS);
    const { lost } = await expectHarmless();
    expect(lost).toEqual({});
  });

  test("get in one by one when scripts are flushed and all clients killed in a loop", {
    timeout: TEST_MS,
  }, async () => {
    await visit(fleet);
    await again(async () => {
      await plain.script("FLUSH");
      for (const type of ["normal", "pubsub"])
        await plain.call("CLIENT", "KILL", "TYPE", type, "SKIPME", "yes");
      await somebodyEnters(fleet, SOON_MS);
    });
    await everybodyEnters(fleet, SOON_MS);
    await expectHarmless();
  });

  const outages = [
    [
      "every client is cut for 3 s",
      async () => {
        proxy.inject(refuse);
        await proxy.inject(cut()).struck;
        await lasts(CUT_MS);
        await proxy.heal();
      },
    ],
    [
      "the server is stopped (SIGSTOP) for longer than a lease",
      async () => {
        await server.pause();
        await lasts(2 * LEASE_MS);
        server.resume();
      },
    ],
  ] as const;
  test.each(outages)(
    "lose what they hold in time, and get in one by one afterwards, when %s",
    { timeout: TEST_MS },
    async (_, outage) => {
      await hold(holder, leased);
      await visit([rival, reader]);
      await outage();
      await everybodyEnters([rival, reader], SOON_MS);
      await knowsOfLosses(holder, leased);
      await visit([holder]);
      await everybodyEnters(fleet, SOON_MS);
      const { lost } = await expectHarmless();
      expect(lost["unreachable"]).toBeGreaterThanOrEqual(leased.length);
    },
  );

  test("exclude each other again once each holder has renewed, when the server is restarted empty: until then it knows no better", {
    timeout: TEST_MS,
  }, async () => {
    // Its lease goes on for long after its renewal.
    await hold(reader, locks);
    const others = [holder, rival];
    await visit(others, { locks });
    await server.restart();
    await everybodyEnters(others, SOON_MS);
    await knowsOfLosses(reader, locks);
    // It was told by a renewal: its time was not up.
    const { lost, visits } = await rest(fleet);
    expect(lost).toMatchObject({ stolen: locks.length });
    expect(overlaps(visits.filter(({ who }) => who !== "the reader"))).toEqual([]);
    await givePermits();
    await visit(fleet);
    await everybodyEnters(fleet, SOON_MS);
    await expectHarmless();
  });

  test("keep, renew and release what they hold when the server is full (maxmemory), get nothing new and are told why, and get in when it has room", {
    timeout: TEST_MS,
  }, async () => {
    await hold(reader, leased);
    await hold(holder, ["semaphore"]);
    await visit([rival]);
    await plain.config("SET", "maxmemory", "1");
    const fullUs = nowUs();
    const endsUs = await Promise.all(leased.map((lock) => leaseEndUs(reader, lock)));
    await until(async () => {
      const ends = await Promise.all(leased.map((lock) => leaseEndUs(reader, lock)));
      return ends.every((endUs, at) => endUs > (endsUs[at] ?? 0) + 1_000 * LEASE_MS);
    });
    for (const lock of leased) await reader.ask("leave", { lock });
    await holder.ask("leave", { lock: "semaphore" });
    for (const lock of guarded) {
      const error = { code: UNAVAILABLE, message: expect.stringContaining("OOM") };
      expect(await reader.ask("hold", { lock })).toMatchObject({ event: "failed", error });
    }
    const roomUs = nowUs();
    await plain.config("SET", "maxmemory", "0");
    await visit([holder, reader]);
    await everybodyEnters(fleet, SOON_MS);
    const { visits, unreleased } = await expectHarmless();
    expect(unreleased).toEqual({});
    const meanwhile = visits.filter(({ sinceUs }) => sinceUs > fullUs && sinceUs < roomUs);
    // Who stands in a queue already is given the lock by the release.
    expect(meanwhile.filter(({ name }) => name !== "fair")).toEqual([]);
  });

  test("get in one by one with clocks that are five hours ahead, right and five hours behind", {
    timeout: TEST_MS,
  }, async () => {
    const at = { topology: "standalone", port: server.port } as const;
    const start = (who: string, mode: "read" | "write", hours: number) =>
      visitor(who, mode, { at, wallAheadMs: hours * HOUR_MS });
    const apart = await Promise.all([
      start("early", "write", 5),
      start("right", "read", 0),
      start("late", "write", -5),
    ]);
    try {
      await visit(apart);
      for (let round = 0; round < ROUNDS; round += 1) await everybodyEnters(apart, SOON_MS);
      const { lost } = await expectHarmless(apart);
      expect(lost).toEqual({});
      await endVisits(apart);
    } finally {
      await Promise.all(apart.map((child) => child.stop()));
    }
  });
});
