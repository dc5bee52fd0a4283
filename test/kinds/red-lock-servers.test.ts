import { describe, expect, test } from "vitest";
import { LeaseLostError, NotHeldError, QuorumError } from "../../src/errors.js";
import { realMasters } from "../support/real-masters.js";
import { until } from "../support/until.js";

const masters = realMasters(5);
/** Servers are killed and started, on a machine that may be busy. */
const LONG_MS = 60_000;

describe("a red lock on five real servers", () => {
  test("is held though two are killed, and lost within its window when three are, which the signal tells", {
    timeout: LONG_MS,
  }, async () => {
    const watchdogMs = 2_400;
    const { red } = await masters.party({ watchdogMs, commandTimeoutMs: 400 });
    const lease = await red().lock();
    const { signal } = lease;
    await Promise.all([masters.servers[0]?.kill(), masters.servers[3]?.kill()]);
    // By then the leases of those two have ended, unrenewed.
    const endMs = performance.now() + 1.2 * watchdogMs;
    await until(() => performance.now() > endMs);
    expect([lease.state, signal.aborted]).toEqual(["held", false]);
    const windowMs = lease.remainingMs();
    expect(windowMs).toBeLessThanOrEqual(watchdogMs);
    await masters.servers[4]?.kill();
    const lost = new Promise((resolve) => signal.addEventListener("abort", resolve));
    await lost;
    expect(signal.reason).toBeInstanceOf(LeaseLostError);
    expect(signal.reason).toMatchObject({ reason: "unreachable" });
    expect([lease.state, lease.remainingMs()]).toEqual(["lost", 0]);
    await expect(lease.unlock()).rejects.toThrow(NotHeldError);
    await expect(red().tryLock()).rejects.toThrow(QuorumError);
    await expect(red().lock({ waitMs: 5_000 })).rejects.toThrow(QuorumError);
  });

  test("lets nobody else in beside its holder when servers restart empty, and takes those again [R16]", {
    timeout: LONG_MS,
  }, async () => {
    const { red } = await masters.party({ watchdogMs: 3_000 });
    const rival = await masters.party({ watchdogMs: 3_000 });
    const lease = await red().lock();
    for (const at of [1, 4]) {
      await masters.servers[at]?.restart();
      expect(await rival.red().tryLock()).toBeNull();
      await until(async () => (await masters.heldOn("a")).length === 5);
      expect(lease.state).toBe("held");
    }
    expect(await rival.red().tryLock()).toBeNull();
    await lease.unlock();
    const next = await rival.red().lock({ waitMs: 10_000 });
    expect(next.state).toBe("held");
    await next.unlock();
  });

  test("is acquired by those who wait when the holder releases it, while two servers are dead", {
    timeout: LONG_MS,
  }, async () => {
    const options = { commandTimeoutMs: 500, redMemberTimeoutMs: 100, safetyPeriodMs: LONG_MS };
    const [first, second] = [await masters.party(options), await masters.party(options)];
    const lease = await first.red().lock();
    await Promise.all([masters.servers[0]?.kill(), masters.servers[1]?.kill()]);
    const order: string[] = [];
    const waiting = second.red().using(() => void order.push("entered"));
    const listening = () => masters.ask(2, (redis) => redis.pubsub("CHANNELS"));
    await until(async () => (await listening()).length > 0);
    order.push("released");
    await lease.unlock();
    await waiting;
    expect(order).toEqual(["released", "entered"]);
  });
});
