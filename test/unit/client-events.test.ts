import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, describe, expect, test } from "vitest";
import { clientSettings } from "../../src/client-options.js";
import { ServerReplyError } from "../../src/driver/driver.js";
import { ClientClosedError } from "../../src/errors.js";
import { type CommandEvent, events } from "../../src/events.js";
import { lockInspect } from "../../src/protocol/inspect-scripts.js";
import { Commands } from "../../src/runtime/commands.js";
import { answerWith, neverDeliver, rejectAtOnce } from "../support/faults/call-faults.js";
import { aboutOf, endRecordings, recorded, recordedEnds } from "../support/run/recorded-events.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
endRecordings();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const ANSWERED = { outcome: "answered", tries: 1, durationMs: 0 };

describe("holdfast:command", () => {
  test("goes from start to asyncEnd with one context for each command", async () => {
    const time = open();
    const said: [string, CommandEvent][] = [];
    const contexts = new Set<object>();
    const part = (name: string) => (event: CommandEvent) => {
      said.push([name, { ...event }]);
      contexts.add(event);
    };
    const handlers = {
      start: part("start"),
      end: part("end"),
      asyncStart: part("asyncStart"),
      asyncEnd: part("asyncEnd"),
      error: part("error"),
    };
    await (await time.holdfast.getLock("b").lock()).unlock();
    events.command.subscribe(handlers);
    ends.push(() => events.command.unsubscribe(handlers));
    const lease = await time.holdfast.getLock("a").lock();
    const begun = { ...aboutOf(time), script: "lock-acquire" };
    const ended = { ...begun, ...ANSWERED, locks: 1 };
    expect(said).toEqual([
      ["start", begun],
      ["end", begun],
      ["asyncStart", ended],
      ["asyncEnd", ended],
    ]);
    expect(contexts.size).toBe(1);
    await lease.unlock();
  });

  test("counts the locks of a group, of a joint lock and of a renewal, and the probe of a server", async () => {
    const time = open();
    const commands = recordedEnds(events.command);
    const lock = (name: string) => time.holdfast.getLock(name);
    const calls = ["a", "b", "c"].map((name) => watched(lock(name).lock()));
    await time.clock.advance(0);
    const lease = await time.holdfast.getMultiLock(lock("d"), lock("e")).lock();
    await time.clock.advance(10_100);
    const scripts = commands.map(({ script, locks, outcome }) => [script, locks, outcome]);
    expect(scripts).toEqual([
      ["server-probe", 1, "answered"],
      ["lock-acquire", 3, "answered"],
      ["lock-acquire", 2, "answered"],
      ["lock-renew", 5, "answered"],
    ]);
    expect(calls.map(({ outcome }) => outcome)).toMatchObject(
      calls.map(() => ({ value: { state: "held" } })),
    );
    await lease.unlock();
    for (const name of ["a", "b", "c"]) await lock(name).forceUnlock();
  });

  test("says that a command was sent again, refused, not answered, or ended by close", async () => {
    const time = open();
    const { holdfast, driver, clock } = time;
    await (await holdfast.getLock("b").lock()).unlock();
    const commands = recordedEnds(events.command);
    const failed: unknown[] = [];
    const handlers = { error: ({ error }: { readonly error: unknown }) => void failed.push(error) };
    events.command.subscribe(handlers);
    ends.push(() => events.command.unsubscribe(handlers));
    void driver.next(rejectAtOnce, "lock-acquire");
    const again = watched(holdfast.getLock("a").tryLock());
    await clock.advance(100);
    expect(again.outcome).toHaveProperty("value.state", "held");
    void driver.next(answerWith(new ServerReplyError("NOPERM no right")), "lock-inspect");
    const refused = watched(holdfast.getLock("a").isLocked());
    await clock.advance(0);
    void driver.next(neverDeliver, "lock-inspect");
    const unknown = watched(holdfast.getLock("a").isLocked());
    await clock.advance(3_000);
    void driver.next(neverDeliver, "lock-inspect");
    const closed = watched(holdfast.getLock("a").isLocked());
    const closing = holdfast.close();
    await clock.advance(20_000);
    await closing;
    const told = commands.map(({ script, tries, outcome, durationMs }) => [
      script,
      tries,
      outcome,
      durationMs,
    ]);
    expect(told.slice(0, 3)).toEqual([
      ["lock-acquire", 2, "answered", 20],
      ["lock-inspect", 1, "refused", 0],
      ["lock-inspect", 1, "unknown", 3_000],
    ]);
    expect(refused.outcome).toMatchObject({ error: { outcomeUnknown: false } });
    expect(unknown.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    expect(failed).toHaveLength(commands.filter(({ outcome }) => outcome !== "answered").length);
    expect(closed.outcome).toHaveProperty("error");
    await time.connect().holdfast.getLock("a").forceUnlock();
  });

  test("is closed where it was begun by a client that is closed", async () => {
    const { driver, clock } = open();
    const ended = recordedEnds(events.command);
    const about = { clientId: "client", server: driver.traits.server };
    const commands = new Commands(driver, clock, clientSettings({}), about);
    const question = { key: "a", queueKey: "b", tokenKey: "c", leasesKey: "d" };
    await commands.exchange(lockInspect, "a", () => question);
    void driver.next(neverDeliver, "lock-inspect");
    const underWay = watched(commands.exchange(lockInspect, "a", () => question));
    commands.stop();
    const late = watched(commands.exchange(lockInspect, "a", () => question));
    await clock.advance(0);
    const closed = { error: expect.any(ClientClosedError) };
    expect([underWay.outcome, late.outcome]).toEqual([closed, closed]);
    expect(ended.slice(-2)).toMatchObject([
      { ...about, outcome: "closed", tries: 1, locks: 1 },
      { ...about, outcome: "closed", tries: 0, locks: 0 },
    ]);
  });

  test("runs what sends it in the stores that are bound to its start", async () => {
    const time = open();
    const storage = new AsyncLocalStorage<CommandEvent>();
    events.command.start.bindStore(storage);
    ends.push(() => events.command.start.unbindStore(storage));
    const seen: unknown[] = [];
    const { run } = time.driver;
    time.driver.run = (...args) => {
      seen.push([args[0].script.name, storage.getStore()?.script]);
      return run.apply(time.driver, args);
    };
    await (await time.holdfast.getLock("a").lock()).unlock();
    expect(seen).toEqual(["server-probe", "lock-acquire", "lock-release"].map((name) => [name, name]));
    expect(storage.getStore()).toBeUndefined();
  });
});

describe("holdfast:renewal:done", () => {
  test("says how late a renewal was sent, how long it took, and how much trust was left", async () => {
    const time = open();
    const done = recorded(events.renewalDone);
    const lock = (name: string) => time.holdfast.getLock(name);
    const first = await lock("a").lock();
    await time.clock.advance(4_000);
    const second = await lock("b").lock({ maxHoldMs: 7_000 });
    await time.clock.advance(6_000);
    // Both leases of 30 s are trusted for 298 + 4 ms less; the second ends 7 s after it was taken.
    const about = aboutOf(time);
    expect(done).toEqual([{ ...about, locks: 2, lateMs: 0, durationMs: 0, leastRemainingMs: 1_000 }]);
    await time.clock.advance(1_500);
    expect(second.state).toBe("lost");
    for (let i = 0; i < 2; i += 1) void time.driver.next(rejectAtOnce, "lock-renew");
    await time.clock.advance(8_500);
    expect(done).toHaveLength(1);
    await time.clock.advance(200);
    expect(done[1]).toEqual({ ...about, locks: 1, lateMs: 60, durationMs: 0, leastRemainingMs: 19_638 });
    await first.unlock();
  });

  test("tells the renewal of leased permits, and of a read lock by its watched holds", async () => {
    const time = open();
    const done = recorded(events.renewalDone);
    const semaphore = time.holdfast.getPermitExpirableSemaphore("s");
    await semaphore.trySetPermits(2);
    const permits = await semaphore.acquire(2, { watchdog: true });
    const read = await time.holdfast.getReadWriteLock("r").readLock().lock({ leaseMs: 50_000 });
    await time.clock.advance(10_100);
    const told = done.map(({ locks, leastRemainingMs }) => [locks, leastRemainingMs]);
    expect(told).toEqual([
      [1, 19_698],
      [1, Number.POSITIVE_INFINITY],
    ]);
    await permits.release();
    await read.unlock();
    await semaphore.delete();
  });

  test("is not told of a renewal that was sent again when all of its leases were released", async () => {
    const time = open();
    const done = recorded(events.renewalDone);
    const lease = await time.holdfast.getLock("a").lock();
    void time.driver.next(rejectAtOnce, "lock-renew");
    await time.clock.advance(10_000);
    await lease.unlock();
    await time.clock.advance(100);
    expect(time.driver.names.filter((name) => name === "lock-renew")).toHaveLength(2);
    expect(done).toEqual([]);
  });

  test("is not told while a renewal has no answer", async () => {
    const time = open();
    const done = recorded(events.renewalDone);
    const failed = recorded(events.renewalFailed);
    const lease = await time.holdfast.getLock("a").lock();
    void time.driver.next(neverDeliver, "lock-renew");
    await time.clock.advance(13_050);
    expect([done.length, failed.length]).toEqual([0, 1]);
    await lease.unlock();
  });
});

describe("holdfast:lock:forced", () => {
  test("names the holders that were freed, and says whether one was this client's", async () => {
    const time = open();
    const other = time.connect();
    const forced = recorded(events.forced);
    const lease = await other.holdfast.getLock("a").lock();
    expect(await time.holdfast.getLock("a").forceUnlock()).toBe(true);
    const { holder } = lease;
    const about = { ...aboutOf(time), name: "a", key: "a" };
    expect(forced).toEqual([{ ...about, kind: "lock", holders: [holder], own: false }]);
    expect(await time.holdfast.getLock("a").forceUnlock()).toBe(false);
    expect(forced).toHaveLength(1);
    const pair = (client: typeof time.holdfast) => client.getReadWriteLock("a").readLock();
    const readers = [await pair(time.holdfast).lock(), await pair(other.holdfast).lock()];
    await pair(time.holdfast).forceUnlock();
    const holders = readers.map((reader) => reader.holder);
    expect(forced[1]).toEqual({ ...about, kind: "read-lock", holders, own: true });
  });

  test("is told once when an answer was lost, and not of a lock that its holder released meanwhile", async () => {
    const time = open();
    const forced = recorded(events.forced);
    const other = time.connect().holdfast;
    const lease = await other.getLock("a").lock();
    void time.driver.next(rejectAtOnce, "lock-force-unlock");
    const freeing = watched(time.holdfast.getLock("a").forceUnlock());
    await time.clock.advance(100);
    expect([freeing.outcome, forced.length, lease.holder]).toEqual([
      { value: true },
      1,
      forced[0]?.holders[0],
    ]);
  });
});

describe("holdfast:client:open and holdfast:client:close", () => {
  test("tell of each client once, when it was made and when it has been closed", async () => {
    const [opened, closed] = [recorded(events.clientOpen), recorded(events.clientClose)];
    const time = open();
    const second = time.connect();
    expect(opened).toEqual([aboutOf(time), aboutOf(second)]);
    const closing = [second.holdfast.close(), second.holdfast.close()];
    expect(closed).toEqual([]);
    await time.clock.advance(1_000);
    await Promise.all(closing);
    expect(closed).toEqual([aboutOf(second)]);
  });
});
