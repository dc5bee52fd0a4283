import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/index.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";

/** The counter of a fenced lock stays, and the server with it is forgotten. */
function open() {
  const clock = new FakeClock();
  return { clock, holdfast: new Holdfast(memoryDriver(new MemoryServer({ clock })), { clock }) };
}

/** As a program would see it in its log. */
function log(value: unknown): string {
  return inspect(value, { breakLength: Number.POSITIVE_INFINITY });
}

describe("in a log and as JSON", () => {
  test("a lease shows what a program may read of it", async () => {
    const { holdfast, clock } = open();
    const lease = await holdfast.getFencedLock("order:7").lock({ leaseMs: 10_000 });
    const { holder } = lease;
    const values = { name: "order:7", holder, holdCount: 1, state: "held", remainingMs: 9_898 };
    expect(JSON.parse(JSON.stringify(lease))).toEqual({ ...values, token: "1" });
    expect(log(lease)).toBe(
      `Lease { name: 'order:7', holder: '${holder}', holdCount: 1, token: '1', state: 'held', remainingMs: 9898 }`,
    );
    await lease.unlock();
    expect(JSON.parse(JSON.stringify({ lease }))).toMatchObject({
      lease: { state: "released", remainingMs: 0 },
    });
    const plain = await holdfast.getLock("a").lock({ leaseMs: 1_000 });
    await clock.advance(1_000);
    expect(JSON.parse(JSON.stringify(plain))).toEqual({
      ...values,
      name: "a",
      holder: plain.holder,
      state: "lost",
      remainingMs: 0,
    });
  });

  test("a joint lease and permits do", async () => {
    const { holdfast } = open();
    const both = await holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b")).lock();
    expect(JSON.parse(JSON.stringify(both))).toMatchObject({ name: both.name, holdCount: 1, state: "held" });
    await both.unlock();
    const semaphore = holdfast.getPermitExpirableSemaphore("p");
    await semaphore.trySetPermits(2);
    const permits = await semaphore.acquire(2, { leaseMs: 1_000 });
    expect(JSON.parse(JSON.stringify(permits))).toEqual({
      name: "p",
      ids: permits.ids,
      state: "held",
      remainingMs: 988,
    });
    expect(log(permits)).toMatch(
      /^Permits \{ name: 'p', ids: \[ '\w{32}', '\w{32}' \], state: 'held', remainingMs: 988 \}$/,
    );
    await permits.release();
    await semaphore.delete();
  });

  test("locks, semaphores, latches and clients show their name and kind, and none of their insides", () => {
    const { holdfast } = open();
    const { clientId } = holdfast;
    const pair = holdfast.getReadWriteLock("rw");
    const shown: readonly (readonly [unknown, string, object])[] = [
      [holdfast.getLock("a"), "Lock { name: 'a', kind: 'lock' }", { name: "a", kind: "lock" }],
      [
        holdfast.getFencedLock("a"),
        "Lock { name: 'a', kind: 'fenced-lock' }",
        { name: "a", kind: "fenced-lock" },
      ],
      [pair.writeLock(), "Lock { name: 'rw', kind: 'write-lock' }", { name: "rw", kind: "write-lock" }],
      [
        holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b")),
        "Lock { name: 'a+b', kind: 'multi-lock' }",
        { name: "a+b", kind: "multi-lock" },
      ],
      [
        holdfast.getSemaphore("s"),
        "Semaphore { name: 's', kind: 'semaphore' }",
        { name: "s", kind: "semaphore" },
      ],
      [
        holdfast.getPermitExpirableSemaphore("p"),
        "Semaphore { name: 'p', kind: 'permit-expirable-semaphore' }",
        { name: "p", kind: "permit-expirable-semaphore" },
      ],
      [
        holdfast.getCountDownLatch("l"),
        "CountDownLatch { name: 'l', kind: 'count-down-latch' }",
        { name: "l", kind: "count-down-latch" },
      ],
      [holdfast, `Holdfast { clientId: '${clientId}' }`, { clientId }],
    ];
    for (const [value, text, json] of shown) {
      expect(log(value)).toBe(text);
      expect(JSON.parse(JSON.stringify(value))).toEqual(json);
    }
    expect(JSON.parse(JSON.stringify(pair))).toEqual({ name: "rw" });
  });

  test("states of locks with a fencing token are JSON, whose numbers would be too small for it", async () => {
    const { holdfast } = open();
    const lease = await holdfast.getFencedLock("order:7").lock();
    const state = await holdfast.inspect("order:7");
    expect(state.token).toBe(1n);
    expect(JSON.parse(JSON.stringify(state))).toMatchObject({
      name: "order:7",
      kind: "fenced-lock",
      token: "1",
    });
    expect(Object.keys(state)).not.toContain("toJSON");
    for await (const listed of holdfast.locks({ sources: ["scan"] })) {
      expect(JSON.parse(JSON.stringify(listed))).toMatchObject({ key: "order:7", token: "1" });
    }
    await lease.unlock();
  });
});
