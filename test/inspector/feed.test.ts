import { describe, expect, test } from "vitest";
import type { Change, FeedEvent, FeedSnapshot, Point } from "../../src/inspector/format.js";
import { loseReply } from "../support/faults/call-faults.js";
import { type Inspecting, inspecting, type OpenPage } from "../support/worlds/inspecting.js";
import { JVM } from "../support/worlds/listed.js";

const open = inspecting();
/** By then a client with presence has told what it has. */
const TOLD_MS = 12_000;
const HOUR_MS = 3_600_000;

async function snapshotOf(page: OpenPage): Promise<FeedSnapshot> {
  const [first] = await page.next("snapshot");
  return first as FeedSnapshot;
}

async function changesOf(page: OpenPage): Promise<readonly Change[]> {
  return (await page.next("change")) as Change[];
}

async function eventsOf(page: OpenPage): Promise<readonly FeedEvent[]> {
  return (await page.next("event")) as FeedEvent[];
}

/** A lock of a JVM that somebody waits for: a channel names it. */
function holdAsJvm({ time }: Inspecting, key: string, leaseMs = HOUR_MS): () => void {
  time.server.command("HSET", key, `${JVM}:57`, "1");
  time.server.command("PEXPIRE", key, leaseMs);
  return time.server.subscribe(`redisson_lock__channel:{${key}}`, () => undefined);
}

describe("a feed", () => {
  test("begins with all that is held and waited for, by whom, and goes on with what differs", async () => {
    const world = open({ presence: { app: "billing" } });
    const { time, view } = world;
    const lease = await time.holdfast.getFencedLock("a").lock();
    const end = holdAsJvm(world, "jvm");
    await time.clock.advance(TOLD_MS);
    const page = await view();
    const { locks, totals, clients, more, away } = await snapshotOf(page);
    const named = locks.map(({ key, token, flags, holders }) => [key, token, flags, holders[0]?.holder]);
    expect(named).toEqual([
      ["a", "1", [], lease.holder],
      ["jvm", null, [], `${JVM}:57`],
    ]);
    expect([totals, more, away]).toEqual([
      { held: 2, waiting: 0, clients: 1, gone: 0, unknown: 1, jvms: 1 },
      0,
      null,
    ]);
    expect(clients).toMatchObject([{ id: time.holdfast.clientId, app: "billing", state: "there" }]);
    await lease.unlock();
    end();
    time.server.command("DEL", "jvm", "redisson_lock_token:{a}");
    const [change] = await changesOf(page);
    expect(change).toMatchObject({ put: [], gone: ["a", "jvm"], totals: { held: 0 } });
    expect(change?.atMs).toBeGreaterThanOrEqual(2_000);
    await page.leave();
  });

  test("tells a lock again when it differs, not when time has passed alone", async () => {
    const { time, view } = open({ presence: true });
    const lease = await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
    await time.clock.advance(TOLD_MS);
    const page = await view();
    await snapshotOf(page);
    await time.clock.advance(20_000);
    const changes = await changesOf(page);
    expect(changes.length).toBeGreaterThan(5);
    expect(changes.flatMap(({ put, clients }) => [...put, ...clients.put])).toEqual([]);
    await lease.extend(2 * HOUR_MS);
    const [change] = await changesOf(page);
    expect(change?.put.map(({ key, ttlMs }) => [key, ttlMs > HOUR_MS])).toEqual([["a", true]]);
    await lease.unlock();
    await page.leave();
  });

  test("has a ping each 15 s, so that a page knows that it is not kept back", async () => {
    const { time, view } = open();
    const page = await view();
    await time.clock.advance(46_000);
    expect(page.text.match(/^: ping$/gm)).toHaveLength(3);
    await page.leave();
  });

  test("shows what fits its glob, in the order it asks for, and counts the rest", async () => {
    const world = open({ presence: true });
    const { time, view } = world;
    const leases = [];
    const clients = [time, time.connect({ presence: true }), time.connect({ presence: true })];
    for (let nth = 0; nth < 203; nth += 1) {
      const { holdfast } = clients[nth % 3] ?? time;
      leases.push(await holdfast.getLock(`order:${nth}`).lock({ leaseMs: HOUR_MS }));
      if (nth % 100 === 0) await time.clock.advance(2_000);
    }
    const end = holdAsJvm(world, "jvm");
    await time.clock.advance(TOLD_MS);
    const all = await snapshotOf(await view());
    expect([all.locks.length, all.more]).toEqual([200, 4]);
    const some = await snapshotOf(await view("?feed&match=order:[12]?&sort=name"));
    expect([some.locks.length, some.more]).toEqual([20, 0]);
    expect(some.locks[0]?.key).toBe("order:10");
    const [oldest] = (await snapshotOf(await view("?feed&sort=age"))).locks;
    expect(oldest?.key).toBe("order:0");
    const foreign = await snapshotOf(await view("?feed&only=jvm"));
    expect(foreign.locks.map(({ key }) => key)).toEqual(["jvm"]);
    end();
    time.server.command("DEL", "jvm");
    await Promise.all(leases.map((lease) => lease.unlock()));
  });

  test("puts the locks that most calls wait for first", async () => {
    const { time, view } = open({ presence: true });
    const other = time.connect({ presence: true }).holdfast;
    const held = await Promise.all(["a", "b", "c"].map((name) => time.holdfast.getLock(name).lock()));
    const leaving = new AbortController();
    const { signal } = leaving;
    const waiting = ["c", "c", "b"].map((name) =>
      other
        .getLock(name)
        .lock({ signal })
        .catch(() => undefined),
    );
    await time.clock.advance(TOLD_MS);
    const { locks, totals } = await snapshotOf(await view());
    expect([locks.map(({ key }) => key), totals.waiting]).toEqual([["c", "b", "a"], 3]);
    const waited = await snapshotOf(await view("?feed&only=waited"));
    expect(waited.locks.map(({ key }) => key)).toEqual(["c", "b"]);
    leaving.abort();
    await Promise.all(waiting);
    await Promise.all(held.map((lease) => lease.unlock()));
  });
});

