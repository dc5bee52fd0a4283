import { describe, expect, test } from "vitest";
import type { WaitTimeoutError } from "../../src/errors.js";
import { events, type LeaseLostEvent } from "../../src/events.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const KEY = "order:7";
/** What is believed of a lease of 200 ms, less what the way to the server took. */
const ABOUT_196: unknown = expect.closeTo(194, -1);

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
    const using = redis
      .holdfast()
      .getLock(KEY)
      .using({ leaseMs: 200 }, () => loss);
    await expect(using).rejects.toMatchObject({ reason: "expired", heldMs: ABOUT_196 });
    expect(await loss).toMatchObject({ name: KEY, reason: "expired", heldMs: ABOUT_196 });
  });

  test("a lease that ends while its release is held up at the server is told as expired", async () => {
    const lock = redis.holdfast().getLock(KEY);
    const lease = await lock.lock({ leaseMs: 200 });
    const loss = nextLoss();
    await redis.plain.call("CLIENT", "PAUSE", "600", "ALL");
    await expect(lease.unlock()).rejects.toMatchObject({ cause: { reason: "expired", heldMs: ABOUT_196 } });
    expect(await loss).toMatchObject({ reason: "expired", heldMs: ABOUT_196 });
  });

  test("a wait that ends in vain tells what is left of the lease by then", async () => {
    const lease = await redis.holdfast().getLock(KEY).lock({ leaseMs: 60_000 });
    const waiting = redis.holdfast().getLock(KEY).lock({ waitMs: 400 });
    const error: WaitTimeoutError = await waiting.then(
      () => expect.fail("it was free"),
      (reason: unknown) => reason as WaitTimeoutError,
    );
    const ttlMs = error.obstacle?.ttlMs ?? 0;
    // Half of the wait would do: what its first question was told is not it.
    expect(ttlMs).toBeLessThanOrEqual(60_000 - 200);
    expect(ttlMs).toBeGreaterThan(30_000);
    await lease.unlock();
  });
});
