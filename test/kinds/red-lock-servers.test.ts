import { describe, expect, test } from "vitest";
import { LeaseLostError, NotHeldError, QuorumError } from "../../src/errors.js";
import type { Lock } from "../../src/locks/lock.js";
import { until } from "../support/run/until.js";
import { realMasters } from "../support/servers/real-masters.js";

const masters = realMasters(5);
/** Servers are killed and started, on a machine that may be busy. */
const LONG_MS = 60_000;
const HOUR_MS = 3_600_000;
/** A server that is alive answers within it, also on a machine that is busy. */
const MEMBER_TIMEOUT_MS = 500;
/** More than from a red lock's last call in an attempt, after which it waits for the dead servers, to its next attempt. */
const LONGEST_PAUSE_MS = MEMBER_TIMEOUT_MS + 400;

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
    const lost = new Promise((resolve) => signal.addEventListener("abort", resolve));
    const killedMs = performance.now();
    await masters.servers[4]?.kill();
    await lost;
    // A busy machine may be late.
    expect(performance.now() - killedMs).toBeLessThan(10 * watchdogMs);
    expect(signal.reason).toBeInstanceOf(LeaseLostError);
    expect(signal.reason).toMatchObject({ reason: "unreachable" });
    expect([lease.state, lease.remainingMs()]).toEqual(["lost", 0]);
    await expect(lease.unlock()).rejects.toThrow(NotHeldError);
    await expect(red().tryLock()).rejects.toThrow(QuorumError);
    await expect(red().lock({ waitMs: 5_000 })).rejects.toThrow(QuorumError);
  });

  test("lets nobody else in beside its holder when servers restart empty, two at once, and takes those again [R16]", {
    timeout: LONG_MS,
  }, async () => {
    const ways = [await masters.proxy(0), await masters.proxy(1)];
    const { red } = await masters.party({ watchdogMs: 9_000 }, ways);
    const rival = await masters.party({ watchdogMs: 9_000 });
    const lease = await red().lock();
    // Until they are open again, the holder does not come to take those two.
    for (const way of ways) way.refuse();
    await Promise.all([masters.servers[0]?.restart(), masters.servers[1]?.restart()]);
    expect(await masters.heldOn("a")).toEqual([2, 3, 4]);
    await untilMet(rival);
    expect(await rival.red().tryLock()).toBeNull();
    await Promise.all(ways.map((way) => way.heal()));
    await until(async () => (await masters.heldOn("a")).length === 5);
    expect([lease.state, await rival.red().tryLock()]).toEqual(["held", null]);
    await lease.unlock();
    const next = await rival.red().lock({ waitMs: 10_000 });
    expect(next.state).toBe("held");
    await next.unlock();
  });

  test("is acquired by those who wait when the holder releases it, while two servers are dead", {
    timeout: LONG_MS,
  }, async () => {
    const options = {
      commandTimeoutMs: 1.5 * MEMBER_TIMEOUT_MS,
      redMemberTimeoutMs: MEMBER_TIMEOUT_MS,
      safetyPeriodMs: HOUR_MS,
    };
    const [first, second] = [await masters.party(options), await masters.party(options)];
    const lease = await first.red().lock({ leaseMs: HOUR_MS });
    await Promise.all([masters.servers[0]?.kill(), masters.servers[1]?.kill()]);
    const order: string[] = [];
    const waiting = second.red().using(() => void order.push("entered"));
    await Promise.all(second.drivers.slice(2).map((driver) => driver.waits()));
    // Several servers told at once that messages arrive: it may be about to ask once more.
    await until(() => second.drivers.every(({ idleMs }) => idleMs > LONGEST_PAUSE_MS));
    order.push("released");
    await lease.unlock();
    await waiting;
    expect(order).toEqual(["released", "entered"]);
  });
});

/** The clients of a party have found back to all servers. */
async function untilMet({ red }: { red(name: string): Lock }): Promise<void> {
  await until(async () => {
    const lease = await red("acquaintance").tryLock();
    const met = (await masters.heldOn("acquaintance")).length === masters.servers.length;
    await lease?.unlock();
    return met;
  });
}