describe("what it costs", () => {
  test("all viewers look by the same commands", async () => {
    const { time, looks, view } = open();
    await snapshotOf(await view());
    const before = looks.driver.names.length;
    await time.clock.advance(60_000);
    const ofOne = looks.driver.names.length - before;
    for (let nth = 0; nth < 8; nth += 1)
      await snapshotOf(await view(nth % 2 === 0 ? "?feed" : "?feed&match=a*"));
    const between = looks.driver.names.length;
    await time.clock.advance(60_000);
    const ofNine = looks.driver.names.length - between;
    expect(ofOne).toBeGreaterThan(50);
    expect(Math.abs(ofNine - ofOne)).toBeLessThan(10);
  });

  test("a viewer who leaves costs nothing any more: no command, no timer", async () => {
    const { time, looks, view } = open();
    const timers = time.clock.pendingTimers;
    const pages = [await view(), await view("?feed&match=a*")];
    await Promise.all(pages.map(snapshotOf));
    await time.clock.advance(30_000);
    await pages[0]?.leave();
    const half = looks.driver.names.length;
    await time.clock.advance(10_000);
    expect(looks.driver.names.length).toBeGreaterThan(half);
    await pages[1]?.leave();
    const sent = looks.driver.names.length;
    await time.clock.advance(HOUR_MS);
    expect([looks.driver.names.length, time.clock.pendingTimers]).toEqual([sent, timers]);
  });

  test("one who leaves in the middle of a look costs nothing either", async () => {
    const { time, looks, view } = open();
    const timers = time.clock.pendingTimers;
    looks.driver.cut();
    const page = await view();
    expect(looks.driver.names.length).toBe(1);
    await page.leave();
    looks.driver.mend();
    // What was sent is waited for, as any command is.
    await time.clock.advance(5_000);
    const sent = looks.driver.names.length;
    await time.clock.advance(HOUR_MS);
    expect([looks.driver.names.length, time.clock.pendingTimers]).toEqual([sent, timers]);
  });

  test("a page that asks now and then, as its feed is kept back, is looked for a while, then no more", async () => {
    const { time, looks, ask } = open();
    const first = (await (await ask("?snapshot")).json()) as FeedSnapshot;
    await time.clock.advance(5_000);
    const second = (await (await ask("?snapshot")).json()) as FeedSnapshot;
    expect(second.atMs - first.atMs).toBeGreaterThanOrEqual(5_000);
    await time.clock.advance(15_000);
    const sent = looks.driver.names.length;
    expect(sent).toBeGreaterThan(20);
    await time.clock.advance(HOUR_MS);
    expect([looks.driver.names.length, time.clock.pendingTimers]).toEqual([sent, 0]);
  });

  test("what has begun anew after a rest is told as it is now", async () => {
    const { time, ask } = open({ presence: true });
    const lease = await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
    await time.clock.advance(TOLD_MS);
    const before = (await (await ask("?snapshot")).json()) as FeedSnapshot;
    await lease.unlock();
    await time.clock.advance(HOUR_MS);
    const after = (await (await ask("?snapshot")).json()) as FeedSnapshot;
    expect([before, after].map(({ locks }) => locks.length)).toEqual([1, 0]);
  });
});

