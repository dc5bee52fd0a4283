import { describe, expect, test } from "vitest";
import { events } from "../../src/events.js";
import { Holdfast } from "../../src/index.js";
import type { Lease } from "../../src/lease.js";
import { memoryDriver } from "../../src/memory/index.js";
import { AcknowledgingDriver } from "../support/drivers/acknowledging-driver.js";
import { neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { openTelemetry } from "../support/worlds/otel.js";

watchLeaks();
const open = fakeTime();
const otel = openTelemetry();

/** A histogram's point. */
const times = (sum: number, count: number) => ({ sum, count });
const lock = { "holdfast.lock.kind": "lock" };

describe("a call is measured", () => {
  test("that finds its lock free, and its hold until the release", async () => {
    const { holdfast, clock } = open();
    const { points } = otel.instrument({ clock });
    const lease = await holdfast.getLock("a").lock();
    await clock.advance(2_500);
    expect(await points()).toEqual({
      "holdfast.acquire.active": [{ attributes: lock, value: 0 }],
      "holdfast.acquire.duration": [
        {
          attributes: { ...lock, "holdfast.outcome": "acquired", "holdfast.via": "free" },
          value: times(0, 1),
        },
      ],
      "holdfast.hold.active": [{ attributes: lock, value: 1 }],
      "holdfast.hold.age": [{ attributes: lock, value: 2.5 }],
    });
    await clock.advance(500);
    await lease.unlock();
    expect(await points()).toMatchObject({
      "holdfast.hold.active": [{ attributes: lock, value: 0 }],
      "holdfast.hold.age": [{ attributes: lock, value: 0 }],
      "holdfast.hold.duration": [{ attributes: { ...lock, "holdfast.end": "released" }, value: times(3, 1) }],
    });
  });

  test.each([
    ["lock", (holdfast: Holdfast) => holdfast.getLock("a").lock()],
    [
      "permit-expirable-semaphore",
      (holdfast: Holdfast) => holdfast.getPermitExpirableSemaphore("s").acquire(),
    ],
  ])("whose release fails: its hold is over, of a %s", async (kind, take) => {
    const { holdfast, clock, driver, server } = open();
    const { points } = otel.instrument({ clock });
    await holdfast.getPermitExpirableSemaphore("s").trySetPermits(1);
    const lease = await take(holdfast);
    await clock.advance(1_000);
    const script = kind === "lock" ? "lock-release" : "permit-release";
    for (let i = 0; i < 10; i += 1) void driver.next(neverDeliver, script);
    const failed = "unlock" in lease ? lease.unlock() : lease.release();
    failed.catch(() => undefined);
    await clock.advance(10_000);
    await expect(failed).rejects.toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE" });
    const attributes = { "holdfast.lock.kind": kind };
    expect(await points()).toMatchObject({
      "holdfast.hold.active": [{ attributes, value: 0 }],
      "holdfast.hold.age": [{ attributes, value: 0 }],
      "holdfast.hold.duration": [
        { attributes: { ...attributes, "holdfast.end": "failed" }, value: times(1, 1) },
      ],
    });
    server.flush();
  });

  test("that waits: it is active, contended, and comes in by the message", async () => {
    const { holdfast, clock, connect } = open();
    const { points } = otel.instrument({ clock });
    const lease = await holdfast.getLock("a").lock();
    const waiting = connect().holdfast.getLock("a").lock();
    await clock.advance(1_500);
    expect(await points()).toMatchObject({
      "holdfast.acquire.active": [{ attributes: lock, value: 1 }],
      "holdfast.contentions": [{ attributes: lock, value: 1 }],
    });
    await lease.unlock();
    await (await waiting).unlock();
    expect(await points()).toMatchObject({
      "holdfast.acquire.active": [{ attributes: lock, value: 0 }],
      "holdfast.acquire.duration": [
        { attributes: { "holdfast.via": "free" }, value: times(0, 1) },
        {
          attributes: { ...lock, "holdfast.outcome": "acquired", "holdfast.via": "message" },
          value: times(1.5, 1),
        },
      ],
      "holdfast.contentions": [{ attributes: lock, value: 1 }],
    });
  });

  test("that does not acquire, by its outcome; one that failed by its error", async () => {
    const { holdfast, clock, connect, driver } = open();
    const { points } = otel.instrument({ clock });
    const lease = await holdfast.getLock("a").lock();
    const other = connect();
    const theirs = other.holdfast.getLock("a");
    expect(await theirs.tryLock()).toBeNull();
    const late = theirs.lock({ waitMs: 2_000 });
    late.catch(() => undefined);
    await clock.advance(2_000);
    await expect(late).rejects.toThrow();
    const cancel = new AbortController();
    const cancelled = theirs.lock({ signal: cancel.signal });
    cancelled.catch(() => undefined);
    await clock.advance(1_000);
    cancel.abort();
    await expect(cancelled).rejects.toThrow();
    for (let i = 0; i < 10; i += 1) void driver.next(neverDeliver, "lock-acquire");
    const failed = holdfast.getLock("b").lock({ waitMs: 0 });
    failed.catch(() => undefined);
    await clock.advance(3_500);
    await expect(failed).rejects.toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE" });
    await lease.unlock();
    const { "holdfast.acquire.duration": duration = [] } = await points();
    expect(duration.slice(1)).toEqual([
      { attributes: { ...lock, "holdfast.outcome": "refused" }, value: times(0, 1) },
      { attributes: { ...lock, "holdfast.outcome": "timeout" }, value: times(2, 1) },
      { attributes: { ...lock, "holdfast.outcome": "cancelled" }, value: times(1, 1) },
      {
        attributes: {
          ...lock,
          "holdfast.outcome": "failed",
          "error.type": "ERR_HOLDFAST_UNAVAILABLE",
        },
        value: times(3, 1),
      },
    ]);
  });

  test("of permits, and permits are held; those of a plain semaphore, which has no holder, are not", async () => {
    const { holdfast, clock } = open();
    const { points } = otel.instrument({ clock });
    const leasing = holdfast.getPermitExpirableSemaphore("permits");
    await leasing.trySetPermits(2);
    const plain = holdfast.getSemaphore("plain");
    await plain.trySetPermits(2);
    const permits = await leasing.acquire(2);
    await plain.acquire();
    await clock.advance(4_000);
    const kind = { "holdfast.lock.kind": "permit-expirable-semaphore" };
    expect(await points()).toMatchObject({
      "holdfast.acquire.active": [
        { attributes: kind, value: 0 },
        { attributes: { "holdfast.lock.kind": "semaphore" }, value: 0 },
      ],
      "holdfast.hold.active": [{ attributes: kind, value: 1 }],
      "holdfast.hold.age": [{ attributes: kind, value: 4 }],
    });
    await permits.release();
    await plain.release();
    expect(await points()).toMatchObject({
      "holdfast.hold.active": [{ attributes: kind, value: 0 }],
      "holdfast.hold.duration": [{ attributes: kind, value: times(4, 1) }],
    });
    await leasing.delete();
    await plain.delete();
  });
});

describe("a hold is measured", () => {
  test("each by itself where holds are nested, and its age is that of the outermost", async () => {
    const { holdfast, clock } = open();
    const { points } = otel.instrument({ clock });
    const a = holdfast.getLock("a");
    await a.using(async () => {
      await clock.advance(1_000);
      await a.using(async () => {
        await clock.advance(1_000);
        expect(await points()).toMatchObject({
          "holdfast.hold.active": [{ attributes: lock, value: 2 }],
          "holdfast.hold.age": [{ attributes: lock, value: 2 }],
        });
      });
    });
    expect(await points()).toMatchObject({
      "holdfast.hold.active": [{ attributes: lock, value: 0 }],
      "holdfast.hold.duration": [{ attributes: lock, value: times(3, 2) }],
    });
  });

  test("by its age where it is the oldest of several", async () => {
    const { holdfast, clock } = open();
    const { points } = otel.instrument({ clock });
    const [older, newer] = [holdfast.getLock("older"), holdfast.getLock("newer")];
    const lease = await older.lock();
    await clock.advance(3_000);
    const later = await newer.lock();
    await clock.advance(1_000);
    const age = (value: number) => [{ attributes: lock, value }];
    expect((await points())["holdfast.hold.age"]).toEqual(age(4));
    await lease.unlock();
    expect((await points())["holdfast.hold.age"]).toEqual(age(1));
    await later.unlock();
    expect((await points())["holdfast.hold.age"]).toEqual(age(0));
  });

  test("until its lease is lost, with the reason", async () => {
    const { holdfast, clock } = open();
    const { points } = otel.instrument({ clock });
    const lease = await holdfast.getLock("a").lock({ leaseMs: 5_000 });
    await clock.advance(6_000);
    expect(lease.state).toBe("lost");
    const { heldMs = 0 } = await lease.unlock().then(
      () => ({ heldMs: 0 }),
      ({ cause }: { cause: { heldMs: number } }) => cause,
    );
    expect(await points()).toMatchObject({
      "holdfast.hold.active": [{ attributes: lock, value: 0 }],
      "holdfast.hold.duration": [
        { attributes: { ...lock, "holdfast.end": "lost" }, value: times(heldMs / 1_000, 1) },
      ],
      "holdfast.lease.losses": [{ attributes: { ...lock, "holdfast.loss.reason": "expired" }, value: 1 }],
    });
  });

  test("until its lease was found forgotten", async () => {
    const { holdfast, clock } = open();
    const { points } = otel.instrument({ clock });
    const { clientId } = holdfast;
    const { holder } = await holdfast.getLock("a").lock({ leaseMs: 60_000 });
    events.leaseAbandoned.publish({ clientId, server: "", name: "a", kind: "lock", holder, heldMs: 7_000 });
    expect(await points()).toMatchObject({
      "holdfast.hold.active": [{ attributes: lock, value: 0 }],
      "holdfast.hold.duration": [
        { attributes: { ...lock, "holdfast.end": "abandoned" }, value: times(7, 1) },
      ],
    });
  });

  test("of a joint lock once it ends, by each of its locks, and is not counted as one that is active", async () => {
    const { holdfast, clock } = open();
    const { points } = otel.instrument({ clock });
    const both = holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b"));
    const lease = await both.lock();
    await clock.advance(1_000);
    await lease.unlock();
    const measured = await points();
    expect(measured["holdfast.hold.duration"]).toEqual([
      { attributes: { ...lock, "holdfast.end": "released" }, value: times(2, 2) },
    ]);
    expect(measured["holdfast.acquire.duration"]).toMatchObject([
      { attributes: { "holdfast.lock.kind": "multi-lock" }, value: times(0, 1) },
    ]);
    expect(measured["holdfast.hold.active"]).toEqual([{ attributes: lock, value: 0 }]);
  });
});

describe("what goes on beside calls is measured", () => {
  test("renewals: how late and how many leases", async () => {
    const { holdfast, clock } = open({ watchdogMs: 3_000 });
    const { points } = otel.instrument({ clock });
    const leases = await Promise.all(["a", "b", "c"].map((name) => holdfast.getLock(name).lock()));
    await clock.advance(1_500);
    await Promise.all(leases.map((lease) => lease.unlock()));
    const { "holdfast.renewal.lateness": lateness, "holdfast.renewal.size": size } = await points();
    expect(size).toEqual([{ attributes: {}, value: times(3, 1) }]);
    expect(lateness).toEqual([{ attributes: {}, value: times(0, 1) }]);
  });

  test("renewals with an unknown outcome", async () => {
    const { holdfast, driver, clock } = open({ watchdogMs: 3_000 });
    const { points } = otel.instrument({ clock });
    const lease = await holdfast.getLock("a").lock();
    void driver.next(neverDeliver, "lock-renew");
    await clock.advance(2_500);
    await lease.unlock();
    const { "holdfast.renewal.failures": failures, "holdfast.renewal.lateness": lateness } = await points();
    expect(failures).toEqual([{ attributes: { "error.type": "ERR_HOLDFAST_UNAVAILABLE" }, value: 1 }]);
    // The first beat is answered 600 ms late, after a timeout of 500 ms and a pause; the second in time.
    expect(lateness).toEqual([{ attributes: {}, value: times(0.6, 2) }]);
  });

  test("releases behind a body that failed", async () => {
    const { holdfast, driver, clock } = open();
    const { points } = otel.instrument({ clock });
    for (let i = 0; i < 2; i += 1) void driver.next(neverDeliver, "lock-release");
    const using = holdfast.getLock("a").using(() => undefined);
    await clock.advance(4_000);
    await using;
    await clock.advance(10_000);
    expect((await points())["holdfast.release.failures"]).toEqual([
      { attributes: { ...lock, "error.type": "ERR_HOLDFAST_UNAVAILABLE" }, value: 1 },
    ]);
  });

  test("subscriptions that failed", async () => {
    const { holdfast, connect, clock } = open();
    const { points } = otel.instrument({ clock });
    const lease = await holdfast.getLock("a").lock();
    const other = connect();
    other.driver.channels.failNext(new TypeError("no"));
    const waiting = other.holdfast.getLock("a").lock();
    await clock.advance(100);
    await lease.unlock();
    await clock.advance(10_000);
    await (await waiting).unlock();
    expect((await points())["holdfast.subscription.failures"]).toEqual([
      { attributes: { "error.type": "TypeError" }, value: 1 },
    ]);
  });

  test("commands that too few replicas had in time", async () => {
    const { server, clock } = open();
    const { points } = otel.instrument({ clock });
    const driver = new AcknowledgingDriver(memoryDriver(server));
    driver.wanted = 2;
    const holdfast = new Holdfast(driver, { clock, replicas: { mode: "auto" } });
    const lease = await holdfast.getLock("a").lock();
    await lease.unlock();
    await holdfast.close();
    expect((await points())["holdfast.replicas.short"]).toEqual(
      ["lock-acquire", "lock-release"].map((script) => ({
        attributes: { "holdfast.command": script },
        value: 1,
      })),
    );
  });

  test("commands, where their group is enabled", async () => {
    const { holdfast, clock } = open();
    const leases: Lease[] = [await holdfast.getLock("first").lock()];
    const { points } = otel.instrument({ clock, enabledMetricGroups: ["command"], spans: "off" });
    leases.push(...(await Promise.all(["a", "b", "c"].map((name) => holdfast.getLock(name).lock()))));
    await Promise.all(leases.map((lease) => lease.unlock()));
    const told = (script: string) => ({ "holdfast.command": script });
    const answered = (script: string) => ({ ...told(script), "holdfast.command.outcome": "answered" });
    expect(await points()).toEqual({
      "holdfast.command.duration": [
        { attributes: answered("lock-acquire"), value: times(0, 1) },
        { attributes: answered("lock-release"), value: times(0, 1) },
      ],
      "holdfast.command.locks": [
        { attributes: told("lock-acquire"), value: times(3, 1) },
        { attributes: told("lock-release"), value: times(4, 1) },
      ],
    });
  });
});
