import { describe, expect, test } from "vitest";
import { HOUR_MS, LossyWay, losses } from "../support/faults/lossy-way.js";
import { cut } from "../support/faults/proxy-faults.js";

const way = new LossyWay();

describe.each(losses)("when $loss and the connection breaks", (loss) => {
  test(`an acquisition counts once (${loss.loss}) [B15] [wire-S1]`, () =>
    way.acquisitionCountsOnce(way.behindProxy(), "order:7", loss));

  test(`an entry once more counts once (${loss.loss})`, () =>
    way.entryCountsOnce(way.behindProxy(), "order:7", loss));

  test(`a release is done once and succeeds (${loss.loss}) [B14] [R30]`, () =>
    way.releaseIsDoneOnce(way.behindProxy(), "order:7", loss));

  test(`a partial release is done once and succeeds (${loss.loss})`, () =>
    way.partialReleaseIsDoneOnce(way.behindProxy(), "order:7", loss));

  test(`a renewal is made up for before the lease ends (${loss.loss})`, () =>
    way.renewalIsMadeUpFor(way.behindProxy(), "order:7", loss));
});

describe("a release that finds nothing", () => {
  test("is refused when nobody has resent it: the lock was gone [R30]", async () => {
    const lease = await way.behindProxy().getLock("order:7").lock({ leaseMs: HOUR_MS });
    await way.redis.plain.del("order:7");
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    expect(lease.state).toBe("lost");
  });

  test("is refused after an earlier reset, too, for that was not about the release [R30]", async () => {
    const lock = way.behindProxy().getLock("order:7");
    const lease = await lock.lock({ leaseMs: HOUR_MS });
    await way.proxy.inject(cut()).struck;
    expect(await lock.isLocked()).toBe(true);
    await way.redis.plain.del("order:7");
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
  });

  test("is refused when somebody else has the lock, and leaves that alone [B36]", async () => {
    const lease = await way.behindProxy().getLock("order:7").lock({ leaseMs: HOUR_MS });
    await way.redis.plain.del("order:7");
    const next = await way.redis.holdfast().getLock("order:7").lock({ leaseMs: HOUR_MS });
    await way.journal.read();
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    expect(await way.journal.read()).toEqual([]);
    expect(await way.redis.plain.hgetall("order:7")).toEqual({ [next.holder]: "1" });
    await next.unlock();
  });
});
