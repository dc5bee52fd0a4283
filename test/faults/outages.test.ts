import { afterEach, describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { AwayDriver } from "../support/drivers/away-driver.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { answerWith, neverDeliver, rejectAtOnce, swallowReply } from "../support/faults/call-faults.js";
import {
  CROWDED,
  type Verdict,
  verdictOf,
  type WantedThing,
  wantedThings,
} from "../support/models/wanted-things.js";
import { type Watched, watched } from "../support/run/watched.js";

/** The default, which most programs have. */
const COMMAND_TIMEOUT_MS = 3_000;
/** The coarse timers of commands, and the way of an answer through the event loop. */
const TICK_MS = 100;
const LONG_MS = 120_000;
const FOR_EVER_MS = 60_000;
/** In so many milliseconds those of a crowd come that do not come at once. */
const CROWD_MS = 600;

/** Redis answers nothing of use from `fromMs` to `untilMs`, from when the first calls come. */
interface Outage {
  readonly what: string;
  readonly fault: CallFault | undefined;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly rows?: readonly Row[];
}

/** Some calls for one name, which is taken all the time. */
interface Row {
  readonly waitMs: number;
  readonly crowd: number;
  /** Whether calls stand in the line already that were told before the others came. */
  readonly begun: boolean;
  /** Whether their own client has it, or a stranger. */
  readonly own: boolean;
}

/** As a handler of requests sets it, longer than a command timeout, and longer than the safety period. */
const WAITS_MS = [0, 100, 1_000, 5_000];
const rows: readonly Row[] = WAITS_MS.flatMap((waitMs) => [
  { waitMs, crowd: 2, begun: false, own: false },
  { waitMs, crowd: 2, begun: true, own: false },
  { waitMs, crowd: 2, begun: false, own: true },
  { waitMs, crowd: 7, begun: true, own: true },
]);
/** Which costs more than all others together, and so is played with some of the outages, for one thing of each way to wait. */
const crowded: readonly Row[] = [...rows, { waitMs: 1_000, crowd: 200, begun: false, own: false }];

const refusal = (answer: string) => answerWith(new ServerReplyError(answer));
const always = { fromMs: 0, untilMs: FOR_EVER_MS };
const outages: readonly Outage[] = [
  { what: "answers", fault: undefined, fromMs: 0, untilMs: 0, rows: crowded },
  { what: "is cut off", fault: neverDeliver, ...always, rows: crowded },
  { what: "is stopped, and carries out later what it was sent", fault: swallowReply, ...always },
  { what: "is killed", fault: rejectAtOnce, ...always, rows: crowded },
  { what: "is loading", fault: refusal("LOADING Redis is loading the dataset in memory"), ...always },
  {
    what: "is a replica",
    fault: refusal("READONLY You can't write against a read only replica."),
    ...always,
  },
  {
    what: "has too few replicas",
    fault: refusal("NOREPLICAS Not enough good replicas to write."),
    ...always,
  },
  { what: "is cut off when it has told some of them", fault: neverDeliver, fromMs: 50, untilMs: FOR_EVER_MS },
  { what: "is killed when it has told some of them", fault: rejectAtOnce, fromMs: 250, untilMs: FOR_EVER_MS },
  { what: "is cut off for half a second", fault: neverDeliver, fromMs: 0, untilMs: 500 },
  { what: "is killed for half a second", fault: rejectAtOnce, fromMs: 0, untilMs: 500 },
  { what: "is killed for four seconds", fault: rejectAtOnce, fromMs: 0, untilMs: 4_000 },
];

/** One call, and when it began and ended on the monotonic clock. */
interface Call {
  readonly beganMs: number;
  endedMs: number;
  readonly seen: Watched<unknown>;
}

const opened: { clock: FakeClock; clients: Holdfast[]; driver: AwayDriver }[] = [];
afterEach(async () => {
  for (const { clock, clients, driver } of opened.splice(0)) {
    driver.fault = undefined;
    const closed = Promise.all(clients.map((client) => client.close({ releaseHeld: true })));
    await clock.advance(LONG_MS);
    await closed;
    expect(clock.pendingTimers).toBe(0);
  }
});

function open() {
  const clock = new FakeClock();
  const server = new MemoryServer({ clock });
  const driver = new AwayDriver(memoryDriver(server), clock);
  const holdfast = new Holdfast(driver, { clock, commandTimeoutMs: COMMAND_TIMEOUT_MS });
  const stranger = new Holdfast(memoryDriver(server), { clock });
  opened.push({ clock, clients: [holdfast, stranger], driver });
  return { clock, driver, holdfast, stranger };
}

/** Part of all keys of a row, and of none of another one. */
function nameOf(row: Row): string {
  return `wanted-${crowded.indexOf(row)}-`;
}

function begin(clock: FakeClock, promise: Promise<unknown>): Call {
  const call: Call = { beganMs: clock.monotonicMs(), endedMs: Number.NaN, seen: watched(promise) };
  const ended = () => {
    call.endedMs = clock.monotonicMs();
  };
  promise.then(ended, ended);
  return call;
}

/** Plays all rows at the same time. @returns the calls of each, and what the server has answered */
async function play(thing: WantedThing, { fault, fromMs, untilMs, rows: wanted = rows }: Outage) {
  const played = CROWDED.has(thing.name) ? wanted : rows;
  const { clock, driver, holdfast, stranger } = open();
  await holdfast.ping();
  const leaving = new AbortController();
  const { signal } = leaving;
  for (const row of played) await thing.take(row.own ? holdfast : stranger, nameOf(row));
  for (const row of played.filter(({ begun }) => begun)) {
    for (const { call } of thing.ways) {
      watched(call(holdfast, nameOf(row), { waitMs: Number.POSITIVE_INFINITY, signal }));
    }
  }
  await clock.advance(50);
  const beganMs = clock.monotonicMs();
  const meet = (met: CallFault | undefined) => {
    driver.fault = met;
  };
  if (fromMs === 0) meet(fault);
  else clock.schedule(fromMs, () => meet(fault));
  clock.schedule(untilMs, () => meet(undefined));
  const calls = new Map<Row, Call[]>(played.map((row) => [row, []]));
  for (let passedMs = 0; passedMs < CROWD_MS; passedMs += 60) {
    for (const [row, its] of calls) {
      // Half of them come at once.
      while (its.length < row.crowd && its.length < row.crowd / 2 + (row.crowd * passedMs) / CROWD_MS) {
        const way = thing.ways[its.length % thing.ways.length];
        if (way !== undefined)
          its.push(begin(clock, way.call(holdfast, nameOf(row), { waitMs: row.waitMs })));
      }
    }
    await clock.advance(60);
  }
  await clock.advance(Math.max(...WAITS_MS) + 2 * COMMAND_TIMEOUT_MS + TICK_MS);
  driver.fault = undefined;
  leaving.abort(new Error("enough"));
  return { calls, answers: driver.answers, away: { fromMs: beganMs + fromMs, untilMs: beganMs + untilMs } };
}

type Played = Awaited<ReturnType<typeof play>>;

/** @returns what is wrong with the end of a call; undefined: nothing */
function wrongOf(call: Call, row: Row, thing: WantedThing, { answers, away }: Played): string | undefined {
  const { beganMs, endedMs, seen } = call;
  const verdict: Verdict = verdictOf(seen.outcome);
  const tookMs = endedMs - beganMs;
  // As docs/reference/options.md says.
  if (!(tookMs <= row.waitMs + COMMAND_TIMEOUT_MS + TICK_MS)) return `${verdict} after ${tookMs} ms`;
  if (verdict === "away") {
    const isOfOutage = away.untilMs > beganMs && away.fromMs <= endedMs;
    return isOfOutage ? undefined : "Redis was said to be away, which it was not";
  }
  if (verdict !== "refused") return verdict;
  if (tookMs < row.waitMs) return `refused after ${tookMs} ms`;
  const isTold = answers.some(
    ({ keys, askedMs, cameMs }) =>
      askedMs >= beganMs && cameMs <= endedMs && keys.some((key) => key.includes(nameOf(row))),
  );
  return isTold || (row.own && thing.isHeld) ? undefined : "refused, but nothing has told the call";
}

describe.each(outages)("while Redis $what", (outage) => {
  test.each(wantedThings)(
    "each call for a $name says that others have it if it was told so, and else that Redis is away [own-81]",
    async (thing) => {
      const played = await play(thing, outage);
      const wrong = [...played.calls].flatMap(([row, calls]) =>
        calls.flatMap((call) => {
          const complaint = wrongOf(call, row, thing, played);
          return complaint === undefined ? [] : [{ ...row, complaint }];
        }),
      );
      expect(wrong).toEqual([]);
    },
  );
});

describe("a connection that breaks for a moment while a call asks beyond its end", () => {
  test("ends no other call that waits behind it [own-81]", async () => {
    const { clock, driver, holdfast, stranger } = open();
    const lock = holdfast.getLock("order:7");
    const lease = await stranger.getLock("order:7").lock({ leaseMs: LONG_MS });
    const leaving = new AbortController();
    const first = watched(lock.lock({ signal: leaving.signal }));
    await clock.advance(50);
    const brief = watched(lock.tryLock({ waitMs: 100 }));
    const patient = watched(lock.lock());
    await clock.advance(50);
    // The brief one is the first now. Nothing that was asked since it came has told it that the lock is taken.
    leaving.abort(new Error("left"));
    driver.fault = rejectAtOnce;
    await clock.advance(100);
    driver.fault = undefined;
    await clock.advance(COMMAND_TIMEOUT_MS);
    expect(first.outcome).toMatchObject({ error: { message: "left" } });
    expect(verdictOf(brief.outcome)).toBe("refused");
    expect(patient.outcome).toBeUndefined();
    await lease.unlock();
    await clock.advance(TICK_MS);
    expect(verdictOf(patient.outcome)).toBe("taken");
  });
});
