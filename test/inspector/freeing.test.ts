import { describe, expect, test } from "vitest";
import type { FeedSnapshot, Freed, LockDetail } from "../../src/inspector/format.js";
import { digestOf } from "../../src/inspector/rows.js";
import { shellLine } from "../../src/inspector/told.js";
import { type Inspecting, inspecting } from "../support/worlds/inspecting.js";
import { JVM } from "../support/worlds/listed.js";

const open = inspecting();
const HOUR_MS = 3_600_000;
const TOLD_MS = 12_000;
const OF_PAGE = { "sec-fetch-site": "same-origin" };

async function free({ ask }: Inspecting, key: string, seen: string) {
  const headers = { ...OF_PAGE, "holdfast-seen": seen };
  const response = await ask(`?free=${encodeURIComponent(key)}`, { method: "POST", headers });
  return { status: response.status, ...((await response.json()) as Partial<Freed> & { error?: string }) };
}

async function detailOf({ ask }: Inspecting, key: string): Promise<LockDetail> {
  return (await (await ask(`?lock=${encodeURIComponent(key)}`)).json()) as LockDetail;
}

/** What was shown of a lock. */
async function seenOf(world: Inspecting, key: string): Promise<string> {
  return (await detailOf(world, key)).lock?.seen ?? "";
}

describe("a digest", () => {
  const [one, other] = [
    { holder: `${JVM}:1`, count: 1 },
    { holder: `${JVM}:2`, count: 1 },
  ];
  test("names the key, its holders in any order, and how often each has it", () => {
    const digest = digestOf("a", [one, other]);
    expect(digest).toMatch(/^[\w-]{43}$/);
    expect(digestOf("a", [other, one])).toBe(digest);
    const others = [
      digestOf("b", [one, other]),
      digestOf("a", [one]),
      digestOf("a", []),
      digestOf("a", [one, { ...other, count: 2 }]),
      digestOf("a", [one, { ...other, holder: `${JVM}:3` }]),
    ];
    expect(new Set([digest, ...others]).size).toBe(6);
  });
});

