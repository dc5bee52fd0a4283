import { describe, expect, test } from "vitest";
import { LeaseLostError, NotHeldError } from "../../src/errors.js";
import { events } from "../../src/events.js";
import type { Lease } from "../../src/lease.js";
import type { CallFault, ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { answerLate, deliverLate, neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
endRecordings();
const open = fakeTime();

async function refusalOf(unlock: Promise<void>): Promise<unknown> {
  return unlock.then(
    () => "released",
    (error: unknown) => error,
  );
}

/** Holds up each renewal. @returns those that were sent so far */
function allRenewals<F extends CallFault>(driver: ScriptedDriver, holdUp: () => F): () => readonly F[] {
  const faults = Array.from({ length: 50 }, holdUp);
  for (const fault of faults) void driver.next(fault, "lock-renew");
  return () => faults.slice(0, driver.names.filter((name) => name === "lock-renew").length);
}

describe("a lease is lost", () => {
  test("at the end of a fixed lease, with the reason expired", async () => {
    const { holdfast, clock } = open();
    const lost = recorded(events.leaseLost);
    const lease = await holdfast.getLock("a").lock({ leaseMs: 10_000 });
    const { signal } = lease;
    await clock.advance(9_897);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    const reason: unknown = signal.reason;
    expect(reason).toBeInstanceOf(LeaseLostError);
    expect(reason).toMatchObject({ lockName: "a", holder: lease.holder, reason: "expired", heldMs: 9_898 });
    expect(lost).toMatchObject([
      { name: "a", kind: "lock", holder: lease.holder, reason: "expired", heldMs: 9_898 },
    ]);
  });

  test.each([500, 45_000])(
    "after a maxHoldMs of %d, with the reason max-hold, and is renewed no more",
    async (maxHoldMs) => {
      const { holdfast, clock, driver } = open();
      const lease = await holdfast.getLock("a").lock({ maxHoldMs });
      await clock.advance(maxHoldMs - 1);
      expect(lease.signal.aborted).toBe(false);
      await clock.advance(1);
      expect(lease.signal.reason).toMatchObject({ reason: "max-hold", heldMs: maxHoldMs });
      const renewals = driver.timesOf("lock-renew");
      expect(renewals).toHaveLength(Math.floor(maxHoldMs / 10_000));
      await clock.advance(60_000);
      expect(driver.timesOf("lock-renew")).toEqual(renewals);
    },
  );

  test("when its key is somebody else's at the next renewal, with the reason stolen", async () => {
    const { holdfast, connect, clock } = open();
    const lease = await holdfast.getLock("a").lock();
    const other = connect().holdfast.getLock("a");
    expect(await other.forceUnlock()).toBe(true);
    const theirs = await other.lock();
    await clock.advance(10_100);
    expect(lease.signal.reason).toMatchObject({ reason: "stolen" });
    expect(theirs.state).toBe("held");
    await theirs.unlock();
  });

  test("when its key holds something else at the next renewal, with the reason stolen", async () => {
    const { holdfast, server, clock } = open();
    const lease = await holdfast.getLock("a").lock();
    server.command("SET", "a", "something else", "PX", 60_000);
    await clock.advance(10_100);
    expect(lease.signal.reason).toMatchObject({ reason: "stolen" });
  });

  test("when its key is gone, also if another was there in between, and is not silently taken back [B23]", async () => {
    const { holdfast, server, connect, clock } = open();
    const lost = recorded(events.leaseLost);
    const lease = await holdfast.getLock("a").lock();
    const { signal } = lease;
    server.command("DEL", "a");
    await connect()
      .holdfast.getLock("a")
      .using(() => undefined);
    await clock.advance(10_100);
    expect(signal.reason).toMatchObject({ reason: "stolen" });
    expect(lost).toHaveLength(1);
    expect(server.dump()).toEqual({});
    expect(await refusalOf(lease.unlock())).toBeInstanceOf(NotHeldError);
  });

  test("with all holds of its thread at once", async () => {
    const { holdfast, server, clock } = open();
    const lost = recorded(events.leaseLost);
    const lock = holdfast.getLock("a");
    const outer = await lock.lock();
    const inner = await outer.run(() => lock.lock({ leaseMs: 60_000 }));
    server.command("DEL", "a");
    await clock.advance(10_100);
    expect([outer.state, inner.state]).toEqual(["lost", "lost"]);
    expect(lost).toHaveLength(2);
  });

  test("when a re-entry finds it gone, which tells all the holds around it", async () => {
    const { holdfast, server } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock({ leaseMs: 60_000 });
    const { signal } = lease;
    server.command("DEL", "a");
    await expect(lease.run(() => lock.lock())).rejects.toMatchObject({ reason: "stolen" });
    expect(signal.aborted).toBe(true);
    expect(server.dump()).toEqual({});
  });

  test("when its client is closed, with the reason closed", async () => {
    const { holdfast, clock } = open();
    const lease = await holdfast.getLock("a").lock();
    const closed = holdfast.close();
    await clock.advance(0);
    await closed;
    expect(lease.signal.reason).toMatchObject({ reason: "closed" });
  });

  test("at its own end although nobody ever asked, as soon as somebody does", async () => {
    const { holdfast, clock } = open();
    const leases: Lease[] = [];
    for (const name of ["a", "b", "c", "d"])
      leases.push(await holdfast.getLock(name).lock({ leaseMs: 1_000 }));
    await clock.advance(1_000);
    const [a, b, c, d] = leases;
    expect(a?.state).toBe("lost");
    expect(b?.signal.aborted).toBe(true);
    expect(c?.remainingMs()).toBe(0);
    expect(() => d?.assertHeld()).toThrow(LeaseLostError);
  });
});

describe("a loss is final", () => {
  test("when an earlier renewal is answered after it [R13]", async () => {
    const { holdfast, driver, clock } = open();
    const lost = recorded(events.leaseLost);
    const late = allRenewals(driver, answerLate);
    const lease = await holdfast.getLock("a").lock();
    const { signal } = lease;
    await clock.advance(29_698);
    const reason: unknown = signal.reason;
    expect(reason).toBeInstanceOf(LeaseLostError);
    for (const answer of late()) answer.arrive();
    await clock.advance(5_000);
    expect([lease.state, lease.remainingMs(), signal.reason]).toEqual(["lost", 0, reason]);
    expect(() => lease.assertHeld()).toThrow(LeaseLostError);
    expect(lost).toHaveLength(1);
  });

  test("and a hold that turns out to be alive in Redis is freed by its unlock, so that others need not wait [R13]", async () => {
    const { holdfast, driver, clock, fields, ttlMs, connect } = open();
    const late = allRenewals(driver, deliverLate);
    const lease = await holdfast.getLock("a").lock();
    await clock.advance(29_699);
    for (const renewal of late()) await renewal.arrive();
    expect(lease.state).toBe("lost");
    expect([fields("a"), ttlMs("a")]).toEqual([{ [lease.holder]: "1" }, 30_000]);
    expect(await refusalOf(lease.unlock())).toBeInstanceOf(NotHeldError);
    await clock.advance(0);
    expect(fields("a")).toEqual({});
    expect(await connect().holdfast.getLock("a").tryLock()).not.toBeNull();
  });

  test("when the window has ended and a renewal confirms the hold in the same turn [R13]", async () => {
    const { holdfast, driver, clock } = open();
    const late = answerLate();
    void driver.next(late, "lock-renew");
    const lease = await holdfast.getLock("a").lock();
    await clock.advance(10_100);
    late.arrive();
    clock.block(25_000);
    expect(lease.state).toBe("lost");
    await clock.advance(0);
    expect(lease.state).toBe("lost");
  });

  test("also in the eyes of unlock, however often it is called", async () => {
    const { holdfast, clock, driver } = open();
    const lease = await holdfast.getLock("a").lock({ leaseMs: 1_000 });
    await clock.advance(1_000);
    const reason: unknown = lease.signal.reason;
    for (let i = 0; i < 3; i++) {
      expect(await refusalOf(lease.unlock())).toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD", cause: reason });
    }
    expect(driver.names.filter((name) => name === "lock-release").length).toBeLessThanOrEqual(1);
  });
});

describe("a release", () => {
  test("may be asked for twice: one command, and no error [B14]", async () => {
    const { holdfast, driver } = open();
    const lease = await holdfast.getLock("a").lock();
    await Promise.all([lease.unlock(), lease.unlock()]);
    await lease.unlock();
    expect(driver.names.filter((name) => name === "lock-release")).toHaveLength(1);
    expect(lease.state).toBe("released");
    expect(lease.signal.aborted).toBe(false);
  });

  test("is refused when Redis does not know the hold any more, and the lease is lost", async () => {
    const { holdfast, server, connect } = open();
    const lost = recorded(events.leaseLost);
    const lease = await holdfast.getLock("a").lock();
    server.command("DEL", "a");
    const theirs = await connect().holdfast.getLock("a").lock();
    expect(await refusalOf(lease.unlock())).toBeInstanceOf(NotHeldError);
    expect([lease.state, lease.signal.aborted]).toEqual(["lost", true]);
    expect(lost).toHaveLength(1);
    expect(theirs.state).toBe("held");
    await theirs.unlock();
  });

  test("of a lease that is over touches nobody else's lock [B36]", async () => {
    const { holdfast, connect, clock, fields } = open();
    const lease = await holdfast.getLock("a").lock({ leaseMs: 1_000 });
    await clock.advance(1_001);
    const theirs = await connect().holdfast.getLock("a").lock();
    expect(await refusalOf(lease.unlock())).toBeInstanceOf(NotHeldError);
    await clock.advance(1_000);
    expect(fields("a")).toEqual({ [theirs.holder]: "1" });
    await theirs.unlock();
  });

  test.each([
    ["renewed", false],
    ["lost", true],
  ])("makes a renewal that is answered %s afterwards tell nothing [B22]", async (_, gone) => {
    const { holdfast, driver, clock, server } = open();
    const lost = recorded(events.leaseLost);
    const late = gone ? deliverLate() : answerLate();
    const lease = await holdfast.getLock("a").lock();
    const { signal } = lease;
    void driver.next(late, "lock-renew");
    await clock.advance(10_100);
    await lease.unlock();
    await late.arrive();
    await clock.advance(10_000);
    expect([lease.state, signal.aborted, lost]).toEqual(["released", false, []]);
    expect(server.dump()).toEqual({});
  });

  test("that is under way makes a renewal that finds the key gone tell nothing [B22]", async () => {
    const { holdfast, driver, clock } = open();
    const lost = recorded(events.leaseLost);
    const [renewal, release] = [deliverLate(), answerLate()];
    const lease = await holdfast.getLock("a").lock();
    const { signal } = lease;
    void driver.next(renewal, "lock-renew");
    void driver.next(release, "lock-release");
    await clock.advance(10_100);
    const released = lease.unlock();
    await renewal.arrive();
    await clock.advance(100);
    expect([lease.state, signal.aborted]).toEqual(["released", false]);
    release.arrive();
    await released;
    expect(lost).toEqual([]);
  });

  test("makes a renewal that never is answered tell nothing [B22]", async () => {
    const { holdfast, driver, clock } = open();
    const [lost, failed] = [recorded(events.leaseLost), recorded(events.renewalFailed)];
    void driver.next(neverDeliver, "lock-renew");
    const lease = await holdfast.getLock("a").lock();
    await clock.advance(10_100);
    await lease.unlock();
    await clock.advance(60_000);
    expect([lease.signal.aborted, lost, failed]).toEqual([false, [], []]);
    expect(driver.names.filter((name) => name === "lock-renew")).toHaveLength(1);
  });
});

test("a hold that was freed by force leaves nothing to a late copy of its acquisition once it was released [own-47]", async () => {
  const { holdfast, driver, clock, fields, connect } = open();
  const copy = deliverLate({ told: true });
  void driver.next(copy, "lock-acquire");
  const taking = holdfast.getLock("a").lock();
  await clock.advance(200);
  const lease = await taking;
  await connect().holdfast.getLock("a").forceUnlock();
  expect(await refusalOf(lease.unlock())).toBeInstanceOf(NotHeldError);
  await copy.arrive();
  expect(fields("a")).toEqual({ [lease.holder]: "1" });
  await clock.advance(5_000);
  expect(fields("a")).toEqual({});
});

test("a late copy of an acquisition is cleaned up behind by its own deadline, though a later sending had an earlier one [own-59]", async () => {
  const { holdfast, driver, clock, fields } = open({ commandTimeoutMs: 1_000 });
  const [question, copy] = [deliverLate(), deliverLate({ told: true })];
  void driver.next(question, "server-probe");
  const taking = holdfast.getLock("a").lock();
  await clock.advance(500);
  void driver.next(copy, "lock-acquire");
  // From how long that took the server's clock seems to be ahead, until the next answer.
  await question.arrive();
  await clock.advance(0);
  await holdfast.getLock("acquaintance").isLocked();
  await clock.advance(200);
  await (await taking).unlock();
  await clock.advance(1_100);
  await copy.arrive();
  expect(fields("a")).not.toEqual({});
  await clock.advance(1_000);
  expect(fields("a")).toEqual({});
});

test.each([
  ["is taken back", true],
  ["is released", false],
])(
  "a lease that is lost and given back while an inner hold %s does not stay until its TTL [own-49]",
  async (_, isCancelled) => {
    const { holdfast, driver, clock, fields } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock({ maxHoldMs: 1_000 });
    const [entry, release] = [answerLate(), answerLate()];
    if (isCancelled) void driver.next(entry, "lock-acquire");
    const cancel = new AbortController();
    const entering = outer.run(() => lock.lock({ signal: cancel.signal }));
    await clock.advance(1);
    void driver.next(release, "lock-release");
    let leaving: Promise<unknown>;
    if (isCancelled) {
      cancel.abort();
      leaving = entering.catch(() => undefined);
      entry.arrive();
    } else leaving = entering.then((inner) => inner.unlock()).catch(() => undefined);
    await clock.advance(1_000);
    expect(outer.state).toBe("lost");
    expect(await refusalOf(outer.unlock())).toBeInstanceOf(NotHeldError);
    release.arrive();
    await leaving;
    await clock.advance(1_000);
    expect(fields("a")).toEqual({});
  },
);
