import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fairAcquire, fairRelease } from "../../src/protocol/fair-scripts.js";
import type { AcquireAnswer, ReleaseAnswer } from "../../src/protocol/lock-calls.js";
import { ALIVE, QUEUE, TIMEOUTS } from "../support/models/fair-queue.js";
import {
  A,
  B,
  CHANNEL,
  type FairServer,
  fairServers,
  holds,
  line,
  living,
  SLACK_MS,
  waits,
} from "../support/servers/fair-servers.js";

const LEASE_MS = 600_000;
const NEVER = Number.MAX_SAFE_INTEGER;
const NO_LIMIT = 0;

// What was read of a lock is remembered for the other parts of a call, which have to see what the earlier ones did.
/** Nobody is told of a TTL from before. */
function expectWholeLease(answer: AcquireAnswer | undefined): void {
  const ttlMs = answer?.status === "queued" ? answer.ttlMs : undefined;
  expect(ttlMs).toBeLessThanOrEqual(LEASE_MS);
  expect(ttlMs).toBeGreaterThan(LEASE_MS - SLACK_MS);
}

describe.each(fairServers)("several parts of one call about one fair lock, on $name", ({ open }) => {
  let server: FairServer;
  beforeAll(async () => {
    server = await open();
  });
  beforeEach(() => server.raw("DEL", "a", QUEUE, TIMEOUTS, ALIVE));
  afterAll(() => server.close());

  async function acquire(
    ...parts: readonly (readonly [holder: string, heldCount: number])[]
  ): Promise<readonly AcquireAnswer[]> {
    const locks = parts.map(([holder, heldCount]) => {
      return {
        key: "a",
        holder,
        leaseMs: LEASE_MS,
        heldCount,
        kin: "",
        waits: true,
        fenced: false,
        channel: CHANNEL,
      };
    });
    const { reply } = await server.run(fairAcquire, { notAfterMs: NEVER, together: false, locks });
    return reply;
  }

  async function release(
    ...parts: readonly (readonly [holder: string, heldCount: number, keptCount: number])[]
  ): Promise<readonly ReleaseAnswer[]> {
    const locks = parts.map(([holder, heldCount, keptCount]) => {
      return { key: "a", holder, heldCount, keptCount, ttlMs: LEASE_MS, keptMs: [], channel: CHANNEL };
    });
    const { reply } = await server.run(fairRelease, { notAfterMs: NO_LIMIT, locks });
    return reply;
  }

  test("the first takes the lock, and the second stands in the queue behind it", async () => {
    const [first, second] = await acquire([A, 0], [B, 0]);
    expect(first).toEqual({ status: "held" });
    expect(second).toMatchObject({ status: "queued", holder: A, isHead: true, pushed: true });
    expectWholeLease(second);
    expect(await line(server)).toEqual({ fields: { [A]: "1" }, queue: [B] });
  });

  test("each re-entry counts on from the one before it, and the next hears of the lease that it raised", async () => {
    await holds(server, A, 1, 60_000);
    const held = { status: "held" };
    const answers = await acquire([A, 1], [A, 2], [B, 0]);
    expect(answers).toMatchObject([held, held, { status: "queued", holder: A }]);
    expectWholeLease(answers[2]);
    expect(await line(server)).toEqual({ fields: { [A]: "3" }, queue: [B] });
  });

  test("each release counts down from the one before it, and none finds what an earlier one has freed", async () => {
    await holds(server, A, 3);
    await waits(server, B, living);
    const released = { status: "released" };
    expect(await release([A, 3, 2], [A, 2, 1])).toEqual([released, released]);
    expect((await line(server)).fields).toEqual({ [A]: "1" });
    expect(await release([A, 1, 0], [A, 1, 0])).toEqual([released, { status: "absent" }]);
    expect(await line(server)).toEqual({ fields: { [B]: "1" }, queue: [] });
  });

  test("a lock that nobody waits for is freed once", async () => {
    await holds(server, A);
    expect(await release([A, 1, 0], [A, 1, 0])).toEqual([{ status: "released" }, { status: "absent" }]);
    expect(await line(server)).toEqual({ fields: {}, queue: [] });
  });
});