describe("a free", () => {
  test("frees what was shown, and says what it was in the details", async () => {
    const world = open({ presence: { app: "billing" } });
    const { time } = world;
    const lease = await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
    await time.clock.advance(TOLD_MS);
    const seen = await seenOf(world, "a");
    expect(await free(world, "a", seen)).toEqual({ status: 200, outcome: "released", now: null });
    expect(time.fields("a")).toEqual({});
    const { changes } = await detailOf(world, "a");
    expect(changes[0]).toMatchObject({
      type: "forced",
      text: expect.stringMatching(/^freed by force by ada: no reason given; held by billing@.* pid \d+ \(/),
    });
    expect(await free(world, "a", seen)).toEqual({ status: 200, outcome: "absent", now: null });
    expect(lease.state).toBe("held");
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("disk full");
      },
    ],
    ["rejects", () => Promise.reject(new Error("disk full"))],
  ])("is done and told where the function for log lines %s [own-108]", async (_, log: () => unknown) => {
    const world = open({ presence: true }, { log });
    await world.time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
    await world.time.clock.advance(TOLD_MS);
    expect(await free(world, "a", await seenOf(world, "a"))).toMatchObject({
      status: 200,
      outcome: "released",
    });
    const { changes } = await detailOf(world, "a");
    expect(changes.map(({ text }) => text)).toContain(
      "the log line about it was not written: Error: disk full",
    );
  });

  test("of a lock that has passed on meanwhile does nothing, and says who has it now", async () => {
    const world = open({ presence: true });
    const { time, connect } = world;
    const { holdfast: other } = connect({ presence: { app: "worker" } });
    const lease = await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
    await time.clock.advance(TOLD_MS);
    const seen = await seenOf(world, "a");
    await lease.unlock();
    const next = await other.getLock("a").lock({ leaseMs: HOUR_MS });
    expect(await free(world, "a", seen)).toEqual({
      status: 200,
      outcome: "changed",
      now: expect.stringMatching(/^worker@.*\(/),
    });
    expect(Object.keys(time.fields("a"))).toEqual([next.holder]);
    await next.unlock();
  });

  test("of a lock that passes on between the look and the command does nothing either", async () => {
    const world = open({ presence: true });
    const { time, looks } = world;
    await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
    await time.clock.advance(TOLD_MS);
    const seen = await seenOf(world, "a");
    const passesOn = {
      name: "passes on",
      meet: (deliver: () => Promise<never>) => {
        time.server.command("DEL", "a");
        time.server.command("HSET", "a", `${JVM}:5`, "1");
        return deliver();
      },
    };
    void looks.driver.next(passesOn as never, "fair-force-unlock");
    expect(await free(world, "a", seen)).toEqual({
      status: 200,
      outcome: "changed",
      now: expect.stringContaining(`${JVM}:5`),
    });
    expect(time.fields("a")).toEqual({ [`${JVM}:5`]: "1" });
    time.server.command("DEL", "a");
  });

  test("frees readers, writers, fair and fenced locks, and locks of JVMs", async () => {
    const world = open({ presence: true });
    const { time } = world;
    const { holdfast } = time;
    const how = { leaseMs: HOUR_MS };
    await holdfast.getReadWriteLock("read").readLock().lock(how);
    await holdfast.getReadWriteLock("written").writeLock().lock(how);
    await holdfast.getFairLock("fair").lock(how);
    await holdfast.getFencedLock("fenced").lock(how);
    time.server.command("HSET", "jvm", `${JVM}:57`, "2");
    const end = time.server.subscribe("redisson_lock__channel:{jvm}", () => undefined);
    await time.clock.advance(TOLD_MS);
    for (const key of ["read", "written", "fair", "fenced", "jvm"]) {
      const seen = await seenOf(world, key);
      expect([key, await free(world, key, seen)]).toEqual([
        key,
        { status: 200, outcome: "released", now: null },
      ]);
      expect(time.fields(key)).toEqual({});
    }
    end();
    time.server.flush();
  });

  test("of what was never listed does nothing, and reads nothing: the key may be any key", async () => {
    const world = open();
    const { time, looks } = world;
    time.server.command("HSET", "secret", "password", "x");
    const digest = digestOf("secret", [{ holder: "password", count: 1 }]);
    const before = looks.driver.names.length;
    expect(await free(world, "secret", digest)).toEqual({
      status: 400,
      error: "no lock with this key is known",
    });
    expect(looks.driver.names.length).toBe(before);
    expect(await detailOf(world, "secret")).toMatchObject({ lock: null, unlock: null, changes: [] });
    time.server.command("DEL", "secret");
  });

  test("of permits does nothing", async () => {
    const world = open({ presence: true });
    const { time } = world;
    const semaphore = time.holdfast.getPermitExpirableSemaphore("s");
    await semaphore.trySetPermits(1);
    const permit = await semaphore.acquire({ leaseMs: HOUR_MS });
    await time.clock.advance(TOLD_MS);
    const { lock } = await detailOf(world, "s");
    expect(lock?.kind).toBe("permit-expirable-semaphore");
    expect(await free(world, "s", lock?.seen ?? "")).toEqual({
      status: 400,
      error: "it is not a lock, so it has no holder to free it from",
    });
    await permit.release();
    time.server.flush();
  });

  test("finds locks of a nameMapper that is a prefix, and of one that is not", async () => {
    for (const nameMapper of [(name: string) => `app:${name}`, (name: string) => `${name}:lock`]) {
      const world = open({ presence: true, nameMapper });
      const { time, connect } = world;
      const { inspector } = await import("../../src/inspector/index.js");
      const looks = connect({ nameMapper });
      const authorize = () => ({ role: "operate" }) as const;
      const locks = inspector(looks.holdfast, { authorize, clock: time.clock });
      const ask = async (search: string, init: RequestInit = {}) =>
        locks.fetch(new Request(`http://localhost/${search}`, init));
      await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
      await time.clock.advance(TOLD_MS);
      const key = nameMapper("a");
      const { lock } = (await (await ask(`?lock=${key}`)).json()) as LockDetail;
      const headers = { ...OF_PAGE, "holdfast-seen": lock?.seen ?? "" };
      const freed = await ask(`?free=${key}`, { method: "POST", headers });
      expect(await freed.json()).toEqual({ outcome: "released", now: null });
      expect(time.fields(key)).toEqual({});
      locks.close();
    }
  });

  test("says so where it can not be looked at, as its name is not known", async () => {
    const nameMapper = (name: string) => `${name}:lock`;
    const { time, connect } = open({ presence: true, nameMapper });
    const { inspector } = await import("../../src/inspector/index.js");
    const locks = inspector(connect({ nameMapper }).holdfast, {
      authorize: () => ({ role: "operate" }),
      clock: time.clock,
    });
    const ask = async (search: string, init: RequestInit = {}) =>
      locks.fetch(new Request(`http://localhost/${search}`, init));
    const lease = await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
    await time.clock.advance(TOLD_MS);
    const { lock } = (await (await ask("?lock=a:lock")).json()) as LockDetail;
    await lease.unlock();
    const headers = { ...OF_PAGE, "holdfast-seen": lock?.seen ?? "" };
    const freed = await ask("?free=a:lock", { method: "POST", headers });
    expect([freed.status, await freed.json()]).toEqual([
      400,
      { error: "its name is not known: the nameMapper of this client does more than add a prefix" },
    ]);
    locks.close();
  });

  test("says that Redis is away when it is", async () => {
    const world = open({ presence: true });
    const { time, looks } = world;
    const lease = await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
    await time.clock.advance(TOLD_MS);
    const seen = await seenOf(world, "a");
    looks.driver.cut();
    const answered = await free(world, "a", seen);
    expect(answered).toMatchObject({
      ...{ status: 503, error: expect.stringContaining("did not answer") },
      // It was looked at, and no more.
      nothingDone: true,
    });
    looks.driver.mend();
    await lease.unlock();
  });
});

