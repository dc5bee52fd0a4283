import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fairRelease, fairTimes } from "../../src/protocol/fair-scripts.js";
import type { Release, ReleaseAnswer, ReleaseCall } from "../../src/protocol/lock-calls.js";
import { ALIVE, JVM_1, JVM_2, JvmThread, QUEUE, TIMEOUTS } from "../support/models/fair-queue.js";
import {
  A,
  B,
  C,
  CHANNEL,
  contents,
  DAY_MS,
  dead,
  type FairServer,
  fairServers,
  holds,
  line,
  living,
  OTHER_PROTOCOL,
  PARTS,
  SCORE_MS,
  SLACK_MS,
  stored,
  ttlOf,
  waits,
} from "../support/servers/fair-servers.js";

const NO_LIMIT = 0;
const NOTHING = { fields: {}, queue: [], timeouts: {}, alive: {} };
const released = { status: "released" };
const absent = { status: "absent" };

describe.each(fairServers)("fair-release on $name", ({ open }) => {
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

  async function release(
    holder: string,
    options: Partial<Release> = {},
    call: Partial<ReleaseCall> = {},
  ): Promise<{ readonly serverMs: number; readonly answer: ReleaseAnswer | undefined }> {
    const counts = { heldCount: 1, keptCount: 0, ttlMs: 600_000, keptMs: [] };
    const locks = [{ key: "a", holder, ...counts, channel: CHANNEL, ...options }];
    const { serverMs, reply } = await server.run(fairRelease, { notAfterMs: NO_LIMIT, ...call, locks });
    expect(reply).toHaveLength(1);
    return { serverMs, answer: reply[0] };
  }

  describe("the last hold", () => {
    test("leaves nothing when nobody waits, and tells nobody", async () => {
      await holds(server, A);
      expect((await release(A)).answer).toEqual(released);
      expect(await stored(server)).toEqual(NOTHING);
      expect(await server.heard()).toEqual([]);
    });

    test("gives the lock to the next one of ours, who hears until when it has it [R4]", async () => {
      await holds(server, A);
      await waits(server, B, living);
      await waits(server, C, living);
      const before = await stored(server);
      const { serverMs, answer } = await release(A);
      expect(answer).toEqual(released);
      expect(await stored(server)).toEqual({
        fields: { [B]: "1" },
        queue: [C],
        timeouts: { [C]: before.timeouts[C] },
        alive: { [C]: before.alive[C] },
      });
      const ttlMs = await ttlOf(server, "a");
      expect(ttlMs).toBeGreaterThan(0);
      expect(ttlMs).toBeLessThanOrEqual(fairTimes.grantMs);
      expect(await server.heard()).toEqual([[B, String(serverMs + fairTimes.grantMs)]]);
    });

    test("done once more takes nothing from the next one [R1]", async () => {
      await holds(server, A);
      await waits(server, B, living);
      await release(A);
      await server.heard();
      const before = await contents(server);
      expect((await release(A)).answer).toEqual(absent);
      expect([await contents(server), await server.heard()]).toEqual([before, []]);
    });

    test.each([
      ["a JVM", JVM_1],
      ["one of another grant protocol [R24]", OTHER_PROTOCOL],
    ])("tells %s that is next to come, and gives it nothing", async (_, holder) => {
      await holds(server, A);
      await waits(server, holder, { timeoutMs: 700_000 });
      await waits(server, B, living);
      const before = await stored(server);
      await release(A);
      expect(await stored(server)).toEqual({ ...before, fields: {} });
      expect(await server.heard()).toEqual([[holder, "0"]]);
    });

    test("brings the JVMs behind the one who gets it nearer, as if it had entered by itself", async () => {
      await holds(server, A);
      await waits(server, B, living);
      await waits(server, JVM_1, { timeoutMs: 700_000 });
      await waits(server, C, living);
      const before = (await stored(server)).timeouts;
      const { serverMs } = await release(A);
      const { timeouts } = await stored(server);
      // What B had added goes, but for the horizon: its own wait begins now.
      const own = (before[JVM_1] ?? 0) - (before[B] ?? 0);
      expect(timeouts).toEqual({ [JVM_1]: serverMs + fairTimes.horizonMs + own, [C]: before[C] });
      for (const key of [QUEUE, TIMEOUTS]) expect(await ttlOf(server, key)).toBeGreaterThan(DAY_MS);
    });

    test("is freed whatever its count was", async () => {
      await holds(server, A, 3);
      expect((await release(A)).answer).toEqual(released);
      expect(await stored(server)).toEqual(NOTHING);
    });

    test("also takes what is left of its holder out of the queue", async () => {
      await holds(server, A);
      await waits(server, A, living);
      await waits(server, B, living);
      await release(A);
      expect(await line(server)).toEqual({ fields: { [B]: "1" }, queue: [] });
    });
  });

  describe("the next in line", () => {
    test("is the first that lives: the dead of both sorts are passed over, and forgotten [B9] [R23]", async () => {
      await holds(server, A);
      for (let i = 1; i <= 8; i += 1) await waits(server, `${A}${i}`, dead);
      await waits(server, JVM_1, { timeoutMs: -fairTimes.graceMs });
      await waits(server, B, living);
      await waits(server, C, dead);
      await release(A);
      const { fields, queue, timeouts, alive } = await stored(server);
      expect([fields, queue]).toEqual([{ [B]: "1" }, [C]]);
      expect([Object.keys(timeouts), Object.keys(alive)]).toEqual([[C], [C]]);
    });

    test("is not held up by each of several JVMs whose scores are over: they are all passed over at once", async () => {
      await holds(server, A);
      for (let i = 1; i <= 3; i += 1)
        await waits(server, `${JVM_1}${i}`, { timeoutMs: -fairTimes.graceMs - 1_000 });
      await waits(server, B, living);
      await release(A);
      expect(await line(server)).toEqual({ fields: { [B]: "1" }, queue: [] });
    });

    test("may be a JVM whose score is over for less than the grace that its clock has [wire-S8]", async () => {
      await holds(server, A);
      await waits(server, JVM_1, { timeoutMs: SLACK_MS - fairTimes.graceMs });
      await waits(server, B, living);
      await release(A);
      expect(await line(server)).toEqual({ fields: {}, queue: [JVM_1, B] });
      expect(await server.heard()).toEqual([[JVM_1, "0"]]);
    });

    test("of ours keeps its place without its helper entry, which is made again [B11]", async () => {
      await holds(server, A);
      await waits(server, B);
      await release(A);
      expect(await stored(server)).toEqual({ ...NOTHING, fields: { [B]: "1" } });
    });

    test("of a JVM keeps its place without a score, gets one, and is passed over when that is over [wire-L5]", async () => {
      await holds(server, A);
      await waits(server, JVM_1);
      await waits(server, B, living);
      const { serverMs } = await release(A);
      const { fields, queue, timeouts } = await stored(server);
      expect([fields, queue, timeouts[JVM_1]]).toEqual([{}, [JVM_1, B], serverMs]);
      expect(await server.heard()).toEqual([[JVM_1, "0"]]);
      await server.raw("ZINCRBY", TIMEOUTS, -fairTimes.graceMs, JVM_1);
      await release(A);
      expect(await line(server)).toEqual({ fields: { [B]: "1" }, queue: [] });
    });

    test("may be nobody: a queue of the dead leaves nothing behind", async () => {
      await holds(server, A);
      for (const holder of [B, C]) await waits(server, holder, dead);
      await release(A);
      expect(await stored(server)).toEqual(NOTHING);
      expect(await server.heard()).toEqual([]);
    });

    test("lives through Redisson's arithmetic: J1, N1, J2 [R22]", async () => {
      const { raw } = server;
      const nowMs = await waits(server, JVM_1, { timeoutMs: 10_000 });
      await waits(server, A, { timeoutMs: 10_000 + SCORE_MS, aliveMs: fairTimes.aliveMs });
      const [j1, j2] = [new JvmThread(raw, JVM_1), new JvmThread(raw, JVM_2)];
      await j2.queues(nowMs);
      const { timeouts: before } = await stored(server);
      expect(await j1.enters(nowMs, 60_000)).toBe(true);
      expect(await j2.evicts(nowMs)).toEqual([]);
      const { queue, timeouts } = await stored(server);
      expect(queue).toEqual([A, JVM_2]);
      for (const who of [A, JVM_2]) expect(timeouts[who]).toBe((before[who] ?? 0) - fairTimes.waitMs);
      expect(timeouts[A]).toBeGreaterThan(nowMs);
    });
  });

  describe("one who gives up its place", () => {
    test("leaves the queue of a held lock; JVMs behind it come nearer, and nobody else does", async () => {
      await holds(server, C);
      await waits(server, JVM_1, { timeoutMs: 700_000 });
      await waits(server, A, { timeoutMs: 700_000 + SCORE_MS, aliveMs: 60_000 });
      await waits(server, JVM_2, { timeoutMs: 1_400_000 });
      await waits(server, B, living);
      const before = await stored(server);
      expect((await release(A)).answer).toEqual(absent);
      expect(await stored(server)).toEqual({
        fields: { [C]: "1" },
        queue: [JVM_1, JVM_2, B],
        timeouts: {
          [JVM_1]: before.timeouts[JVM_1],
          [JVM_2]: (before.timeouts[JVM_2] ?? 0) - (before.timeouts[A] ?? 0) + (before.timeouts[JVM_1] ?? 0),
          [B]: before.timeouts[B],
        },
        alive: { [B]: before.alive[B] },
      });
      expect(await server.heard()).toEqual([]);
      const left = await contents(server);
      expect((await release(A)).answer).toEqual(absent);
      expect(await contents(server)).toEqual(left);
    });

    test("passes a free lock on [wire-L4]", async () => {
      await waits(server, A, living);
      await waits(server, B, living);
      const { serverMs, answer } = await release(A);
      expect(answer).toEqual(absent);
      expect(await line(server)).toEqual({ fields: { [B]: "1" }, queue: [] });
      expect(await server.heard()).toEqual([[B, String(serverMs + fairTimes.grantMs)]]);
    });

    test("passes on what it was given at that very moment [R23]", async () => {
      await holds(server, A, 1, 4_000);
      await waits(server, B, living);
      expect((await release(A)).answer).toEqual(released);
      expect(await line(server)).toEqual({ fields: { [B]: "1" }, queue: [] });
    });

    test("leaves no score when its place in the queue was lost", async () => {
      await holds(server, C);
      await waits(server, A, living);
      await server.raw("DEL", QUEUE);
      await release(A);
      expect(await stored(server)).toEqual({ ...NOTHING, fields: { [C]: "1" } });
    });
  });

  describe("an inner hold", () => {
    const inner = { heldCount: 3, keptCount: 2 };

    test("is given back once however often the command comes, and nobody is let in", async () => {
      await holds(server, A, 3, 600_000);
      await waits(server, B, living);
      for (const _ of ["first", "again"]) {
        expect((await release(A, inner)).answer).toEqual(released);
        expect(await line(server)).toEqual({ fields: { [A]: "2" }, queue: [B] });
      }
      const ttlMs = await ttlOf(server, "a");
      expect(ttlMs).toBeLessThanOrEqual(600_000);
      expect(ttlMs).toBeGreaterThan(600_000 - SLACK_MS);
      expect(await server.heard()).toEqual([]);
    });

    test.each([
      ["of ours", B],
      ["of a JVM", JVM_1],
    ])(
      "after which the lock falls sooner is told to the next that lives, %s, once: it is to ask [own-97]",
      async (_, next) => {
        await holds(server, A, 3, 900_000);
        await waits(server, C, dead);
        await waits(server, next, living);
        for (const _ of ["first", "again"]) await release(A, inner);
        expect(await line(server)).toEqual({ fields: { [A]: "2" }, queue: [next] });
        expect(await server.heard()).toEqual([[next, "0"]]);
      },
    );

    test("is not given back from another count", async () => {
      await holds(server, A, 5);
      const before = await contents(server);
      expect((await release(A, inner)).answer).toEqual({ status: "miscounted", holdCount: "5" });
      expect(await contents(server)).toEqual(before);
    });
  });

  describe("what may not be", () => {
    test("a late command changes nothing, and one without a limit is never late", async () => {
      await holds(server, A);
      await waits(server, B, living);
      const before = await contents(server);
      expect((await release(A, {}, { notAfterMs: 1 })).answer).toEqual({ status: "late" });
      expect([await contents(server), await server.heard()]).toEqual([before, []]);
      expect((await release(A, {}, { notAfterMs: NO_LIMIT })).answer).toEqual(released);
    });

    test.each(PARTS)(
      "a key %s that is no %s is told and not touched, and nor are the others",
      async (key) => {
        await holds(server, A);
        await waits(server, B, living);
        await server.raw("DEL", key);
        await server.raw("SET", key, "text");
        const before = await contents(server);
        expect((await release(A)).answer).toEqual({ status: "wrong-type", type: "string" });
        expect([await contents(server), await server.heard()]).toEqual([before, []]);
      },
    );

    test("a bad lock does not keep the others of a call from being freed [R27]", async () => {
      await server.raw("SET", "a", "text");
      await server.raw("HSET", "b", A, 1);
      const lock = { holder: A, heldCount: 1, keptCount: 0, ttlMs: 1, keptMs: [], channel: CHANNEL };
      const locks = ["a", "b"].map((key) => ({ key, ...lock }));
      const { reply } = await server.run(fairRelease, { notAfterMs: NO_LIMIT, locks });
      expect(reply).toEqual([{ status: "wrong-type", type: "string" }, released]);
      expect(await server.raw("EXISTS", "b")).toBe(0);
    });
  });

  describe("a full server", () => {
    test("frees the lock and lets the next one in [R28]", async () => {
      await holds(server, A);
      await waits(server, B);
      await waits(server, JVM_1, { timeoutMs: 700_000 });
      await server.full(true);
      expect((await release(A)).answer).toEqual(released);
      expect(await line(server)).toEqual({ fields: { [B]: "1" }, queue: [JVM_1] });
    });

    test("takes an inner hold back [R28]", async () => {
      await holds(server, A, 2);
      await server.full(true);
      expect((await release(A, { heldCount: 2, keptCount: 1 })).answer).toEqual(released);
      expect(await stored(server)).toEqual({ ...NOTHING, fields: { [A]: "1" } });
    });

    test("lets one go who waits before a JVM, and passes a free lock on [R28]", async () => {
      await waits(server, A, living);
      await waits(server, B);
      await waits(server, JVM_1, { timeoutMs: 700_000 });
      await server.full(true);
      expect((await release(A)).answer).toEqual(absent);
      expect(await line(server)).toEqual({ fields: { [B]: "1" }, queue: [JVM_1] });
    });
  });
});

test("a user who may not publish gives the lock to the next one all the same", async () => {
  const [redis] = fairServers;
  if (redis === undefined) throw new Error("there is a real server");
  const server = await redis.open();
  try {
    await holds(server, A);
    await waits(server, B, living);
    // A user of its own: taken from the default one, the right would end the connection that listens.
    await server.raw("ACL", "SETUSER", "quiet", "on", "nopass", "~*", "+@all", "resetchannels");
    await server.raw("AUTH", "quiet", "any");
    await expect(server.raw("PUBLISH", CHANNEL, "")).rejects.toThrow("NOPERM");
    const lock = { key: "a", holder: A, heldCount: 1, keptCount: 0, ttlMs: 1, keptMs: [], channel: CHANNEL };
    const { reply } = await server.run(fairRelease, { notAfterMs: NO_LIMIT, locks: [lock] });
    expect(reply).toEqual([released]);
    expect(await stored(server)).toEqual({ ...NOTHING, fields: { [B]: "1" } });
  } finally {
    await server.raw("AUTH", "default", "any");
    await server.raw("ACL", "DELUSER", "quiet");
    await server.close();
  }
});
