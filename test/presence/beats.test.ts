import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { environment, replaceEnvironment } from "../../src/environment.js";
import { events, type PresenceFailedEvent } from "../../src/events.js";
import { Holdfast } from "../../src/index.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { type CallFault, ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { loseReply, neverDeliver, rejectAtOnce, swallowReply } from "../support/faults/call-faults.js";

const CLIENTS = "holdfast_clients:{default}";
const TELL = "presence-tell";
const HOUR_MS = 3_600_000;
/** The wheel that beats are on is as coarse as that. */
const TICK_MS = 100;
/** As late as beats come. */
const LATEST = 0.999;
/** What the answer to a client with beats of a second may take, or nearly. */
const SLOW_MS = 450;

let clock: FakeClock;
let server: MemoryServer;
let driver: ScriptedDriver;
let clients: Holdfast[];
let failures: PresenceFailedEvent[];
let putBack: () => void;
const onFailure = (event: PresenceFailedEvent) => void failures.push(event);

beforeEach(() => {
  clock = new FakeClock();
  server = new MemoryServer({ clock });
  driver = new ScriptedDriver(memoryDriver(server));
  clients = [];
  failures = [];
  putBack = replaceEnvironment({ ...environment, random: () => LATEST });
  events.presenceFailed.subscribe(onFailure);
});
afterEach(async () => {
  events.presenceFailed.unsubscribe(onFailure);
  await Promise.all(clients.map((each) => each.close()));
  putBack();
  expect(clock.pendingTimers).toBe(0);
});

function client(everyMs: number, by = driver): Holdfast {
  const made = new Holdfast(by, { clock, presence: { everyMs } });
  clients.push(made);
  return made;
}

const keyOf = ({ clientId }: Holdfast) => `holdfast_client:{default}:${clientId}`;
const stored = (of: Holdfast, field: string) => server.command("HGET", keyOf(of), field);
const beatOf = (of: Holdfast) => Number(stored(of, "beat"));
const tellings = () => driver.names.filter((name) => name === TELL).length;

/** As `fleet()` reads it. */
function isThere(of: Holdfast): boolean {
  return Number(stored(of, "at")) + 3 * Number(stored(of, "every")) > clock.wallMs();
}

/** Others are there from now on, for as long as the test takes; or no longer. */
function others(count: number): void {
  server.command("DEL", CLIENTS);
  for (let nth = 0; nth < count; nth += 1)
    server.command("ZADD", CLIENTS, clock.wallMs() * 2, `there ${nth}`);
}

async function untilTold(of: Holdfast, beats: number): Promise<void> {
  while (beatOf(of) < beats) await clock.advance(TICK_MS);
}

/** Lets time pass. @returns at how many ticks the client was gone */
async function ticksGone(of: Holdfast, ms: number): Promise<number> {
  let gone = 0;
  for (let passedMs = 0; passedMs < ms; passedMs += TICK_MS) {
    await clock.advance(TICK_MS);
    if (!isThere(of)) gone += 1;
  }
  return gone;
}

/** From the first call on, and for so long, none arrives. */
function outage(lostMs: number, fault: CallFault, after?: CallFault): CallFault {
  let endMs = Number.POSITIVE_INFINITY;
  const away: CallFault = {
    name: `away, and calls are ${fault.name}`,
    meet(deliver, of) {
      endMs = Math.min(endMs, clock.monotonicMs() + lostMs);
      if (clock.monotonicMs() >= endMs) return after?.meet(deliver, of) ?? deliver();
      of.reset();
      void of.next(away, TELL);
      return fault.meet(deliver, of);
    },
  };
  return away;
}

const FLEETS: readonly (readonly [everyMs: number, others: number, toldMs: number])[] = [
  [1_000, 0, 1_000],
  [1_000, 299, 3_000],
  [5_000, 0, 5_000],
  [5_000, 299, 5_000],
  [5_000, 1_999, 20_000],
];