describe("a scan", () => {
  const scan = ({ ask }: Inspecting) =>
    ask("?scan", { method: "POST", headers: { ...OF_PAGE, "holdfast-scan": "1" } });

  test("lists what no other source finds, one at a time, and the feed tells how far it is", async () => {
    const world = open();
    const { time, view } = world;
    time.server.command("HSET", "hidden", `${JVM}:57`, "1");
    time.server.command("PEXPIRE", "hidden", 600_000);
    const page = await view();
    const [first] = (await page.next("snapshot")) as FeedSnapshot[];
    expect([first?.locks, first?.scan]).toEqual([[], null]);
    const [one, other] = await Promise.all([scan(world), scan(world)]);
    expect([one?.status, other?.status]).toEqual([202, 409]);
    await time.clock.advance(5_000);
    const changes = (await page.next("change")) as FeedSnapshot[];
    expect(changes.at(-1)?.scan).toMatchObject({ state: "done", found: 1, reason: null });
    const { lock, unlock } = await detailOf(world, "hidden");
    expect(lock).toMatchObject({ sources: ["scan"], holders: [{ by: "jvm" }] });
    expect(lock?.ttlMs).toBeLessThan(596_000);
    expect(unlock).toBe(`holdfast unlock --holder ${JVM}:57 -- hidden`);
    // It is not looked at any more, and so is not shown for long.
    await time.clock.advance(60_000);
    expect((await detailOf(world, "hidden")).lock).toBeNull();
    expect((await scan(world)).status).toBe(202);
    await page.leave();
    time.server.command("DEL", "hidden");
  });

  test("ends when nobody looks any more", async () => {
    const world = open();
    const { time, looks, view } = world;
    for (let nth = 0; nth < 2_000; nth += 1) time.server.command("HSET", `k${nth}`, "field", "1");
    const page = await view();
    await page.next("snapshot");
    await scan(world);
    await page.leave();
    // The request itself counts as a look for some seconds.
    await time.clock.advance(30_000);
    const sent = looks.driver.names.length;
    await time.clock.advance(HOUR_MS);
    expect([looks.driver.names.length, time.clock.pendingTimers]).toEqual([sent, 0]);
    time.server.flush();
  });

  test("says why it has failed", async () => {
    const world = open();
    const { time, looks, view } = world;
    const page = await view();
    await page.next("snapshot");
    looks.driver.refused.set("find-hashes", new Error("NOPERM no right to scan"));
    await scan(world);
    await time.clock.advance(10_000);
    const changes = (await page.next("change")) as FeedSnapshot[];
    expect(changes.at(-1)?.scan).toMatchObject({ state: "failed", found: 0 });
    await page.leave();
  });
});

describe("a user of small rights", () => {
  test("sees what presence tells, and is told what can not be seen", async () => {
    const { ServerReplyError } = await import("../../src/index.js");
    const world = open({ presence: true });
    const { time, looks, ask } = world;
    const lease = await time.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
    await time.clock.advance(TOLD_MS);
    const refusal = new ServerReplyError(
      "NOPERM this user has no permissions to run the 'pubsub|channels' command",
    );
    looks.driver.refused.set("find-channels", refusal);
    const snapshot = (await (await ask("?snapshot")).json()) as FeedSnapshot;
    expect([snapshot.locks.map(({ key }) => key), snapshot.away]).toEqual([["a"], null]);
    expect(snapshot.blind).toEqual([expect.stringMatching(/^Channels cannot be read.*NOPERM/)]);
    expect(await (await ask("?me")).json()).toMatchObject({ blind: snapshot.blind });
    await lease.unlock();
  });
});

describe("the line that frees from a shell", () => {
  const holder = (text: string) => ({
    ...{ holder: text, count: 1, by: "jvm" as const, client: null },
    ...{ sinceMs: null, renewed: null, note: null },
  });
  test.each([
    ["order:42", 1, `holdfast unlock --holder ${JVM}:1 -- order:42`],
    ["-f", 1, `holdfast unlock --holder ${JVM}:1 -- -f`],
    ["it's; rm -rf ~", 1, `holdfast unlock --holder ${JVM}:1 -- 'it'\\''s; rm -rf ~'`],
    ["$(reboot)", 2, "holdfast unlock --force -- '$(reboot)'"],
    ["a\nb", 1, null],
    ["a\u202eb", 1, null],
    ["free", 0, null],
  ])("of %j with %i holders is %j", (key, count, line) => {
    const holders = Array.from({ length: count }, (_, at) => holder(`${JVM}:${at + 1}`));
    expect(shellLine({ key, kind: "lock", holders, more: { holders: 0, waiting: 0 } })).toBe(line);
  });

  test("frees by force what has more holders than are listed", () => {
    const holders = [holder(`${JVM}:1`)];
    expect(shellLine({ key: "a", kind: "lock", holders, more: { holders: 7, waiting: 0 } })).toBe(
      "holdfast unlock --force -- a",
    );
  });
});
