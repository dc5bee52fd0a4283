import { afterEach, describe, expect, test, vi } from "vitest";
import { UnavailableError } from "../../src/errors.js";
import { MemoryServer, memoryDriver } from "../../src/memory/index.js";
import type { WaitLine } from "../../src/runtime/wait-line.js";
import { WaitLines } from "../../src/runtime/wait-lines.js";
import { Waiter } from "../../src/runtime/waiter.js";
import { plainSubscriptions } from "../support/clients/plain-subscriptions.js";
import { ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { collectAll } from "../support/run/garbage.js";
import { watched } from "../support/run/watched.js";
import { CountingClock } from "../support/worlds/counting-clock.js";

const SAFETY_MS = 5_000;
const CHANNEL = "redisson_lock__channel:{a}";
const LOCK = { id: ":a", channel: CHANNEL };

afterEach(() => vi.restoreAllMocks());

function setUp() {
  const clock = new CountingClock();
  const server = new MemoryServer({ clock });
  const driver = new ScriptedDriver(memoryDriver(server));
  const subscriptions = plainSubscriptions(driver, clock, 3_000);
  const lines = new WaitLines("", { clock, subscriptions, safetyPeriodMs: SAFETY_MS }, true);
  const waiter = () => new Waiter(clock, undefined, undefined);
  const [first, second, third] = [waiter(), waiter(), waiter()];
  return { clock, server, driver, subscriptions, lines, first, second, third };
}

/** The head goes to sleep. @returns whether it has woken */
function asleep(line: WaitLine, head: Waiter): () => boolean {
  line.watch();
  const pause = watched(head.pause());
  return () => pause.outcome !== undefined;
}

describe("a line", () => {
  test("is one for each channel, and its head is who came first", () => {
    const { lines, first, second, third } = setUp();
    const line = lines.join(LOCK, first);
    expect(lines.join(LOCK, second)).toBe(line);
    expect(lines.join({ id: ":another", channel: "another" }, third)).not.toBe(line);
    expect([line.head, lines.lengthOf(LOCK.id)]).toEqual([first, 2]);
    lines.leave(line, first);
    expect([line.head, lines.lengthOf(LOCK.id)]).toEqual([second, 1]);
  });

  test("wakes the next when its head leaves, and nobody when another does", async () => {
    const { clock, lines, first, second, third } = setUp();
    const line = lines.join(LOCK, first);
    for (const waiter of [second, third]) lines.join(LOCK, waiter);
    const pauses = [first, second, third].map((waiter) => watched(waiter.pause()));
    const awake = () => pauses.map(({ outcome }) => outcome !== undefined);
    lines.leave(line, third);
    await clock.advance(0);
    expect(awake()).toEqual([false, false, false]);
    lines.leave(line, first);
    await clock.advance(0);
    expect(awake()).toEqual([false, true, false]);
  });

  test("is forgotten with its last waiter: the next one finds a fresh one", () => {
    const { lines, first, second } = setUp();
    const line = lines.join(LOCK, first);
    line.seenHeld({ holder: "somebody", ttlMs: 30_000 });
    lines.leave(line, first);
    expect(lines.lengthOf(LOCK.id)).toBe(0);
    const fresh = lines.join(LOCK, second);
    expect([fresh.shouldAsk(), fresh.sighting]).toEqual([true, undefined]);
    lines.leave(line, first);
    expect(lines.lengthOf(LOCK.id)).toBe(1);
  });

  test("is kept for the next who comes, but not without bound", async () => {
    const { lines, first } = setUp();
    const locks = Array.from({ length: 1_000 }, (_, at) => ({ id: `:${at}`, channel: `channel ${at}` }));
    const kept = locks.map((lock) => new WeakRef(lock));
    const stay = lines.join(
      { id: ":stay", channel: "stay" },
      new Waiter(new CountingClock(), undefined, undefined),
    );
    for (const lock of locks.splice(0)) lines.leave(lines.join(lock, first), first);
    await collectAll();
    expect(kept.filter((lock) => lock.deref() !== undefined).length).toBeLessThan(130);
    expect(lines.of(":stay")).toBe(stay);
  });

  test("tells everybody in it what its head has failed with [own-82]", () => {
    const { lines, first, second, third } = setUp();
    const line = lines.join(LOCK, first);
    for (const waiter of [second, third]) lines.join(LOCK, waiter);
    line.fail(new UnavailableError("redis", "it has not answered", true));
    // Only the head has sent something whose outcome can be unknown.
    const reason = { message: "redis: it has not answered", outcomeUnknown: false };
    expect([second, third]).toMatchObject(Array(2).fill({ cancelled: true, reason }));
  });
});

describe("asking Redis", () => {
  test("is worth while at first, then once the TTL that was seen is surely over", async () => {
    const { clock, lines, first } = setUp();
    const line = lines.join(LOCK, first);
    line.listen();
    await clock.advance(0);
    expect(line.shouldAsk()).toBe(true);
    await first.pause();
    line.asking();
    line.seenHeld({ holder: "somebody", ttlMs: 50 });
    const slept = asleep(line, first);
    await clock.advance(50.9);
    expect([line.shouldAsk(), slept()]).toEqual([false, false]);
    await clock.advance(0.2);
    expect([line.shouldAsk(), slept()]).toEqual([true, true]);
  });

  test.each([
    [0, 4_000],
    [1, 5_000],
  ])("is worth while after the safety period at the latest, of which %d is drawn", async (drawn, sleepMs) => {
    vi.spyOn(Math, "random").mockReturnValue(drawn);
    const { clock, lines, first } = setUp();
    const line = lines.join(LOCK, first);
    line.listen();
    await clock.advance(0);
    await first.pause();
    for (const ttlMs of [30_000, -1]) {
      line.asking();
      line.seenHeld({ holder: "somebody", ttlMs: ttlMs });
      const slept = asleep(line, first);
      await clock.advance(sleepMs - 0.1);
      expect([line.shouldAsk(), slept()]).toEqual([false, false]);
      await clock.advance(0.2);
      expect([line.shouldAsk(), slept()]).toEqual([true, true]);
    }
  });

  test("is worth while when somebody wakes the line, once for all that came before the head asked", () => {
    const { lines, first } = setUp();
    const line = lines.join(LOCK, first);
    line.asking();
    line.seenHeld({ holder: "somebody", ttlMs: 30_000 });
    line.wake();
    line.wake();
    expect(line.shouldAsk()).toBe(true);
    line.asking();
    expect(line.shouldAsk()).toBe(false);
  });

  test("is worth while again when the line is woken while its head asks", () => {
    const { lines, first } = setUp();
    const line = lines.join(LOCK, first);
    line.asking();
    line.wake();
    line.seenHeld({ holder: "somebody", ttlMs: 30_000 });
    expect(line.shouldAsk()).toBe(true);
  });

  test("is for the next one when the head leaves with a wake-up that it did not use [B7] [wire-L9]", () => {
    const { lines, first, second } = setUp();
    const line = lines.join(LOCK, first);
    lines.join(LOCK, second);
    line.asking();
    line.seenHeld({ holder: "somebody", ttlMs: 30_000 });
    line.wake();
    lines.leave(line, first);
    expect([line.head, line.shouldAsk()]).toEqual([second, true]);
  });

  test("is no reason to wake the next in line, which sleeps on until it is", async () => {
    const { clock, lines, first, second } = setUp();
    const line = lines.join(LOCK, first);
    lines.join(LOCK, second);
    line.listen();
    await clock.advance(0);
    await first.pause();
    line.asking();
    line.seenHeld({ holder: "somebody", ttlMs: 50 });
    asleep(line, first);
    const slept = watched(second.pause());
    await clock.advance(20);
    const { timersArmed } = clock;
    lines.leave(line, first);
    await clock.advance(30.9);
    expect([slept.outcome, clock.timersArmed]).toEqual([undefined, timersArmed]);
    await clock.advance(0.2);
    expect([slept.outcome !== undefined, line.shouldAsk()]).toEqual([true, true]);
  });

  test("is worth while for the next in line sooner than its head thought, once that has seen a shorter TTL", async () => {
    const { clock, lines, first, second } = setUp();
    const line = lines.join(LOCK, first);
    lines.join(LOCK, second);
    line.listen();
    await clock.advance(0);
    await first.pause();
    line.asking();
    line.seenHeld({ holder: "somebody", ttlMs: 1_000 });
    asleep(line, first);
    const slept = watched(second.pause());
    line.seenHeld({ holder: "first", ttlMs: 50 });
    lines.leave(line, first);
    await clock.advance(0);
    expect([slept.outcome !== undefined, line.shouldAsk()]).toEqual([true, false]);
    const again = asleep(line, second);
    await clock.advance(51);
    expect([again(), line.shouldAsk()]).toEqual([true, true]);
  });

  test("is left to nobody's timer once the line is empty", async () => {
    const { clock, lines, first } = setUp();
    const line = lines.join(LOCK, first);
    line.seenHeld({ holder: "somebody", ttlMs: 50 });
    const slept = asleep(line, first);
    lines.leave(line, first);
    await clock.advance(60);
    expect(slept()).toBe(false);
  });

  test("remembers who was seen, and when", async () => {
    const { clock, lines, first } = setUp();
    const line = lines.join(LOCK, first);
    await clock.advance(70);
    line.seenHeld({ holder: "somebody", ttlMs: 30_000 });
    expect(line.sighting).toEqual({ holder: "somebody", ttlMs: 30_000, seenMs: clock.monotonicMs() });
  });
});

describe("a line that listens", () => {
  test.each(["0", "1"])("is woken by the %s of a release and by no other message", async (released) => {
    const { clock, server, lines, first } = setUp();
    const line = lines.join(LOCK, first);
    line.listen();
    await clock.advance(0);
    line.asking();
    line.seenHeld({ holder: "somebody", ttlMs: 30_000 });
    for (const message of ["2", "", "00", "unlock", "-1"]) server.command("PUBLISH", CHANNEL, message);
    await clock.advance(0);
    expect(line.shouldAsk()).toBe(false);
    server.command("PUBLISH", CHANNEL, released);
    await clock.advance(0);
    expect(line.shouldAsk()).toBe(true);
  });

  test("is woken each time messages begin to arrive: some may have been missed [B6]", async () => {
    const { clock, driver, lines, first } = setUp();
    const line = lines.join(LOCK, first);
    line.seenHeld({ holder: "somebody", ttlMs: 30_000 });
    for (const begin of [() => line.listen(), () => driver.channels.reconnect()]) {
      line.asking();
      begin();
      await clock.advance(0);
      expect(line.shouldAsk()).toBe(true);
    }
  });

  test("listens once, however often it is told to, and no more when it is empty", async () => {
    const { clock, server, driver, lines, first } = setUp();
    const line = lines.join(LOCK, first);
    for (let i = 0; i < 3; i++) line.listen();
    await clock.advance(0);
    expect(driver.channels.asked).toEqual([CHANNEL]);
    lines.leave(line, first);
    await clock.advance(11_000);
    expect(server.command("PUBLISH", CHANNEL, "0")).toBe(0);
  });

  test("hears from the start when somebody else has listened to the channel shortly before", async () => {
    const { clock, server, driver, lines, first, second } = setUp();
    const line = lines.join(LOCK, first);
    line.listen();
    await clock.advance(0);
    lines.leave(line, first);
    await clock.advance(5_000);
    const next = lines.join(LOCK, second);
    next.asking();
    next.seenHeld({ holder: "somebody", ttlMs: 30_000 });
    server.command("PUBLISH", CHANNEL, "0");
    await clock.advance(0);
    expect([next.shouldAsk(), driver.channels.asked]).toEqual([true, [CHANNEL]]);
  });

  test("tries again after a failure, with growing pauses, and then asks once [B8]", async () => {
    const { clock, driver, lines, first } = setUp();
    const line = lines.join(LOCK, first);
    line.seenHeld({ holder: "somebody", ttlMs: 60_000 });
    const times: number[] = [];
    for (let i = 0; i < 3; i++) driver.channels.failNext(new Error("too many channels"));
    for (let ms = 0; ms < 4_000; ms += 10) {
      const before = driver.channels.asked.length;
      line.listen();
      if (driver.channels.asked.length > before) times.push(ms);
      line.asking();
      await clock.advance(10);
    }
    expect(times).toHaveLength(4);
    const pauses = times.slice(1).map((ms, i) => ms - (times[i] ?? 0));
    expect([...pauses].sort((x, y) => x - y)).toEqual(pauses);
    line.asking();
    driver.channels.reconnect();
    expect(line.shouldAsk()).toBe(true);
  });
});