describe.each(FLEETS)("a client that tells every %d ms, beside %d others", (everyMs, count, toldMs) => {
  const faults: readonly CallFault[] = [neverDeliver, swallowReply, loseReply, rejectAtOnce];

  test.each(faults)("is never gone while any one beat is lost: $name [P1-1]", async (fault) => {
    others(count);
    const one = client(everyMs);
    await untilTold(one, 1);
    for (let beat = 2; beat <= 5; beat += 1) {
      const lost = driver.next(fault, TELL);
      expect(await ticksGone(one, 4 * Math.max(toldMs, 3_000))).toBe(0);
      expect((await lost).fault).toBe(fault.name);
    }
    expect(stored(one, "every")).toBe(String(toldMs));
  });

  test.each([neverDeliver, rejectAtOnce])(
    "is never gone where there is no connection for a beat: $name",
    async (fault) => {
      others(count);
      const one = client(everyMs);
      await untilTold(one, 3);
      const before = tellings();
      // The next beat is as late as it can be, and the server is away from just then on.
      const lost = driver.next(outage(toldMs, fault), TELL);
      expect(await ticksGone(one, 8 * toldMs)).toBe(0);
      await lost;
      expect(tellings() - before).toBeLessThanOrEqual(8 + 1);
    },
  );
});

describe("a client that tells for hours", () => {
  test("is in its group all the time: each beat keeps both keys for as long as they are to outlive it", async () => {
    const one = client(60_000);
    for (let beat = 1; beat <= 31; beat += 10) {
      await untilTold(one, beat);
      for (const key of [CLIENTS, keyOf(one)]) {
        const keptMs = Number(server.command("PTTL", key));
        expect(keptMs, `${key} at beat ${beat}`).toBeGreaterThan(HOUR_MS);
      }
      expect(server.command("ZSCORE", CLIENTS, one.clientId)).not.toBeNull();
    }
  });
});

describe("a client of a slow server", () => {
  test("is never gone where a slow answer comes before an outage of a beat, and slow calls after it", async () => {
    let isBefore = true;
    const wait = () => new Promise<void>((resolve) => void clock.schedule(SLOW_MS, resolve));
    const slow: CallFault = {
      name: "slow",
      async meet(deliver) {
        if (!isBefore) await wait();
        const answer = await deliver();
        if (isBefore) await wait();
        return answer;
      },
    };
    const one = client(1_000);
    await untilTold(one, 2);
    void driver.next(slow, TELL);
    await untilTold(one, 3);
    isBefore = false;
    void driver.next(outage(1_000, rejectAtOnce, slow), TELL);
    expect(await ticksGone(one, 10_000)).toBe(0);
  });
});

describe("a client whose group grows or shrinks", () => {
  const changes = [
    { was: 0, is: 999, everyMs: 1_000 },
    { was: 0, is: 299, everyMs: 1_000 },
    { was: 999, is: 0, everyMs: 1_000 },
  ];
  const cases = changes.flatMap((change) =>
    [neverDeliver, swallowReply].flatMap((fault) => [0, 1].map((after) => ({ ...change, fault, after }))),
  );
  test.each(cases)(
    "is never gone: from $was to $is others, beat $after after that is lost ($fault.name) [P1-1]",
    async (each) => {
      others(each.was);
      const one = client(each.everyMs);
      await untilTold(one, 3);
      others(each.is);
      server.command("ZADD", CLIENTS, clock.wallMs() + 1, one.clientId);
      if (each.after > 0) await untilTold(one, 3 + each.after);
      void driver.next(each.fault, TELL);
      expect(await ticksGone(one, 60_000)).toBe(0);
      expect(stored(one, "every")).toBe(String(Math.max(each.everyMs, (each.is + 1) * 10)));
    },
  );
});