describe("while Redis is away", () => {
  test("the page and the feed say since when and why, nothing is cleared, and it comes back by itself", async () => {
    const { time, looks, view, ask } = open({ presence: true });
    const lease = await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
    await time.clock.advance(TOLD_MS);
    const page = await view();
    await snapshotOf(page);
    looks.driver.cut();
    const [away] = await eventsOf(page);
    expect(away).toMatchObject({ type: "redis-away", reason: expect.stringContaining(time.server.name) });
    await time.clock.advance(20_000);
    const changes = await changesOf(page);
    expect(changes.flatMap(({ put, gone }) => [...put, ...gone])).toEqual([]);
    expect(new Set(changes.map((change) => change.away?.sinceMs)).size).toBe(1);
    const snapshot = (await (await ask("?snapshot")).json()) as FeedSnapshot;
    expect(snapshot.locks.map(({ key }) => key)).toEqual(["a"]);
    expect(snapshot.away).toMatchObject({ reason: away?.reason });
    expect(snapshot.atMs - (snapshot.away?.sinceMs ?? 0)).toBeGreaterThan(19_000);
    expect(snapshot.locks[0]?.ttlMs).toBeLessThan(HOUR_MS - TOLD_MS - 19_000);
    looks.driver.mend();
    expect((await eventsOf(page)).map(({ type }) => type)).toEqual(["redis-back"]);
    expect((await changesOf(page)).at(-1)?.away).toBeNull();
    await lease.unlock();
    await page.leave();
  });

  test("a page that is opened meanwhile is told so, and what was known before", async () => {
    const { looks, view } = open();
    looks.driver.cut();
    const page = await view();
    const { away, locks, events } = await snapshotOf(page);
    expect([away?.reason, locks, events.map(({ type }) => type)]).toEqual([
      expect.stringContaining("did not answer"),
      [],
      ["redis-away"],
    ]);
    looks.driver.mend();
    expect((await eventsOf(page)).map(({ type }) => type)).toEqual(["redis-back"]);
    await page.leave();
  });

  test("it is asked each few seconds, not all the time", async () => {
    const { time, looks, view } = open();
    looks.driver.cut();
    const page = await view();
    await snapshotOf(page);
    const before = looks.driver.names.length;
    await time.clock.advance(60_000);
    expect(looks.driver.names.length - before).toBeLessThan(60);
    await page.leave();
  });
});

