import { describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { events } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { answerWith, neverDeliver, rejectAtOnce } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
endRecordings();
const open = fakeTime();

const readonly = new ServerReplyError("READONLY You can't write against a read only replica.");
const oom = new ServerReplyError("OOM command not allowed when used memory > 'maxmemory'.");

/** Nothing of the kind comes through from now on, until it is told to. */
function whileBroken({ driver }: FakeTime, fault: CallFault): { heal(): void } {
  let broken = true;
  const standing: CallFault = {
    name: fault.name,
    meet: (deliver, scripted) => {
      void driver.next(standing, "lock-renew");
      return broken ? fault.meet(deliver, scripted) : deliver();
    },
  };
  void driver.next(standing, "lock-renew");
  return {
    heal() {
      broken = false;
    },
  };
}

function locked(holdfast: Holdfast, count: number): Promise<readonly Lease[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => holdfast.getLock(`lock:${i}`).lock()));
}

describe("renewals that fail", () => {
  test.each([
    ["are not answered", neverDeliver],
    ["meet a broken connection", rejectAtOnce],
    ["meet a server that passes through a fail-over", answerWith(readonly)],
    ["meet a server that refuses", answerWith(oom)],
  ])("because they %s for 15 s leave the lock alive, and the watchdog goes on [B4]", async (_, fault) => {
    const world = open();
    const { holdfast, clock, ttlMs } = world;
    const lease = await holdfast.getLock("a").lock();
    const broken = whileBroken(world, fault);
    await clock.advance(25_000);
    expect(lease.remainingMs()).toBeLessThan(5_000);
    broken.heal();
    await clock.advance(4_500);
    expect(lease.remainingMs()).toBeGreaterThan(20_000);
    await clock.advance(60_000);
    expect(lease.state).toBe("held");
    expect(ttlMs("a")).toBeGreaterThan(19_000);
  });

  test("extend nothing, and at the end of its window the lease is lost as unreachable", async () => {
    const world = open();
    const { holdfast, clock } = world;
    const failed = recorded(events.renewalFailed);
    const lease = await holdfast.getLock("a").lock();
    whileBroken(world, neverDeliver);
    await clock.advance(29_697);
    expect(lease.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(lease.signal.reason).toMatchObject({ reason: "unreachable", heldMs: 29_698 });
    expect(failed.length).toBeGreaterThan(0);
    expect(failed[0]).toMatchObject({ locks: 1, error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
  });

  test("are told by the signal and by events, and not by silence [wire-S15]", async () => {
    const world = open();
    const { holdfast, clock } = world;
    const [failed, lost] = [recorded(events.renewalFailed), recorded(events.leaseLost)];
    const [lease] = await locked(holdfast, 1);
    const aborted = new Promise((resolve) =>
      lease?.signal.addEventListener("abort", resolve, { once: true }),
    );
    whileBroken(world, rejectAtOnce);
    await clock.advance(30_000);
    await aborted;
    expect(failed.length).toBeGreaterThan(0);
    expect(lost).toMatchObject([{ name: "lock:0", reason: "unreachable" }]);
  });

  test("are tried again soon, then with pauses that grow to a second, and no more once the lease is lost", async () => {
    const world = open();
    const { holdfast, clock, driver } = world;
    const lease = await holdfast.getLock("a").lock();
    whileBroken(world, answerWith(oom));
    await clock.advance(29_600);
    const sent = driver.timesOf("lock-renew");
    const pauses = sent.slice(1).map((atMs, i) => atMs - (sent[i] ?? 0));
    expect(pauses.slice(0, 7).map((ms) => Math.round(ms / 100))).toEqual([1, 2, 4, 8, 10, 10, 10]);
    expect(new Set(pauses.slice(7).map((ms) => Math.round(ms / 100)))).toEqual(new Set([10]));
    await clock.advance(1_000);
    expect(lease.state).toBe("lost");
    const tries = driver.timesOf("lock-renew").length;
    await clock.advance(60_000);
    expect(driver.timesOf("lock-renew")).toHaveLength(tries);
    expect(clock.pendingTimers).toBe(0);
  });

  test("once, without an answer, do not cost a lease that is shorter than a command may take", async () => {
    const { holdfast, clock, driver } = open({ watchdogMs: 3_000, commandTimeoutMs: 3_000 });
    const lease = await holdfast.getLock("a").lock();
    void driver.next(neverDeliver, "lock-renew");
    await clock.advance(3_500);
    expect(lease.state).toBe("held");
  });

  test("for a lease that is shorter than a command may take end it as unreachable, too", async () => {
    const world = open({ watchdogMs: 1_000, commandTimeoutMs: 3_000 });
    const { holdfast, clock } = world;
    const lease = await holdfast.getLock("a").lock();
    whileBroken(world, neverDeliver);
    await clock.advance(988);
    expect(lease.signal.reason).toMatchObject({ reason: "unreachable" });
  });

  test("do not keep the next hold from being renewed, once the lease was lost [B4]", async () => {
    const world = open();
    const { holdfast, clock } = world;
    const lost = await holdfast.getLock("a").lock();
    const broken = whileBroken(world, rejectAtOnce);
    await clock.advance(30_001);
    expect(lost.state).toBe("lost");
    broken.heal();
    const lease = await holdfast.getLock("a").lock();
    await clock.advance(95_000);
    expect(lease.state).toBe("held");
  });

  test("do not hold up a lock that was taken meanwhile [B4]", async () => {
    const world = open();
    const { holdfast, clock, driver } = world;
    const first = await holdfast.getLock("a").lock();
    void driver.next(neverDeliver, "lock-renew");
    await clock.advance(10_500);
    const later = await holdfast.getLock("b").lock();
    await clock.advance(29_000);
    expect(first.state).toBe("held");
    expect(later.remainingMs()).toBeGreaterThan(15_000);
  });
});

describe("one of several renewals", () => {
  test("that fails leaves the other batches alone, and is tried again soon, not a period later [wire-A2]", async () => {
    const { holdfast, clock, driver } = open();
    const leases = await locked(holdfast, 250);
    void driver.next(
      answerWith(oom),
      ({ script, keys }) => script.name === "lock-renew" && keys.includes("lock:150"),
    );
    await clock.advance(10_100);
    const renewed = leases.filter((lease) => lease.remainingMs() > 29_000);
    expect(renewed.length).toBeGreaterThanOrEqual(150);
    await clock.advance(500);
    expect(leases.filter((lease) => lease.remainingMs() <= 29_000)).toEqual([]);
  });

  test("whose key is something else does not stop the 99 others [R27]", async () => {
    const { holdfast, clock, server, driver } = open();
    const leases = await locked(holdfast, 100);
    server.command("SET", "lock:42", "something else", "PX", 60_000);
    await clock.advance(95_000);
    const lost = leases.filter(({ state }) => state !== "held");
    expect(lost.map(({ name, signal }) => [name, signal.reason.reason])).toEqual([["lock:42", "stolen"]]);
    expect(driver.timesOf("lock-renew")).toHaveLength(9);
  });

  test("about keys that are not on one server goes out once more at once, a key at a time", async () => {
    const { holdfast, clock, driver } = open();
    await locked(holdfast, 3);
    const asked = driver.next(
      answerWith(new ServerReplyError("TRYAGAIN not all keys are here")),
      "lock-renew",
    );
    await clock.advance(10_100);
    await asked;
    expect(driver.timesOf("lock-renew")).toHaveLength(4);
  });

  test("that fails the whole call does not stop the 99 others [R27]", async () => {
    const { holdfast, clock, driver } = open();
    const leases = await locked(holdfast, 100);
    const bad = new ServerReplyError("WRONGTYPE Operation against a key holding the wrong kind of value");
    /** A server that answers an error for any call with this key in it. */
    const hatesOne: CallFault = {
      name: "one bad key",
      meet: async () => {
        void driver.next(hatesOne, ({ keys }) => keys.includes("lock:42"));
        throw bad;
      },
    };
    void driver.next(
      hatesOne,
      ({ script, keys }) => script.name === "lock-renew" && keys.includes("lock:42"),
    );
    await clock.advance(10_200);
    const [renewed, others] = [leases.filter((lease) => lease.remainingMs() > 29_000), leases];
    expect(renewed).toHaveLength(99);
    await clock.advance(25_000);
    expect(others.filter(({ state }) => state !== "held").map(({ name }) => name)).toEqual(["lock:42"]);
  });

  test("that is sent again leaves out what was released meanwhile", async () => {
    const { holdfast, clock, driver } = open();
    const [first, ...others] = await locked(holdfast, 3);
    void driver.next(rejectAtOnce, "lock-renew").then(() => first?.unlock());
    await clock.advance(10_200);
    expect(others.map(({ state }) => state)).toEqual(["held", "held"]);
    const renewals = driver.calls.filter(({ call }) => call.script.name === "lock-renew");
    expect(renewals.map(({ call }) => call.keys)).toEqual([
      ["lock:0", "lock:1", "lock:2"],
      ["lock:1", "lock:2"],
    ]);
  });

  test("that is gone takes only its own hold with it, in its own call", async () => {
    const { holdfast, clock, server, driver } = open();
    const leases = await locked(holdfast, 100);
    server.command("DEL", "lock:0", "lock:99");
    await clock.advance(10_100);
    expect(leases.filter(({ state }) => state === "lost").map(({ name }) => name)).toEqual([
      "lock:0",
      "lock:99",
    ]);
    await clock.advance(10_000);
    const last = driver.calls.filter(({ call }) => call.script.name === "lock-renew").at(-1);
    expect(last?.call.keys).toHaveLength(98);
  });
});
