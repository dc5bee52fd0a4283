import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { RawReply } from "../../src/protocol/script-call.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { givenByJvm, setAvailable } from "../support/worlds/permits.js";

watchLeaks();
const open = fakeTime();

const HOUR_MS = 3_600_000;
const QUEUE = "holdfast_waiting:{s}";
const KINDS = ["getSemaphore", "getPermitExpirableSemaphore"] as const;
type Kind = (typeof KINDS)[number];

let time: FakeTime;
beforeEach(() => {
  time = open({ safetyPeriodMs: HOUR_MS });
  setAvailable(time, 0);
});
afterEach(async () => {
  await time.clock.advance(10_000);
  time.server.command("DEL", "s", "{s}:timeout");
});

type Peer = ReturnType<FakeTime["connect"]>;

function peers(count: number): Peer[] {
  return Array.from({ length: count }, () => time.connect({ safetyPeriodMs: HOUR_MS }));
}

/** What a peer has sent about permits since this was asked for last. */
function sent({ driver }: Peer): readonly string[] {
  return driver.calls
    .splice(0)
    .map(({ call }) => call.script.name)
    .filter((name) => /^(?:semaphore|permit)-/.test(name));
}

/** The members of the queue, the first of those that wait first. */
function waiting(): readonly string[] {
  return (time.server.command("ZRANGE", QUEUE, "1", "+inf", "BYSCORE") as readonly unknown[]).map(String);
}

/** Lets all clients lose a race, so that they stand in the queue, one after the other. */
async function queue(all: readonly Peer[], permits = 1): Promise<Watched<void>[]> {
  const calls = all.map(({ holdfast }) => watched(holdfast.getSemaphore("s").acquire(permits)));
  await time.clock.advance(0);
  time.server.command("PUBLISH", "redisson_sc:{s}", "1");
  await time.clock.advance(0);
  expect(waiting()).toHaveLength(all.length);
  return calls;
}

describe.each(KINDS)("clients that want permits again and again, by %s", (kind: Kind) => {
  test("take turns, and each acquisition costs three commands with any number of them", async () => {
    setAvailable(time, 1);
    const all = peers(8);
    const times = all.map(() => 0);
    let isOver = false;
    const pass = (ms: number) => new Promise<void>((done) => void time.clock.schedule(ms, done));
    const loop = async ({ holdfast }: Peer, at: number) => {
      const semaphore = holdfast[kind]("s");
      while (!isOver) {
        const permits = await semaphore.acquire();
        times[at] = (times[at] ?? 0) + 1;
        await pass(2);
        await (permits
          ? permits.release()
          : (semaphore as ReturnType<typeof holdfast.getSemaphore>).release());
      }
    };
    const loops = all.map(loop);
    await time.clock.advance(200);
    for (const peer of all) sent(peer);
    times.fill(0);
    await time.clock.advance(400);
    const total = times.reduce((sum, each) => sum + each, 0);
    const commands = all.reduce((sum, peer) => sum + sent(peer).length, 0);
    isOver = true;
    await time.clock.advance(200);
    await Promise.all(loops);
    expect(total).toBeGreaterThan(150);
    expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(1);
    expect(commands / total).toBeLessThanOrEqual(3.1);
  });
});

describe("a release that looks", () => {
  test("wakes as many as there are permits for, in their order, and no other", async () => {
    const all = peers(4);
    const calls = await queue(all);
    const [first] = all;
    await first?.holdfast.getSemaphore("s").release(2);
    await time.clock.advance(0);
    expect(calls.map(({ outcome }) => outcome !== undefined)).toEqual([true, true, false, false]);
    for (const peer of all.slice(2)) expect(sent(peer).slice(-1)).not.toEqual(["semaphore-add"]);
    for (const peer of all) sent(peer);
    await first?.holdfast.getSemaphore("s").release();
    await time.clock.advance(0);
    expect(all.map((peer) => sent(peer).length)).toEqual([1, 0, 1, 0]);
    await givenByJvm(time, 1);
    await time.clock.advance(60);
    expect(calls.every(({ outcome }) => outcome !== undefined)).toBe(true);
  });

  test("passes over one that wants more than there is, and goes back to it", async () => {
    const [big, small] = peers(2) as [Peer, Peer];
    const [wants3] = await queue([big], 3);
    const one = watched(small.holdfast.getSemaphore("s").acquire());
    await time.clock.advance(0);
    await big.holdfast.getSemaphore("s").release();
    await time.clock.advance(0);
    expect([wants3?.outcome, one.outcome]).toEqual([undefined, { value: undefined }]);
    await small.holdfast.getSemaphore("s").release(3);
    await time.clock.advance(0);
    expect(wants3?.outcome).toEqual({ value: undefined });
  });

  test("whose first does not come costs the others 1.5 s, once", async () => {
    const all = peers(3);
    const [still, next, last] = (await queue(all)) as [Watched<void>, Watched<void>, Watched<void>];
    all[0]?.driver.channels.mute(true);
    const semaphore = all[2]?.holdfast.getSemaphore("s");
    await semaphore?.release();
    await time.clock.advance(1_490);
    expect(next.outcome).toBeUndefined();
    await time.clock.advance(20);
    expect([still.outcome, next.outcome]).toEqual([undefined, { value: undefined }]);
    await semaphore?.release();
    await time.clock.advance(0);
    expect(last.outcome).toEqual({ value: undefined });
    all[0]?.driver.channels.mute(false);
    await givenByJvm(time, 1);
    await time.clock.advance(HOUR_MS);
    expect(still.outcome).toEqual({ value: undefined });
  });
});

