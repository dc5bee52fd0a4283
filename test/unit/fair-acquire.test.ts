import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fairAcquire, fairTimes } from "../../src/protocol/fair-scripts.js";
import type { AcquireAnswer, AcquireCall, AcquireItem } from "../../src/protocol/lock-calls.js";
import { ALIVE, JVM_1, JVM_2, QUEUE, TIMEOUTS } from "../support/models/fair-queue.js";
import {
  A,
  B,
  C,
  CHANNEL,
  company,
  contents,
  DAY_MS,
  type FairServer,
  fairServers,
  holds,
  line,
  living,
  PARTS,
  SCORE_MS,
  SLACK_MS,
  stored,
  ttlOf,
  waits,
} from "../support/servers/fair-servers.js";

const LEASE_MS = 600_000;
const NEVER = Number.MAX_SAFE_INTEGER;
const EMPTY = { queue: [], timeouts: {}, alive: {} };

function acquisition(holder: string, options: Partial<AcquireItem> = {}): AcquireItem {
  return {
    key: "a",
    holder,
    leaseMs: LEASE_MS,
    heldCount: 0,
    kin: "",
    waits: true,
    fenced: false,
    channel: CHANNEL,
    ...options,
  };
}

describe.each(fairServers)("fair-acquire on $name", ({ open }) => {
  let server: FairServer;
  beforeAll(async () => {
    server = await open();
  });
  beforeEach(async () => {
    await server.full(false);
    await server.raw("DEL", "a", "b", QUEUE, TIMEOUTS, ALIVE);
    await server.heard();
  });
  afterAll(() => server.close());

  /** One lock, with the server's time of the answer. */
  async function acquire(
    holder: string,
    options: Partial<AcquireItem> = {},
    call: Partial<AcquireCall> = {},
  ): Promise<{ readonly serverMs: number; readonly answer: AcquireAnswer | undefined }> {
    const locks = [acquisition(holder, options)];
    const { serverMs, reply } = await server.run(fairAcquire, { notAfterMs: NEVER, ...call, locks });
    expect(reply).toHaveLength(1);
    return { serverMs, answer: reply[0] };
  }

  async function expectTtl(key: string, ms: number): Promise<void> {
    const ttlMs = await ttlOf(server, key);
    expect(ttlMs).toBeLessThanOrEqual(ms);
    expect(ttlMs).toBeGreaterThan(ms - SLACK_MS);
  }

  describe("a lock that nobody has", () => {
    test("is taken with its lease, and nothing else is stored", async () => {
      expect((await acquire(A)).answer).toEqual({ status: "held" });
      expect(await stored(server)).toEqual({ fields: { [A]: "1" }, ...EMPTY });
      await expectTtl("a", LEASE_MS);
      expect(await server.heard()).toEqual([]);
    });

    test("is taken by the head of its queue, who leaves no trace there", async () => {
      const nowMs = await waits(server, A, living);
      await waits(server, B, living);
      expect((await acquire(A)).answer).toEqual({ status: "held" });
      const { fields, queue, timeouts, alive } = await stored(server);
      expect([fields, queue]).toEqual([{ [A]: "1" }, [B]]);
      expect([Object.keys(timeouts), Object.keys(alive)]).toEqual([[B], [B]]);
      expect(timeouts[B]).toBeGreaterThanOrEqual(nowMs + SCORE_MS);
      await expectTtl("a", LEASE_MS);
    });

    test("takes off the JVMs behind the one who enters what it had added to their scores, and off no others [own-4]", async () => {
      await waits(server, A, { timeoutMs: 1_000_000, aliveMs: 60_000 });
      await waits(server, JVM_1, { timeoutMs: 1_004_000 });
      await waits(server, B, living);
      await waits(server, JVM_2, { timeoutMs: 1_308_000 });
      const before = await stored(server);
      const { serverMs, answer } = await acquire(A, { leaseMs: 60_000 });
      expect(answer).toEqual({ status: "held" });
      const { queue, timeouts } = await stored(server);
      expect(queue).toEqual([JVM_1, B, JVM_2]);
      // Its own wait, from when the lease may end: as Redisson has it for one that comes now.
      const own = (before.timeouts[JVM_1] ?? 0) - (before.timeouts[A] ?? 0);
      const nearer = (timeouts[JVM_1] ?? 0) - serverMs;
      expect(nearer).toBeLessThanOrEqual(60_000 + own);
      expect(nearer).toBeGreaterThan(60_000 + own - SLACK_MS);
      const by = (before.timeouts[JVM_1] ?? 0) - (timeouts[JVM_1] ?? 0);
      expect(timeouts[JVM_2]).toBe((before.timeouts[JVM_2] ?? 0) - by);
      expect(timeouts[B]).toBe(before.timeouts[B]);
    });

    test("leaves a JVM that is next then the time to hear of it, however long it has waited", async () => {
      await waits(server, A, living);
      await waits(server, JVM_1, { timeoutMs: -600_000 });
      const { serverMs } = await acquire(A, { leaseMs: 60_000 });
      const left = ((await stored(server)).timeouts[JVM_1] ?? 0) - serverMs;
      expect(left).toBeLessThanOrEqual(60_000);
      expect(left).toBeGreaterThan(60_000 - SLACK_MS);
    });

    test("goes to the next one of ours when somebody else asks, who is told and comes behind [B10]", async () => {
      await waits(server, A, living);
      const { serverMs, answer } = await acquire(B);
      expect(answer).toMatchObject({ status: "queued", holder: A, isHead: true });
      const { fields, queue, timeouts, alive } = await stored(server);
      expect([fields, queue]).toEqual([{ [A]: "1" }, [B]]);
      expect(timeouts).toEqual({ [B]: serverMs + SCORE_MS });
      expect(alive).toEqual({ [B]: serverMs + fairTimes.aliveMs });
      const ttlMs = await ttlOf(server, "a");
      expect(ttlMs).toBeGreaterThan(0);
      expect(ttlMs).toBeLessThanOrEqual(fairTimes.grantMs);
      expect(await server.heard()).toEqual([[A, String(serverMs + fairTimes.grantMs)]]);
    });

    test("is offered to the JVM that is next, and to nobody else, when somebody asks [wire-L1]", async () => {
      await waits(server, JVM_1, { timeoutMs: 1_000_000 });
      expect((await acquire(A)).answer).toEqual({
        status: "queued",
        ttlMs: -2,
        holder: "",
        isHead: false,
        meetsJvm: true,
        pushed: true,
      });
      expect((await acquire(B, { waits: false })).answer).toEqual({
        status: "busy",
        ttlMs: fairTimes.grantMs,
        holder: JVM_1,
      });
      expect(await line(server)).toEqual({ fields: {}, queue: [JVM_1, A] });
      expect(await server.heard()).toEqual([
        [JVM_1, "0"],
        [JVM_1, "0"],
      ]);
    });

    test("is not taken by one who does not wait while somebody else is next", async () => {
      await waits(server, A, living);
      expect((await acquire(B, { waits: false })).answer).toMatchObject({ status: "busy", holder: A });
      expect(await line(server)).toEqual({ fields: { [A]: "1" }, queue: [] });
    });
  });

  describe("a lock that somebody has", () => {
    beforeEach(() => holds(server, C));

    test("has those who wait in its queue, in the order in which they asked; all of ours add to the scores once [wire-L7] [own-4]", async () => {
      const first = await acquire(A);
      const second = await acquire(B);
      const ttlMs = expect.any(Number);
      expect(first.answer).toEqual({
        status: "queued",
        ttlMs,
        holder: C,
        isHead: true,
        meetsJvm: false,
        pushed: true,
      });
      expect(second.answer).toEqual({
        status: "queued",
        ttlMs,
        holder: C,
        isHead: false,
        meetsJvm: false,
        pushed: true,
      });
      expect(await stored(server)).toEqual({
        fields: { [C]: "1" },
        queue: [A, B],
        timeouts: { [A]: first.serverMs + SCORE_MS, [B]: first.serverMs + SCORE_MS },
        alive: { [A]: first.serverMs + fairTimes.aliveMs, [B]: second.serverMs + fairTimes.aliveMs },
      });
      await expectTtl(ALIVE, DAY_MS);
      for (const key of [QUEUE, TIMEOUTS]) await expectTtl(key, DAY_MS + SCORE_MS);
      expect(await server.heard()).toEqual([]);
    });

    test.each([
      ["has", SCORE_MS - fairTimes.horizonMs / 2 + SLACK_MS / 2, false],
      ["is not to have", SCORE_MS - fairTimes.horizonMs / 2 - 1, true],
    ])(
      "gives one who comes the score that the last of ours %s until its next sign of life",
      async (_, timeoutMs, isRaised) => {
        const nowMs = await waits(server, B, { ...living, timeoutMs });
        for (const key of [QUEUE, TIMEOUTS]) await server.raw("PEXPIRE", key, DAY_MS + timeoutMs);
        const { serverMs } = await acquire(A);
        const { timeouts } = await stored(server);
        expect(timeouts).toEqual({
          [B]: nowMs + timeoutMs,
          [A]: isRaised ? serverMs + SCORE_MS : nowMs + timeoutMs,
        });
        for (const key of [QUEUE, TIMEOUTS]) await expectTtl(key, DAY_MS + (isRaised ? SCORE_MS : timeoutMs));
      },
    );

    describe("who may free the lock and tell the waiters as a JVM does", () => {
      test.each(company)("%s: %j", async (_, meetsJvm, come) => {
        await come(server);
        for (const _ of ["comes", "asks again"])
          expect((await acquire(A)).answer).toMatchObject({ status: "queued", meetsJvm });
      });
    });

    test("keeps the place and the score of one who asks again, and takes it for a sign of life", async () => {
      await waits(server, A, { timeoutMs: 2 * SCORE_MS, aliveMs: 1 });
      await waits(server, B, living);
      const before = await stored(server);
      const { serverMs, answer } = await acquire(A);
      expect(answer).toMatchObject({ status: "queued", isHead: true });
      const after = await stored(server);
      expect(after.queue).toEqual([A, B]);
      expect(after.timeouts).toEqual(before.timeouts);
      expect(after.alive).toEqual({ ...before.alive, [A]: serverMs + fairTimes.aliveMs });
    });

    test("gives one who comes behind a JVM a score that outlives what the JVM takes off when it leaves [R22]", async () => {
      const nowMs = await waits(server, JVM_1, { timeoutMs: 5_000_000 });
      await acquire(A);
      await acquire(B);
      const ours = nowMs + 5_000_000 + SCORE_MS;
      const { timeouts } = await stored(server);
      expect(timeouts).toEqual({ [JVM_1]: nowMs + 5_000_000, [A]: ours, [B]: ours });
      // Both keys go a day after the last of them could have been alive.
      for (const key of [QUEUE, TIMEOUTS]) await expectTtl(key, DAY_MS + 5_000_000 + SCORE_MS);
    });

    test("raises the expiry of a queue that JVMs stand in, which Redisson never does, to a time that is one [own-3]", async () => {
      await waits(server, JVM_1, { timeoutMs: 2 * DAY_MS });
      await waits(server, A, living);
      for (const key of [QUEUE, TIMEOUTS]) await server.raw("PEXPIRE", key, 1_000_000);
      await acquire(A);
      for (const key of [QUEUE, TIMEOUTS]) await expectTtl(key, 3 * DAY_MS);
      await server.raw("ZADD", TIMEOUTS, "9.2e18", JVM_1);
      expect((await acquire(A)).answer).toMatchObject({ status: "queued" });
      for (const key of [QUEUE, TIMEOUTS]) expect(await ttlOf(server, key)).toBeGreaterThan(3_600 * DAY_MS);
    });

    test("mends the place of one whose scores are lost [wire-L5] [B11]", async () => {
      await waits(server, A);
      await waits(server, B);
      const { serverMs, answer } = await acquire(B);
      expect(answer).toMatchObject({ status: "queued", isHead: false });
      expect(await stored(server)).toMatchObject({
        queue: [A, B],
        timeouts: { [B]: serverMs + SCORE_MS },
        alive: { [B]: serverMs + fairTimes.aliveMs },
      });
    });

    test("tells a waiter whether this very call put its field into the queue", async () => {
      const pushed = async (holder: string) => (await acquire(holder)).answer;
      expect(await pushed(A)).toMatchObject({ status: "queued", pushed: true });
      expect(await pushed(B)).toMatchObject({ status: "queued", pushed: true });
      expect(await pushed(A)).toMatchObject({ status: "queued", pushed: false });
      expect(await pushed(B)).toMatchObject({ status: "queued", pushed: false });
      // It lost its place: the field that comes back is at the end, and new there.
      await server.raw("LREM", QUEUE, 1, A);
      expect(await pushed(A)).toMatchObject({ status: "queued", pushed: true });
      expect((await stored(server)).queue).toEqual([B, A]);
    });

    test("says so to one who does not wait, and stores nothing", async () => {
      const before = await contents(server);
      const { answer } = await acquire(A, { waits: false });
      expect(answer).toEqual({ status: "busy", ttlMs: expect.any(Number), holder: C });
      expect(await contents(server)).toEqual(before);
    });

    test("tells -1 when it has no TTL, and its holder, not the mode of a read-write lock", async () => {
      await server.raw("DEL", "a");
      await server.raw("HSET", "a", "mode", "read", C, 1);
      expect((await acquire(A)).answer).toEqual({
        status: "queued",
        ttlMs: -1,
        holder: C,
        isHead: true,
        meetsJvm: false,
        pushed: true,
      });
      expect((await acquire(B, { waits: false })).answer).toEqual({ status: "busy", ttlMs: -1, holder: C });
    });
  });

  describe("one who is in already", () => {
    test("gets the lock once more when the command comes again, with its lease from then on", async () => {
      await holds(server, A, 1, 120_000);
      expect((await acquire(A)).answer).toEqual({ status: "held" });
      expect(await stored(server)).toEqual({ fields: { [A]: "1" }, ...EMPTY });
      await expectTtl("a", LEASE_MS);
    });

    test("has its own lease instead of what it was given, also a shorter one", async () => {
      await holds(server, A, 1, 900_000);
      await acquire(A);
      await expectTtl("a", LEASE_MS);
    });

    test("is taken out of the queue when it still stands there", async () => {
      await holds(server, A);
      await waits(server, A, living);
      expect((await acquire(A)).answer).toEqual({ status: "held" });
      expect(await stored(server)).toEqual({ fields: { [A]: "1" }, ...EMPTY });
    });

    test("re-enters past those who wait, once however often the command comes; the TTL is raised", async () => {
      await holds(server, A);
      await waits(server, B, living);
      for (const _ of ["first", "again"]) {
        expect((await acquire(A, { heldCount: 1 })).answer).toEqual({ status: "held" });
        expect(await line(server)).toEqual({ fields: { [A]: "2" }, queue: [B] });
      }
      await expectTtl("a", LEASE_MS);
    });

    test("re-enters without lowering the TTL", async () => {
      await holds(server, A, 1, 900_000);
      await acquire(A, { heldCount: 1 });
      await expectTtl("a", 900_000);
    });

    test("is told when its count is another than it thinks", async () => {
      await holds(server, A, 3);
      const before = await contents(server);
      expect((await acquire(A, { heldCount: 1 })).answer).toEqual({ status: "miscounted", holdCount: "3" });
      expect(await contents(server)).toEqual(before);
    });

    test("is told that it has lost the lock, whether or not somebody else has it", async () => {
      expect((await acquire(A, { heldCount: 1 })).answer).toEqual({ status: "lost" });
      await holds(server, B);
      expect((await acquire(A, { heldCount: 1 })).answer).toEqual({ status: "lost" });
      expect(await stored(server)).toEqual({ fields: { [B]: "1" }, ...EMPTY });
    });
  });

  describe("what may not be", () => {
    test("a late command changes nothing [R2]", async () => {
      await waits(server, B, living);
      const before = await contents(server);
      const { answer } = await acquire(A, {}, { notAfterMs: 1 });
      expect(answer).toEqual({ status: "late" });
      expect([await contents(server), await server.heard()]).toEqual([before, []]);
    });

    test.each(PARTS)(
      "a key %s that is no %s is told and not touched, and nor are the others",
      async (key) => {
        await waits(server, B, living);
        await server.raw("DEL", key);
        await server.raw("SET", key, "text");
        const before = await contents(server);
        expect((await acquire(A)).answer).toEqual({ status: "wrong-type", type: "string" });
        expect(await contents(server)).toEqual(before);
        expect(await server.heard()).toEqual([]);
      },
    );

    test.each(PARTS)(
      "of a lock that somebody has neither, to one who wants to stand in its queue: %s, no %s",
      async (key) => {
        if (key !== "a") await holds(server, C);
        await server.raw("SET", key, "text");
        const before = await contents(server);
        expect((await acquire(A)).answer).toEqual({ status: "wrong-type", type: "string" });
        expect(await contents(server)).toEqual(before);
      },
    );

    test("a full server refuses to give a lock or a place, and says so", async () => {
      await server.full(true);
      const refused = { status: "refused", message: expect.stringContaining("OOM") };
      expect((await acquire(A)).answer).toEqual(refused);
      await server.full(false);
      await holds(server, C);
      await server.full(true);
      expect((await acquire(A)).answer).toEqual(refused);
      expect(await stored(server)).toEqual({ fields: { [C]: "1" }, ...EMPTY });
    });

    test("a full server lets those who wait keep their places, also without their helper entries", async () => {
      await waits(server, JVM_1);
      await waits(server, A);
      await server.full(true);
      expect((await acquire(A)).answer).toMatchObject({ status: "queued", isHead: false });
      expect((await acquire(C, { waits: false })).answer).toMatchObject({ status: "busy", holder: JVM_1 });
      expect((await stored(server)).queue).toEqual([JVM_1, A]);
    });

    test("a full server does not keep one from the lock that it was given there [R28]", async () => {
      await holds(server, A, 1, 4_000);
      await server.full(true);
      expect((await acquire(A)).answer).toEqual({ status: "held" });
      await expectTtl("a", LEASE_MS);
    });
  });

  describe("several locks in one call", () => {
    function acquireBoth(call: Partial<AcquireCall> = {}): Promise<readonly AcquireAnswer[]> {
      const b = { key: "b", channel: "redisson_lock__channel:{b}" };
      const locks = [acquisition(A), acquisition(A, b)];
      return server.run(fairAcquire, { notAfterMs: NEVER, ...call, locks }).then(({ reply }) => reply);
    }

    test("are answered each by itself [R27]", async () => {
      await server.raw("SET", "a", "text");
      expect(await acquireBoth()).toEqual([{ status: "wrong-type", type: "string" }, { status: "held" }]);
      expect(await server.raw("HGET", "b", A)).toBe("1");
    });

    test("are all taken when they are wanted together", async () => {
      expect(await acquireBoth({ together: true })).toEqual([{ status: "held" }, { status: "held" }]);
    });

    test("are none taken when one is not to be had; nobody stands in a queue then", async () => {
      await holds(server, C);
      const before = await contents(server);
      expect(await acquireBoth({ together: true })).toEqual([
        { status: "busy", ttlMs: expect.any(Number), holder: C },
        { status: "free" },
      ]);
      expect(await contents(server)).toEqual(before);
    });

    test("are none taken when somebody else is next for one, who gets it", async () => {
      await waits(server, B, living);
      expect(await acquireBoth({ together: true })).toEqual([
        { status: "busy", ttlMs: expect.any(Number), holder: B },
        { status: "free" },
      ]);
      expect(await stored(server)).toEqual({ fields: { [B]: "1" }, ...EMPTY });
      expect(await server.raw("EXISTS", "b")).toBe(0);
    });

    test("are none taken when one is held without the holder knowing, or is lost", async () => {
      await holds(server, A, 5);
      expect(await acquireBoth({ together: true })).toEqual([
        { status: "miscounted", holdCount: "5" },
        { status: "free" },
      ]);
    });
  });
});
