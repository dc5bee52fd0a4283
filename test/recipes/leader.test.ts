import { afterEach, describe, expect, test } from "vitest";
import { UnavailableError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import { currentLeader, type LeaderOptions, leader, type Term } from "../../src/recipes/index.js";
import { neverDeliver } from "../support/faults/call-faults.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

const NAME = "scheduler";
const TOKEN_KEY = `redisson_lock_token:{${NAME}}`;
const TTL_MS = 10_000;
const PAUSE_MS = 1_000;

const openTime = fakeTime();
const opened: FakeTime[] = [];
function open(): FakeTime {
  const world = openTime();
  opened.push(world);
  return world;
}
// The counter of tokens has no end.
afterEach(() => {
  for (const { server } of opened.splice(0)) server.command("DEL", TOKEN_KEY);
});

/** What one process has seen as a leader. */
interface Stand {
  readonly terms: Term[];
  readonly errors: unknown[];
  /** Resolves when the call has ended, with its error where it failed. */
  readonly over: Promise<unknown>;
  readonly stop: AbortController;
}

/** Stands for leader. @param body Default: it ends when the signal of its term aborts */
function stand(
  { clock }: FakeTime,
  holdfast: Holdfast,
  options: Partial<LeaderOptions> = {},
  body: (term: Term) => unknown = untilItEnds,
): Stand {
  const stop = new AbortController();
  const terms: Term[] = [];
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const over = leader(holdfast, { name: NAME, clock, onError, signal: stop.signal, ...options }, (term) => {
    terms.push(term);
    return body(term);
  }).catch((error: unknown) => error);
  return { terms, errors, over, stop };
}

function untilItEnds({ signal }: Term): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

const believes = ({ terms }: Stand) => terms.at(-1)?.lease.state === "held";
const tokens = ({ terms }: Stand) => terms.map(({ token }) => token);

describe("a leader", () => {
  test("is one of three, and its successor hears of its resignation by one message", async () => {
    const world = open();
    const stands = [world, world.connect(), world.connect()].map(({ holdfast }) => stand(world, holdfast));
    for (const [nth, { stop, over }] of stands.entries()) {
      await world.clock.advance(0);
      expect(stands.map(believes)).toEqual(stands.map((_, at) => at === nth));
      stop.abort(new Error("enough"));
      expect(await over).toBeUndefined();
    }
    expect(stands.map(tokens)).toEqual([[1n], [2n], [3n]]);
    expect(stands.map(({ errors }) => errors)).toEqual([[], [], []]);
  });

  test("that shuts down hears of it at once, and keeps the office until its body has ended", async () => {
    const world = open();
    const { clock } = world;
    const next = world.connect();
    let abortedMs = Number.NaN;
    const first = stand(world, world.holdfast, {}, async (term) => {
      await untilItEnds(term);
      abortedMs = clock.monotonicMs();
      await new Promise<void>((resolve) => void clock.schedule(15_000, resolve));
    });
    await clock.advance(0);
    const second = stand(world, next.holdfast);
    await clock.advance(1_000);
    const closeMs = clock.monotonicMs();
    const closed = world.holdfast.close({ graceMs: 30_000 });
    await clock.advance(14_999);
    expect([abortedMs - closeMs, tokens(second)]).toEqual([0, []]);
    expect(first.terms[0]?.signal.reason).toMatchObject({ code: "ERR_HOLDFAST_CLOSED" });
    await clock.advance(1);
    await Promise.all([closed, first.over]);
    expect([believes(second), tokens(second), first.errors]).toEqual([true, [2n], []]);
    second.stop.abort();
    await second.over;
  });

  test("that can not renew stops believing before its successor begins, within the TTL of the crash", async () => {
    const world = open();
    const { clock, driver } = world;
    const first = stand(world, world.holdfast);
    await clock.advance(0);
    const second = stand(world, world.connect().holdfast);
    const crashMs = clock.monotonicMs();
    for (let call = 0; call < 50; call += 1) void driver.next(neverDeliver);
    driver.channels.mute(true);
    while (!believes(second)) {
      expect(clock.monotonicMs() - crashMs).toBeLessThanOrEqual(TTL_MS);
      await clock.advance(10);
      expect(believes(first) && believes(second)).toBe(false);
    }
    expect(first.terms[0]?.signal.aborted).toBe(true);
    expect(tokens(second)).toEqual([2n]);
    for (const { stop } of [first, second]) stop.abort();
    await clock.advance(60_000);
    await Promise.all([first.over, second.over]);
  });

  test("that was deposed by force is told, and stands again after a pause", async () => {
    const world = open();
    const { clock, holdfast } = world;
    const only = stand(world, holdfast);
    await clock.advance(0);
    await holdfast.getFencedLock(NAME).forceUnlock();
    expect(only.terms[0]?.signal.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST" });
    await clock.advance(PAUSE_MS - 1);
    expect(tokens(only)).toEqual([1n]);
    await clock.advance(1);
    expect(tokens(only)).toEqual([1n, 2n]);
    expect(only.errors).toMatchObject([{ code: "ERR_HOLDFAST_LEASE_LOST" }]);
    only.stop.abort();
    await only.over;
  });

  test("whose body returns resigns, and lets others come first", async () => {
    const world = open();
    const { clock } = world;
    const brief = stand(world, world.holdfast, {}, () => undefined);
    await clock.advance(0);
    const other = stand(world, world.connect().holdfast);
    await clock.advance(PAUSE_MS * 3);
    expect([tokens(brief), tokens(other)]).toEqual([[1n], [2n]]);
    other.stop.abort();
    await other.over;
    await clock.advance(0);
    expect(tokens(brief)).toEqual([1n, 3n]);
    brief.stop.abort();
    expect(await brief.over).toBeUndefined();
  });
});

describe("what a body throws", () => {
  test("ends the call, and frees the office", async () => {
    const world = open();
    const failing = stand(world, world.holdfast, {}, () => {
      throw new TypeError("no plan");
    });
    expect(await failing.over).toEqual(new TypeError("no plan"));
    expect([failing.terms.length, failing.errors, world.ttlMs(NAME)]).toEqual([1, [], -2]);
  });

  test("ends the call also where it is what would be tried again", async () => {
    const world = open();
    const error = new UnavailableError("another server", "it does not answer", true);
    const failing = stand(world, world.holdfast, {}, () => Promise.reject(error));
    expect([await failing.over, failing.errors]).toEqual([error, []]);
  });

  test("is reported when it was to end, but for what only tells of that", async () => {
    const world = open();
    const other = new Error("aborted in a way of its own");
    const thrown: readonly [(term: Term) => unknown, readonly unknown[]][] = [
      [() => other, [other]],
      [({ signal }) => signal.reason, []],
      // As the functions of Node do that are given a signal.
      [
        ({ signal }) =>
          new DOMException("The operation was aborted", { name: "AbortError", cause: signal.reason }),
        [],
      ],
    ];
    for (const [errorOf, errors] of thrown) {
      const stopped = stand(world, world.holdfast, {}, async (term) => {
        await untilItEnds(term);
        throw errorOf(term);
      });
      await world.clock.advance(0);
      stopped.stop.abort(new Error("enough"));
      expect(await stopped.over).toBeUndefined();
      expect(stopped.errors).toEqual(errors);
    }
  });

  test("is reported once where the term was lost, and the body has noticed", async () => {
    const world = open();
    const only = stand(world, world.holdfast, {}, async (term) => {
      await untilItEnds(term);
      term.lease.assertHeld();
    });
    await world.clock.advance(0);
    await world.holdfast.getFencedLock(NAME).forceUnlock();
    await world.clock.advance(0);
    expect(only.errors).toMatchObject([{ code: "ERR_HOLDFAST_LEASE_LOST" }]);
    only.stop.abort();
    await only.over;
  });

  test("can know by its term that it is over, before any timer has run", async () => {
    const world = open();
    const seen: boolean[] = [];
    const only = stand(world, world.holdfast, { ttlMs: 1_000 }, async (term) => {
      const kept = term.signal;
      await untilSuspended;
      seen.push(kept.aborted, term.signal.aborted, kept.aborted);
    });
    let resume: () => void = () => undefined;
    const untilSuspended = new Promise<void>((resolve) => {
      resume = resolve;
    });
    await world.clock.advance(0);
    // The machine has slept: the wall clock tells so, and no timer has run.
    world.clock.suspend(60_000);
    resume();
    await new Promise(setImmediate);
    expect(seen).toEqual([false, true, true]);
    only.stop.abort();
    await world.clock.advance(0);
    await only.over;
  });
});

describe("a process that stands", () => {
  test("tries again while Redis is away, and is told", async () => {
    const world = open();
    const { clock, server } = world;
    server.goAway();
    const patient = stand(world, world.holdfast, { pauseMs: 500 });
    await clock.advance(10_000);
    expect(patient.errors.length).toBeGreaterThan(1);
    for (const error of patient.errors) expect(error).toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE" });
    server.comeBack();
    await clock.advance(4_000);
    expect(believes(patient)).toBe(true);
    patient.stop.abort();
    await patient.over;
  });

  test("does so without anybody to tell", async () => {
    const world = open();
    const { clock, server } = world;
    server.goAway();
    const patient = stand(world, world.holdfast, { onError: undefined });
    await clock.advance(5_000);
    server.comeBack();
    await clock.advance(5_000);
    expect(believes(patient)).toBe(true);
    patient.stop.abort();
    await patient.over;
  });

  test("leaves nothing behind when it stops while another leads, nor when it pauses", async () => {
    const world = open();
    const { clock, driver } = world;
    const leading = stand(world, world.connect().holdfast);
    await clock.advance(0);
    const waiting = stand(world, world.holdfast);
    await clock.advance(0);
    waiting.stop.abort(new Error("enough"));
    expect([await waiting.over, waiting.errors, waiting.terms]).toEqual([undefined, [], []]);
    leading.stop.abort();
    await leading.over;
    const pausing = stand(world, world.holdfast, { pauseMs: 60_000 }, () => undefined);
    await clock.advance(10);
    pausing.stop.abort();
    expect(await pausing.over).toBeUndefined();
    const sent = driver.sent.length;
    await clock.advance(60_000);
    expect(driver.sent.length).toBe(sent);
  });

  test("does not begin where it is to stop already", async () => {
    const world = open();
    const never = stand(world, world.holdfast, { signal: AbortSignal.abort() });
    expect([await never.over, world.driver.sent, never.terms]).toEqual([undefined, [], []]);
  });

  test("fails where the name is that of something else", async () => {
    const world = open();
    world.server.command("SET", NAME, "a string", "PX", 1_000);
    const failing = stand(world, world.holdfast);
    expect(await failing.over).toMatchObject({ code: "ERR_HOLDFAST_WRONG_TYPE" });
  });
});

describe("the current leader", () => {
  test("is known by holder and token, and by its process where that has presence", async () => {
    const world = open();
    const { clock } = world;
    const seen = world.connect({ presence: { app: "worker" } });
    expect(await currentLeader(world.holdfast, NAME)).toBeNull();
    const leading = stand(world, seen.holdfast);
    await clock.advance(20_000);
    const holder = leading.terms[0]?.lease.holder;
    expect(await currentLeader(world.holdfast, NAME)).toMatchObject({
      holder,
      token: 1n,
      client: { id: seen.holdfast.clientId, app: "worker" },
    });
    await seen.holdfast.close();
    await leading.over;
    expect(await currentLeader(world.holdfast, NAME)).toBeNull();
  });

  test("is nobody where the lock is only kept", async () => {
    const world = open();
    const lease = await world.holdfast.getFencedLock(NAME).lock();
    expect(await currentLeader(world.holdfast, NAME)).toMatchObject({ holder: lease.holder, client: null });
    await lease.unlock({ keepForMs: 5_000 });
    expect(await currentLeader(world.holdfast, NAME)).toBeNull();
  });
});

test.each([
  [{ ttlMs: 999 }, "watchdogMs must be a whole number of milliseconds from 1000 to 86400000, got 999"],
  [{ pauseMs: -1 }, "pauseMs must be a whole number of milliseconds from 0 to 315360000000, got -1"],
  [{ onError: 5 }, "onError needs a function as its last argument, got 5"],
  [{ signal: 5 }, "signal must be an AbortSignal, got 5"],
  [{ ttl: 5 }, 'there is no option "ttl" of leader: name, ttlMs, pauseMs, signal, onError, clock'],
  [{ name: "" }, 'a name must be a non-empty string, got ""'],
])("refuses %j", async (options, message) => {
  const world = open();
  const { over } = stand(world, world.holdfast, options as Partial<LeaderOptions>);
  expect(String(await over)).toContain(message);
  expect(world.driver.sent).toEqual([]);
});