describe("events", () => {
  test("tell losses, clients that are gone, and locks that are stale", async () => {
    const { time, view, connect } = open();
    const { holdfast, driver } = connect({ presence: { app: "worker" } });
    const rest = connect({ presence: { app: "other" } });
    const [lost] = await Promise.all([holdfast.getLock("lost").lock(), holdfast.getLock("stale").lock()]);
    await time.clock.advance(TOLD_MS);
    const page = await view();
    await snapshotOf(page);
    time.server.command("DEL", "lost");
    await time.clock.advance(20_000);
    const [loss] = await eventsOf(page);
    expect(loss).toMatchObject({
      type: "lost",
      key: "lost",
      reason: "stolen",
      client: expect.stringContaining("worker"),
    });
    expect(lost.state).toBe("lost");
    driver.cut();
    await time.clock.advance(28_000);
    const told = await eventsOf(page);
    expect(told.map(({ type, key, client }) => [type, key, client?.split("@")[0]])).toEqual([
      ["gone", undefined, "worker"],
      ["stale", "stale", undefined],
    ]);
    const stale = await view("?feed&only=stale");
    expect((await snapshotOf(stale)).locks.map(({ key }) => key)).toEqual(["stale"]);
    driver.mend();
    await rest.holdfast.close();
    await page.leave();
  });
});

describe("numbers over time", () => {
  test("have a point for each ten seconds, summed from what clients tell", async () => {
    const { time, view, ask } = open({ presence: true });
    const other = time.connect({ presence: true }).holdfast;
    const page = await view();
    await snapshotOf(page);
    await time.clock.advance(21_000);
    const held = await time.holdfast.getLock("hot").lock();
    const waiting = other.getLock("hot").lock();
    await time.clock.advance(25_000);
    await held.unlock();
    await (await waiting).unlock();
    await time.clock.advance(25_000);
    const points = (await changesOf(page)).flatMap(({ point }) => point ?? []) as Point[];
    const { history } = (await (await ask("?snapshot")).json()) as FeedSnapshot;
    expect(history).toEqual(points);
    expect(points.length).toBeGreaterThanOrEqual(6);
    expect(new Set(points.slice(1).map(({ atMs }, at) => atMs - (points[at]?.atMs ?? 0)))).toEqual(
      new Set([10_000]),
    );
    expect(points.reduce((sum, { acquired }) => sum + acquired, 0)).toBe(2);
    expect(points.reduce((sum, { contentions }) => sum + contentions, 0)).toBe(1);
    expect(Math.max(...points.map((point) => point.waiting))).toBe(1);
    expect(points.find(({ busiest }) => busiest.length > 0)?.busiest).toEqual([{ key: "hot", waiting: 1 }]);
    expect(Math.max(...points.map(({ longestMs }) => longestMs))).toBeGreaterThanOrEqual(20_000);
    await page.leave();
  });

  test("are kept for as long as was asked for", async () => {
    const { time, view, ask } = open({}, { historyMinutes: 1 });
    const page = await view();
    await snapshotOf(page);
    await time.clock.advance(120_000);
    const { history } = (await (await ask("?snapshot")).json()) as FeedSnapshot;
    expect(history).toHaveLength(6);
    await page.leave();
  });
});

describe("the end", () => {
  test("of the client ends all feeds, and what is asked for later is not there", async () => {
    // The next look, which would find out as well, is far away.
    const { looks, view, ask, time } = open({}, { refreshMs: 60_000 });
    const page = await view();
    await snapshotOf(page);
    const closing = looks.holdfast.close();
    await time.clock.advance(5_000);
    await closing;
    expect([page.isEnded, (await ask("?snapshot")).status, (await ask("?feed")).status]).toEqual([
      true,
      503,
      503,
    ]);
  });

  test("of the inspector does so too", async () => {
    const { locks, view, ask } = open();
    const page = await view();
    await snapshotOf(page);
    locks.close();
    expect((await ask("?feed")).status).toBe(503);
    expect(page.isEnded).toBe(true);
  });
});

test("a lost answer changes nothing", async () => {
  const { time, looks, view } = open({ presence: true });
  const lease = await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
  await time.clock.advance(TOLD_MS);
  const page = await view();
  await snapshotOf(page);
  const lost = looks.driver.next(loseReply, "lock-inspect-many");
  await time.clock.advance(10_000);
  expect((await lost).deliveries).toBe(1);
  expect((await changesOf(page)).flatMap(({ put, gone }) => [...put, ...gone])).toEqual([]);
  await lease.unlock();
  await page.leave();
});