describe("the first beat", () => {
  const firsts = [
    { everyMs: 1_000, random: 0, firstMs: 1_000 },
    { everyMs: 1_000, random: 1, firstMs: 4_000 },
    { everyMs: 5_000, random: 0, firstMs: 5_000 },
    { everyMs: 5_000, random: 1, firstMs: 10_000 },
  ];
  test.each(firsts)(
    "of a client that tells every $everyMs ms comes after $firstMs ms where $random is drawn",
    async (each) => {
      putBack();
      putBack = replaceEnvironment({ ...environment, random: () => each.random });
      const one = client(each.everyMs);
      await clock.advance(each.firstMs - 1);
      expect(tellings()).toBe(0);
      await clock.advance(1);
      expect(beatOf(one)).toBe(1);
      expect(isThere(one)).toBe(true);
    },
  );

  test("of each of 300 clients that tell every second comes within four, and they write a hundred times a second on average [P1-3]", async () => {
    putBack();
    putBack = replaceEnvironment(environment);
    for (let nth = 0; nth < 300; nth += 1) client(1_000);
    const bySecond: number[] = [];
    for (let second = 0; second < 25; second += 1) {
      const before = tellings();
      await clock.advance(1_000);
      bySecond.push(tellings() - before);
    }
    const inTenSeconds = bySecond
      .slice(9)
      .map((_, at) => bySecond.slice(at, at + 10).reduce((sum, count) => sum + count, 0));
    expect(bySecond.slice(0, 5).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(300);
    expect(Math.max(...inTenSeconds)).toBeLessThanOrEqual(10 * 100);
    expect(Math.max(...bySecond)).toBeLessThan(150);
    expect((await (clients[0] as Holdfast).fleet()).clients.every(({ state }) => state === "there")).toBe(
      true,
    );
  });
});

describe("a beat that fails again and again", () => {
  test("is tried early while the client is believed to be there, and once in each beat after that", async () => {
    const one = client(5_000);
    await untilTold(one, 2);
    await clock.advance(1);
    const told = tellings();
    const atMs = Number(stored(one, "at"));
    void driver.next(outage(60_000, rejectAtOnce), TELL);
    const missed: number[] = [];
    while (clock.wallMs() < atMs + 45_000) {
      const before = tellings();
      await clock.advance(TICK_MS);
      if (tellings() > before) missed.push(Math.round((clock.wallMs() - atMs) / TICK_MS) * TICK_MS);
    }
    expect(tellings() - told).toBe(missed.length);
    expect(missed).toEqual([6_000, 8_500, 11_000, 13_500, 16_000, 21_000, 26_000, 31_000, 36_000, 41_000]);
    await clock.advance(40_000);
    expect(isThere(one)).toBe(true);
  });

  test("does not wait for a question to a new server that was lost", async () => {
    let place = "a:1";
    const moving = Object.assign(new ScriptedDriver(memoryDriver(server)), { placeOf: () => place });
    const one = client(1_000, moving);
    await untilTold(one, 3);
    place = "b:1";
    const lost = moving.next(neverDeliver, "server-probe");
    expect(await ticksGone(one, 10_000)).toBe(0);
    expect((await lost).call.script.name).toBe("server-probe");
    expect(moving.names.filter((name) => name === "server-probe").length).toBe(3);
  });
});

describe("a number that another program has stored as the beat", () => {
  test.each(["1000", "9.5", "4294967000"])(
    "is jumped over, and the client is never gone: %s [P1-2]",
    async (number) => {
      const one = client(1_000);
      await untilTold(one, 2);
      server.command("HSET", keyOf(one), "beat", number);
      expect(await ticksGone(one, 10_000)).toBe(0);
      expect(beatOf(one)).toBeGreaterThan(Number(number) + 5);
      expect(failures).toEqual([]);
    },
  );

  const strange = ["9e15", "9007199254740991", "1e300", "inf", "nan", "-7", "many", ""];
  test.each(strange)("is replaced, and the client is never gone: %j", async (number) => {
    const one = client(1_000);
    await untilTold(one, 2);
    server.command("HSET", keyOf(one), "beat", number);
    expect(await ticksGone(one, 10_000)).toBe(0);
    expect(beatOf(one)).toBeLessThan(20);
    expect(failures).toEqual([]);
  });

  test("is told when it happens again, and the client still is never gone", async () => {
    const one = client(1_000);
    await untilTold(one, 2);
    for (let time = 1; time <= 3; time += 1) {
      server.command("HSET", keyOf(one), "beat", beatOf(one) + 1_000);
      expect(await ticksGone(one, 5_000)).toBe(0);
      expect(failures.length).toBe(time - 1);
    }
    expect(failures[1]).toMatchObject({ clientId: one.clientId, group: "default", final: false });
    expect(String(failures[1]?.error)).toContain(one.clientId);
  });

  test("is told by two clients with one id, again and again", async () => {
    putBack();
    // Lehmer's generator: the same numbers each time.
    let state = 44;
    const random = () => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    const uuid = () => "00000000-0000-4000-8000-000000000000";
    putBack = replaceEnvironment({ ...environment, random, uuid });
    const [one, other] = [client(1_000), client(1_000)];
    expect(one.clientId).toBe(other.clientId);
    await clock.advance(HOUR_MS / 3);
    expect(failures.length).toBeGreaterThan(3);
    expect(isThere(one)).toBe(true);
  });
});
