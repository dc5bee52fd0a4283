import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fairRefresh, fairTimes, type RefreshAnswer } from "../../src/protocol/fair-scripts.js";
import {
  type ForceUnlock,
  type ForceUnlockAnswer,
  fairForceUnlock,
} from "../../src/protocol/force-unlock-scripts.js";
import { ALIVE, JVM_1, QUEUE, TIMEOUTS } from "../support/models/fair-queue.js";
import {
  A,
  B,
  C,
  CHANNEL,
  company,
  contents,
  DAY_MS,
  dead,
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

const granted = { status: "granted" };
const gone = { status: "gone" };

describe.each(fairServers)("on $name", ({ open }) => {
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

  async function refresh(
    ...holders: readonly string[]
  ): Promise<{ readonly serverMs: number; readonly answers: readonly RefreshAnswer[] | undefined }> {
    const { serverMs, reply } = await server.run(fairRefresh, [{ key: "a", channel: CHANNEL, holders }]);
    expect(reply).toHaveLength(1);
    return { serverMs, answers: reply[0] };
  }

  function waiting(holder: string, isHead: boolean): RefreshAnswer {
    return { status: "queued", ttlMs: expect.any(Number), holder, isHead, meetsJvm: false };
  }

  async function expectShortLived(key: string): Promise<void> {
    const ttlMs = await ttlOf(server, key);
    expect(ttlMs).toBeLessThanOrEqual(DAY_MS);
    expect(ttlMs).toBeGreaterThan(DAY_MS - SLACK_MS);
  }

  describe("fair-refresh", () => {
    test("tells each who waits what has become of it", async () => {
      await holds(server, C);
      await waits(server, A, living);
      await waits(server, B, living);
      const { answers } = await refresh(B, "somebody else", C, A);
      expect(answers).toEqual([waiting(C, false), gone, granted, waiting(C, true)]);
      const [first] = answers ?? [];
      expect(first?.status === "queued" && first.ttlMs > 60_000 - SLACK_MS && first.ttlMs <= 60_000).toBe(
        true,
      );
      expect(await server.heard()).toEqual([]);
    });

    test("names the holder of a read-write lock of that name, not its mode", async () => {
      await server.raw("HSET", "a", "mode", "write", C, 1);
      await waits(server, A, living);
      expect((await refresh(A)).answers).toEqual([{ ...waiting(C, true), ttlMs: -1 }]);
    });

    test("raises the scores of those who wait when they fall low, and lets those of others be [wire-L6]", async () => {
      await holds(server, C);
      const nowMs = await waits(server, A, { timeoutMs: 1_000, aliveMs: 1_000 });
      await waits(server, JVM_1, { timeoutMs: 700_000 });
      await waits(server, B, { timeoutMs: 1_000, aliveMs: 1_000 });
      const before = await stored(server);
      const { serverMs } = await refresh(A, B);
      expect(await stored(server)).toEqual({
        fields: { [C]: "1" },
        queue: [A, JVM_1, B],
        timeouts: {
          [A]: serverMs + SCORE_MS,
          [JVM_1]: before.timeouts[JVM_1],
          [B]: serverMs + SCORE_MS,
        },
        alive: { [A]: serverMs + fairTimes.aliveMs, [B]: serverMs + fairTimes.aliveMs },
      });
      expect(before.timeouts[A]).toBe(nowMs + 1_000);
      await expectShortLived(ALIVE);
      for (const key of [QUEUE, TIMEOUTS]) expect(await ttlOf(server, key)).toBeGreaterThan(DAY_MS);
    });

    test("never lowers a score", async () => {
      await holds(server, C);
      await waits(server, A, { timeoutMs: 5_000_000, aliveMs: 1 });
      const { timeouts } = await stored(server);
      await refresh(A);
      expect((await stored(server)).timeouts).toEqual(timeouts);
    });

    test("mends the place of one whose scores are lost [B11] [wire-L5]", async () => {
      await holds(server, C);
      await waits(server, A);
      const { serverMs, answers } = await refresh(A);
      expect(answers).toEqual([waiting(C, true)]);
      expect(await stored(server)).toMatchObject({
        timeouts: { [A]: serverMs + SCORE_MS },
        alive: { [A]: serverMs + fairTimes.aliveMs },
      });
      await expectShortLived(ALIVE);
    });

    describe("who may free the lock and tell the waiters as a JVM does", () => {
      test.each(company)("%s: %j", async (_, meetsJvm, come) => {
        await holds(server, C);
        await come(server);
        await waits(server, A, living);
        expect((await refresh(A)).answers).toMatchObject([{ status: "queued", meetsJvm }]);
      });
    });

    test("stores nothing about one who has lost its place", async () => {
      await holds(server, C);
      expect((await refresh(A)).answers).toEqual([gone]);
      expect(await stored(server)).toEqual({ fields: { [C]: "1" }, queue: [], timeouts: {}, alive: {} });
    });

    test("passes on a lock that has fallen free, to one who asks or to somebody else [B10]", async () => {
      await waits(server, A, living);
      await waits(server, B, living);
      const { serverMs, answers } = await refresh(B);
      expect(answers).toEqual([waiting(A, true)]);
      expect(await server.heard()).toEqual([[A, String(serverMs + fairTimes.grantMs)]]);
      await server.raw("DEL", "a");
      expect((await refresh(B)).answers).toEqual([granted]);
      expect(await stored(server)).toEqual({ fields: { [B]: "1" }, queue: [], timeouts: {}, alive: {} });
    });

    test("tells the JVM that is next each time, as long as it does not come", async () => {
      await waits(server, JVM_1, { timeoutMs: 700_000 });
      await waits(server, A, living);
      for (const _ of ["first", "again"]) {
        expect((await refresh(A)).answers).toEqual([
          { status: "queued", ttlMs: -2, holder: "", isHead: false, meetsJvm: true },
        ]);
        expect(await server.heard()).toEqual([[JVM_1, "0"]]);
      }
    });

    test("is a sign of life, though late, before anybody is passed over as dead", async () => {
      await waits(server, A, dead);
      await waits(server, B, dead);
      expect((await refresh(A)).answers).toEqual([granted]);
      expect(await line(server)).toEqual({ fields: { [A]: "1" }, queue: [B] });
      await server.raw("DEL", "a");
      await waits(server, C, living);
      expect((await refresh(C)).answers).toEqual([granted]);
      expect((await refresh(B)).answers).toEqual([gone]);
    });

    test("answers for each lock by itself; one that is something else has no news [R27]", async () => {
      await server.raw("HSET", "b", A, 1);
      for (const [key, type] of PARTS) {
        await holds(server, C);
        await waits(server, A, living);
        await server.raw("DEL", key);
        await server.raw("SET", key, "text");
        const before = await contents(server);
        const queues = [
          { key: "a", channel: CHANNEL, holders: [A, B] },
          { key: "b", channel: "redisson_lock__channel:{b}", holders: [A] },
        ];
        expect((await server.run(fairRefresh, queues)).reply, type).toEqual([[], [granted]]);
        expect(await contents(server)).toEqual(before);
        await server.raw("DEL", "a", QUEUE, TIMEOUTS, ALIVE);
      }
    });

    test("keeps the places of those who wait on a full server [R28]", async () => {
      await holds(server, C);
      await waits(server, A, { timeoutMs: 1_000, aliveMs: 1_000 });
      await server.full(true);
      const { serverMs, answers } = await refresh(A);
      expect(answers).toEqual([waiting(C, true)]);
      expect((await stored(server)).alive).toEqual({ [A]: serverMs + fairTimes.aliveMs });
    });
  });

  describe("fair-force-unlock", () => {
    async function forceUnlock(
      seen: ForceUnlock["seen"],
      notAfterMs: number = Number.MAX_SAFE_INTEGER,
    ): Promise<{ readonly serverMs: number; readonly reply: ForceUnlockAnswer }> {
      return server.run(fairForceUnlock, { key: "a", notAfterMs, channel: CHANNEL, seen });
    }

    test("frees the lock from the holder that was seen, and the next one has it", async () => {
      await holds(server, C, 2);
      await waits(server, A, living);
      await waits(server, B, living);
      const { serverMs, reply } = await forceUnlock({ [C]: "2" });
      expect(reply).toEqual({ status: "released" });
      expect(await line(server)).toEqual({ fields: { [A]: "1" }, queue: [B] });
      expect(await server.heard()).toEqual([[A, String(serverMs + fairTimes.grantMs)]]);
    });

    test("tells a JVM that is next to come", async () => {
      await holds(server, C);
      await waits(server, JVM_1, { timeoutMs: 700_000 });
      expect((await forceUnlock({ [C]: "1" })).reply).toEqual({ status: "released" });
      expect(await line(server)).toEqual({ fields: {}, queue: [JVM_1] });
      expect(await server.heard()).toEqual([[JVM_1, "0"]]);
    });

    test("done once more takes nothing from the next one [R9]", async () => {
      await holds(server, C);
      await waits(server, A, living);
      await forceUnlock({ [C]: "1" });
      await server.heard();
      const before = await contents(server);
      expect((await forceUnlock({ [C]: "1" })).reply).toEqual({ status: "changed" });
      expect([await contents(server), await server.heard()]).toEqual([before, []]);
    });

    test.each([
      ["another count", { [C]: "2" }],
      ["nobody", {}],
      ["one more holder", { [C]: "1", [A]: "1" }],
    ])("frees nothing from one who saw %s", async (_, seen) => {
      await holds(server, C);
      const before = await contents(server);
      expect((await forceUnlock(seen)).reply).toEqual({ status: "changed" });
      expect(await contents(server)).toEqual(before);
    });

    test("says when there is nothing to free, and when it is late", async () => {
      expect((await forceUnlock({ [C]: "1" })).reply).toEqual({ status: "absent" });
      await holds(server, C);
      expect((await forceUnlock({ [C]: "1" }, 1)).reply).toEqual({ status: "late" });
      expect(await line(server)).toEqual({ fields: { [C]: "1" }, queue: [] });
    });

    test.each(PARTS)(
      "a key %s that is no %s is told and not touched, and nor are the others",
      async (key) => {
        await holds(server, C);
        await waits(server, A, living);
        await server.raw("DEL", key);
        await server.raw("SET", key, "text");
        const before = await contents(server);
        expect((await forceUnlock({ [C]: "1" })).reply).toEqual({ status: "wrong-type", type: "string" });
        expect(await contents(server)).toEqual(before);
      },
    );

    test("frees the lock on a full server and lets the next one in [R28]", async () => {
      await holds(server, C);
      await waits(server, A);
      await server.full(true);
      expect((await forceUnlock({ [C]: "1" })).reply).toEqual({ status: "released" });
      expect(await line(server)).toEqual({ fields: { [A]: "1" }, queue: [] });
    });
  });
});
