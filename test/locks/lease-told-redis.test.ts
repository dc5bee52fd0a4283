import { describe, expect, test } from "vitest";
import type { LeaseLostError, NotHeldError, WaitTimeoutError } from "../../src/errors.js";
import { events, type LeaseLostEvent } from "../../src/events.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const KEY = "order:7";
/** What is believed of a lease of 200 ms, from when it was asked for. */
const BELIEVED_MS = 196;
const GRAIN_MS = 0.5;

/** A lease of 200 ms was held for so long, of which its way from the server has taken some. */
function isHeldTime(heldMs: number | undefined, wayMs: number): void {
  expect(heldMs).toBeLessThanOrEqual(BELIEVED_MS + GRAIN_MS);
  expect(heldMs).toBeGreaterThanOrEqual(Math.floor(BELIEVED_MS - wayMs) - GRAIN_MS);
}

/** The next loss that is told. */
function nextLoss(): Promise<LeaseLostEvent> {
  return new Promise((resolve) => {
    const hear = (event: LeaseLostEvent) => {
      events.leaseLost.unsubscribe(hear);
      resolve(event);
    };
    events.leaseLost.subscribe(hear);
  });
}

describe("on a real server", () => {
  test("the end of a lease is told while its body runs, which waits for nothing else", async () => {
    const loss = nextLoss();
    const askedMs = performance.now();
    let wayMs = Number.NaN;
    const using = redis
      .holdfast()
      .getLock(KEY)
      .using({ leaseMs: 200 }, () => {
        wayMs = performance.now() - askedMs;
        return loss;
      });
    const error = await using.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ reason: "expired" });
    isHeldTime((error as LeaseLostError).heldMs, wayMs);
    expect(await loss).toMatchObject({ name: KEY, reason: "expired" });
    isHeldTime((await loss).heldMs, wayMs);
  });

  test("a lease that ends while its release is held up at the server is told as expired", async () => {
    const lock = redis.holdfast().getLock(KEY);
    const askedMs = performance.now();
    const lease = await lock.lock({ leaseMs: 200 });
    const wayMs = performance.now() - askedMs;
    const loss = nextLoss();
    await redis.plain.call("CLIENT", "PAUSE", "600", "ALL");
    const { cause } = await lease.unlock().then(
      () => expect.fail("it was released"),
      (reason: unknown) => reason as NotHeldError,
    );
    expect(cause).toMatchObject({ reason: "expired" });
    isHeldTime((cause as LeaseLostError).heldMs, wayMs);
    expect(await loss).toMatchObject({ reason: "expired" });
    isHeldTime((await loss).heldMs, wayMs);
  });

  test("a wait that ends in vain tells what is left of the lease by then", async () => {
    const lease = await redis.holdfast().getLock(KEY).lock({ leaseMs: 60_000 });
    let seenMs = Number.NaN;
    const seen = () => {
      seenMs = performance.now();
    };
    events.contended.subscribe(seen);
    const askedMs = performance.now();
    const waiting = redis.holdfast().getLock(KEY).lock({ waitMs: 400 });
    const error: WaitTimeoutError = await waiting.then(
      () => expect.fail("it was free"),
      (reason: unknown) => reason as WaitTimeoutError,
    );
    const ttlMs = error.obstacle?.ttlMs ?? 0;
    events.contended.unsubscribe(seen);
    // Its first question was answered so long after the wait had begun.
    expect(ttlMs).toBeLessThanOrEqual(60_000 - 400 + 1 + Math.ceil(seenMs - askedMs));
    expect(ttlMs).toBeGreaterThan(30_000);
    await lease.unlock();
  });
});
