import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, test } from "vitest";
import { events } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { rejectAtOnce } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
endRecordings();
const open = fakeTime();

const LEASE_MS = 100;
/** What is believed of a lease of 100 ms: 1 % and 2 ms less. */
const TRUSTED_MS = 97;

const kinds: readonly (readonly [string, (client: Holdfast) => Lock])[] = [
  ["lock", (client) => client.getLock("a")],
  ["non-reentrant-lock", (client) => client.getNonReentrantLock("a")],
  ["fair-lock", (client) => client.getFairLock("a")],
  ["spin-lock", (client) => client.getSpinLock("a")],
  ["fenced-lock", (client) => client.getFencedLock("a")],
  ["read-lock", (client) => client.getReadWriteLock("a").readLock()],
  ["write-lock", (client) => client.getReadWriteLock("a").writeLock()],
];

/** The counter of a fenced lock has no end, and is not what these tests are about. */
function tidy(client: Holdfast, raw: (command: string, ...args: string[]) => unknown): void {
  if (client.clientId !== "") raw("DEL", "redisson_lock_token:{a}");
}

describe("the end of a lease that nobody looks at, while somebody listens", () => {
  test.each(kinds)("of a %s is told when it comes [own-15]", async (kind, of) => {
    const { holdfast, clock, server } = open();
    const lost = recorded(events.leaseLost);
    const lease = await of(holdfast).lock({ leaseMs: LEASE_MS });
    await clock.advance(TRUSTED_MS - 1);
    expect(lost).toEqual([]);
    await clock.advance(1);
    const { holder } = lease;
    expect(lost).toMatchObject([{ name: "a", kind, holder, reason: "expired", heldMs: TRUSTED_MS }]);
    tidy(holdfast, (...args) => server.command(...args));
  });

  test("of permits is told when it comes", async () => {
    const { holdfast, clock } = open();
    const lost = recorded(events.leaseLost);
    const semaphore = holdfast.getPermitExpirableSemaphore("a");
    await semaphore.trySetPermits(2);
    const permits = await semaphore.acquire({ leaseMs: LEASE_MS });
    await clock.advance(TRUSTED_MS);
    expect(lost).toMatchObject([
      {
        name: "a",
        kind: "permit-expirable-semaphore",
        holder: permits.ids.join(","),
        reason: "expired",
        heldMs: TRUSTED_MS,
      },
    ]);
    await clock.advance(LEASE_MS);
    await semaphore.delete();
  });

  test("is told once, although a body goes on and using rejects later", async () => {
    const { holdfast, clock } = open();
    const lost = recorded(events.leaseLost);
    const using = holdfast.getLock("a").using({ leaseMs: LEASE_MS }, () => clock.advance(1_500));
    await expect(using).rejects.toMatchObject({ reason: "expired", heldMs: TRUSTED_MS });
    expect(lost).toHaveLength(1);
  });

  test("of maxHoldMs is told when it comes", async () => {
    const { holdfast, clock } = open();
    const lost = recorded(events.leaseLost);
    await holdfast.getLock("a").lock({ maxHoldMs: 1_000 });
    await clock.advance(1_000);
    expect(lost).toMatchObject([{ reason: "max-hold", heldMs: 1_000 }]);
  });

  test("of a watched lease is told when it comes, although a renewal is under way then", async () => {
    const { holdfast, clock, driver } = open();
    const lost = recorded(events.leaseLost);
    await holdfast.getLock("a").lock();
    for (let i = 0; i < 100; i += 1) void driver.next(rejectAtOnce, "lock-renew");
    await clock.advance(29_698 - 1);
    expect(lost).toEqual([]);
    await clock.advance(1);
    expect(lost).toMatchObject([{ reason: "unreachable", heldMs: 29_698 }]);
  });

  test("of each member of a multi lock, and of none twice", async () => {
    const { holdfast, clock } = open();
    const lost = recorded(events.leaseLost);
    const locks = ["a", "b"].map((name) => holdfast.getLock(name));
    const lease = await holdfast.getMultiLock(...locks).lock({ leaseMs: LEASE_MS });
    await clock.advance(1_500);
    expect(lost.map(({ name, heldMs }) => [name, heldMs])).toEqual([
      ["a", TRUSTED_MS],
      ["b", TRUSTED_MS],
    ]);
    expect(() => lease.assertHeld()).toThrow(`after ${TRUSTED_MS} ms`);
  });

  test("is told to one who has begun to listen only after the lock was taken [own-15]", async () => {
    const { holdfast, clock } = open();
    const lease = await holdfast.getLock("a").lock({ leaseMs: LEASE_MS });
    await clock.advance(50);
    const lost = recorded(events.leaseLost);
    await clock.advance(TRUSTED_MS - 50);
    expect(lost).toMatchObject([{ holder: lease.holder, reason: "expired", heldMs: TRUSTED_MS }]);
  });

  test("is told to one who listens by the channel's name", async () => {
    const { holdfast, clock } = open();
    await holdfast.getLock("a").lock({ leaseMs: LEASE_MS });
    const lost: unknown[] = [];
    const hear = (event: unknown) => void lost.push(event);
    subscribe("holdfast:lease:lost", hear);
    await clock.advance(TRUSTED_MS);
    unsubscribe("holdfast:lease:lost", hear);
    expect(lost).toMatchObject([{ name: "a", heldMs: TRUSTED_MS }]);
    expect(channel("holdfast:lease:lost").hasSubscribers).toBe(false);
  });
});

describe("when a lease was lost", () => {
  test("is told by heldMs however late somebody looks [own-15]", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock({ leaseMs: LEASE_MS });
    await clock.advance(1_500);
    expect(() => lease.assertHeld()).toThrow(`lease of "a" lost after ${TRUSTED_MS} ms`);
    await expect(lease.unlock()).rejects.toMatchObject({ cause: { heldMs: TRUSTED_MS } });
  });

  test("is told of a maxHoldMs, too", async () => {
    const { holdfast, clock } = open();
    const lease = await holdfast.getLock("a").lock({ maxHoldMs: 500 });
    await clock.advance(5_000);
    expect(() => lease.assertHeld()).toThrow("after 500 ms");
  });

  test("is told of several locks that count as one by the one that was too many", async () => {
    const { holdfast, clock } = open();
    const short = holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b"));
    await clock.advance(10);
    const lease = await short.lock({ leaseMs: 1_000 });
    await clock.advance(5_000);
    expect(() => lease.assertHeld()).toThrow("after 988 ms");
  });
});

describe("while nobody listens", () => {
  test("no lease has a timer of its own", async () => {
    const { holdfast, clock } = open();
    await holdfast.getLock("b").using(() => undefined);
    const before = clock.pendingTimers;
    const lease = await holdfast.getLock("a").lock({ leaseMs: LEASE_MS });
    expect(clock.pendingTimers).toBe(before);
    await lease.unlock();
  });
});