describe("a release of as many permits as lines are read first", () => {
  test("tells the line behind them that it is the next, so that it hears of a JVM [own-122]", async () => {
    const all = peers(4);
    const calls = await queue(all);
    await all[0]?.holdfast.getSemaphore("s").release(3);
    await time.clock.advance(60);
    expect(calls.map(({ outcome }) => outcome !== undefined)).toEqual([true, true, true, false]);
    await givenByJvm(time, 1);
    await time.clock.advance(0);
    expect(calls[3]?.outcome).toEqual({ value: undefined });
  });
});

describe("a release that does not look", () => {
  test("is heard at once by the one that found nobody, and after 50 ms by one that became the first by a message", async () => {
    const all = peers(2);
    const [first, second] = (await queue(all)) as [Watched<void>, Watched<void>];
    await givenByJvm(time, 1);
    expect([first.outcome, second.outcome]).toEqual([{ value: undefined }, undefined]);
    await time.clock.advance(50);
    await givenByJvm(time, 1);
    expect(second.outcome).toEqual({ value: undefined });
  });
});

describe("a call that gives up", () => {
  test("leaves by one command; if it was told its turn, the next is told", async () => {
    const all = peers(2);
    const leaving = new AbortController();
    const [one, two] = all as [Peer, Peer];
    const gone = watched(one.holdfast.getSemaphore("s").acquire({ signal: leaving.signal }));
    const next = watched(two.holdfast.getSemaphore("s").acquire());
    await time.clock.advance(0);
    time.server.command("PUBLISH", "redisson_sc:{s}", "1");
    await time.clock.advance(0);
    expect(waiting()).toHaveLength(2);
    one.driver.channels.mute(true);
    await two.holdfast.getSemaphore("s").release();
    await time.clock.advance(0);
    expect(next.outcome).toBeUndefined();
    sent(one);
    leaving.abort("enough");
    await time.clock.advance(0);
    expect(gone.outcome).toEqual({ error: "enough" });
    expect(sent(one)).toEqual(["permit-leave"]);
    expect(next.outcome).toEqual({ value: undefined });
    expect(waiting()).toEqual([]);
  });

  test("before the answer that tells its place leaves no alarm behind: the next call of its line rings once, and sleeps [own-121]", async () => {
    const [other, peer] = peers(2) as [Peer, Peer];
    const [, mine] = (await queue([other, peer])) as [Watched<void>, Watched<void>];
    await other.holdfast.getSemaphore("s").release(2);
    await time.clock.advance(0);
    expect(mine.outcome).toEqual({ value: undefined });
    // It knows of others, and gives up while its question is under way.
    const leaving = new AbortController();
    const late = {
      name: "a late answer",
      meet: async (deliver: () => Promise<RawReply>) => {
        const reply = await deliver();
        await new Promise<void>((resolve) => void time.clock.schedule(10, resolve));
        return reply;
      },
    };
    void peer.driver.next(late, "semaphore-acquire");
    const gone = watched(peer.holdfast.getSemaphore("s").acquire({ signal: leaving.signal }));
    await time.clock.advance(5);
    leaving.abort("enough");
    await time.clock.advance(0);
    expect(gone.outcome).toEqual({ error: "enough" });
    // By then its channel is closed.
    await time.clock.advance(60_000);
    const schedule = time.clock.schedule.bind(time.clock);
    let alarms = 0;
    vi.spyOn(time.clock, "schedule").mockImplementation((ms, ring) => {
      alarms += 1;
      return schedule(alarms > 50 ? HOUR_MS : ms, ring);
    });
    const call = watched(peer.holdfast.getSemaphore("s").acquire());
    await time.clock.advance(1_000);
    expect(call.outcome).toBeUndefined();
    expect(alarms).toBeLessThan(10);
    vi.restoreAllMocks();
    await givenByJvm(time, 1);
    expect(call.outcome).toEqual({ value: undefined });
  });

  test("and did not stand in the queue sends nothing more", async () => {
    const [peer] = peers(1) as [Peer];
    const call = watched(peer.holdfast.getSemaphore("s").tryAcquire(1, { waitMs: 500 }));
    await time.clock.advance(600);
    expect(call.outcome).toEqual({ value: false });
    expect(sent(peer)).not.toContain("permit-leave");
  });
});
