import { describe, expect, test } from "vitest";
import { QuorumError } from "../../src/errors.js";
import { delay, halfOpen } from "../support/faults/proxy-faults.js";
import { until } from "../support/run/until.js";
import { realMasters } from "../support/servers/real-masters.js";

const masters = realMasters(3);
const LONG_MS = 60_000;

describe("a red lock with slow servers", () => {
  test("is had while all are slow, but within redMemberTimeoutMs", async () => {
    const ways = [await masters.proxy(0), await masters.proxy(1), await masters.proxy(2)];
    const { red } = await masters.party({ redMemberTimeoutMs: 5_000 }, ways);
    for (const proxy of ways) proxy.inject(delay(40));
    const lease = await red().lock();
    expect((await masters.heldOn("a")).length).toBe(3);
    await lease.unlock();
    expect(await masters.heldOn("a")).toEqual([]);
  });

  test("takes the majority at once when one server answers later than the lease [B17]", async () => {
    const proxy = await masters.proxy(0);
    const { red } = await masters.party({ redMemberTimeoutMs: LONG_MS }, [proxy]);
    proxy.inject(delay(1_100));
    const lease = await red().lock({ leaseMs: 2_000 });
    expect(lease.state).toBe("held");
    expect(lease.remainingMs()).toBeLessThan(2_000);
    await lease.unlock();
    await proxy.heal();
    await until(async () => (await masters.heldOn("a")).length === 0);
  });

  test("is not handed out when a majority answers later than the lease, and cleaned up everywhere [B17]", async () => {
    const [one, two] = [await masters.proxy(0), await masters.proxy(1)];
    const { red } = await masters.party({ redMemberTimeoutMs: LONG_MS }, [one, two]);
    for (const proxy of [one, two]) proxy.inject(delay(350));
    const lock = red();
    await expect(lock.tryLock({ leaseMs: 600 })).rejects.toThrow(QuorumError);
    await expect(lock.lock({ leaseMs: 600, waitMs: LONG_MS })).rejects.toThrow(QuorumError);
    await Promise.all([one.heal(), two.heal()]);
    await until(async () => (await masters.heldOn("a")).length === 0);
    const lease = await lock.lock({ leaseMs: 10_000 });
    expect(lease.state).toBe("held");
    await lease.unlock();
  });

  test("is cancelled at once while servers do not answer, and leaves nothing", async () => {
    const ways = [await masters.proxy(0), await masters.proxy(1)];
    const { red } = await masters.party({ redMemberTimeoutMs: LONG_MS, commandTimeoutMs: 1_000 }, ways);
    for (const proxy of ways) proxy.inject(halfOpen());
    const leaving = new AbortController();
    const call = red().lock({ signal: leaving.signal });
    await until(async () => (await masters.heldOn("a")).includes(2));
    leaving.abort("enough");
    await expect(call).rejects.toBe("enough");
    await Promise.all(ways.map((proxy) => proxy.heal()));
    await until(async () => (await masters.heldOn("a")).length === 0);
  });
});
