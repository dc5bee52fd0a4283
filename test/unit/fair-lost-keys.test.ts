import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Dialect, PLAIN } from "../../src/protocol/dialect.js";
import { fairAcquire, fairRefresh, fairRelease, fairTimes } from "../../src/protocol/fair-scripts.js";
import type { AcquireAnswer, ReleaseAnswer } from "../../src/protocol/lock-calls.js";
import { ALIVE, JVM_1, QUEUE, TIMEOUTS } from "../support/models/fair-queue.js";
import {
  A,
  B,
  C,
  CHANNEL,
  DAY_MS,
  type FairServer,
  fairServers,
  holds,
  line,
  living,
  SCORE_MS,
  SLACK_MS,
  stored,
  ttlOf,
  waits,
} from "../support/servers/fair-servers.js";

const LEASE_MS = 600_000;
const NEVER = Number.MAX_SAFE_INTEGER;
const NO_LIMIT = 0;
const ALONE = { fields: { [A]: "1" }, queue: [], timeouts: {}, alive: {} };

// Each of the keys of a fair lock expires, is evicted or is deleted by itself.
describe.each(fairServers)("of keys that were lost, on $name", ({ open }) => {
  let server: FairServer;
  beforeAll(async () => {
    server = await open();
  });
  beforeEach(async () => {
    await server.full(false);
    await server.raw("DEL", "a", QUEUE, TIMEOUTS, ALIVE);
    await server.heard();
  });
  afterAll(() => server.close());

  async function acquire(holder: string, isWaiting = true): Promise<AcquireAnswer | undefined> {
    const lock = { key: "a", holder, leaseMs: LEASE_MS, heldCount: 0, kin: "", fenced: false };
    const locks = [{ ...lock, waits: isWaiting, channel: CHANNEL }];
    const { reply } = await server.run(fairAcquire, { notAfterMs: NEVER, together: false, locks });
    return reply[0];
  }

  async function release(holder: string, dialect?: Dialect): Promise<ReleaseAnswer | undefined> {
    const counts = { heldCount: 1, keptCount: 0, ttlMs: LEASE_MS, keptMs: [] };
    const locks = [{ key: "a", holder, ...counts, channel: CHANNEL }];
    const { reply } = await server.run(fairRelease, { notAfterMs: NO_LIMIT, locks }, dialect);
    return reply[0];
  }

  async function statuses(...holders: readonly string[]): Promise<readonly string[]> {
    const { reply } = await server.run(fairRefresh, [{ key: "a", channel: CHANNEL, holders }]);
    return (reply[0] ?? []).map(({ status }) => status);
  }

  async function expectBoundedTtl(): Promise<void> {
    const ttlMs = await ttlOf(server, ALIVE);
    expect(ttlMs).toBeLessThanOrEqual(DAY_MS);
    expect(ttlMs).toBeGreaterThan(DAY_MS - SLACK_MS);
  }

  const until = () => Date.now() + LEASE_MS;

  test.each([
    ["score", TIMEOUTS],
    ["sign of life", ALIVE],
  ])("nothing stays of one who takes the lock and of whom only a %s is left", async (_, key) => {
    await server.raw("ZADD", key, until(), A);
    expect(await acquire(A)).toEqual({ status: "held" });
    expect(await stored(server)).toEqual(ALONE);
  });

  test("one who takes the lock leaves its place behind another, though score and sign of life are gone", async () => {
    await holds(server, A);
    await waits(server, B, living);
    await waits(server, A);
    expect(await acquire(A)).toEqual({ status: "held" });
    expect(await line(server)).toEqual({ fields: { [A]: "1" }, queue: [B] });
  });

  test.each([
    ["score", TIMEOUTS],
    ["sign of life", ALIVE],
  ])("nothing stays of one who frees the lock and of whom a %s is left in a queue", async (_, key) => {
    await holds(server, A);
    await server.raw("ZADD", key, until(), A);
    expect(await release(A)).toEqual({ status: "released" });
    expect(await stored(server)).toEqual({ ...ALONE, fields: {} });
  });

  test("nothing stays of one who frees the lock and of whom only the place in the queue is left", async () => {
    await holds(server, A);
    await waits(server, A);
    expect(await release(A)).toEqual({ status: "released" });
    expect(await stored(server)).toEqual({ ...ALONE, fields: {} });
  });

  test("the score of one who has no place goes when somebody who waits gives a sign of life", async () => {
    await holds(server, C);
    await waits(server, A, living);
    await server.raw("ZADD", TIMEOUTS, until(), B);
    expect(await statuses(A)).toEqual(["queued"]);
    expect(Object.keys((await stored(server)).timeouts)).toEqual([A]);
  });

  test("that score goes also when the one who asks has lost its place itself", async () => {
    await holds(server, C);
    await server.raw("ZADD", TIMEOUTS, until(), B);
    expect(await statuses(A)).toEqual(["gone"]);
    expect((await stored(server)).timeouts).toEqual({});
  });

  test("one whose score is gone has it again though that of another of its client had to be raised", async () => {
    await holds(server, C);
    await waits(server, A, { ...living, timeoutMs: 1_000 });
    await waits(server, B, { aliveMs: living.aliveMs });
    expect(await statuses(A, B)).toEqual(["queued", "queued"]);
    expect(Object.keys((await stored(server)).timeouts).sort()).toEqual([A, B]);
  });

  test("scores are made again on a full server", async () => {
    await holds(server, C);
    await waits(server, A);
    await server.full(true);
    expect(await statuses(A)).toEqual(["queued"]);
    expect(Object.keys((await stored(server)).timeouts)).toEqual([A]);
  });

  test("all of ours at the head get a sign of life together when theirs are gone", async () => {
    const nowMs = await waits(server, A, { timeoutMs: SCORE_MS });
    await waits(server, JVM_1, { timeoutMs: SCORE_MS });
    await waits(server, B, { timeoutMs: SCORE_MS });
    expect(await acquire(C, false)).toMatchObject({ status: "busy", holder: A });
    const { fields, alive } = await stored(server);
    expect([fields, Object.keys(alive)]).toEqual([{ [A]: "1" }, [B]]);
    expect(alive[B]).toBeGreaterThanOrEqual(nowMs + fairTimes.aliveMs);
    await expectBoundedTtl();
  });

  test("one that is only told to come, as replicas are to confirm, has its sign of life for a bounded time", async () => {
    await holds(server, C);
    await waits(server, A, { timeoutMs: SCORE_MS });
    expect(await release(C, { ...PLAIN, grants: false })).toEqual({ status: "released" });
    expect(await server.heard()).toEqual([[A, "0"]]);
    expect(await line(server)).toEqual({ fields: {}, queue: [A] });
    await expectBoundedTtl();
  });

  test("a full server gives the lock to the first of those whose signs of life are gone", async () => {
    await waits(server, A, { timeoutMs: SCORE_MS });
    await server.full(true);
    expect(await acquire(C, false)).toMatchObject({ status: "busy", holder: A });
    expect(await line(server)).toEqual({ fields: { [A]: "1" }, queue: [] });
  });
});
