import { describe, expect, test } from "vitest";
import type { Lease } from "../../src/lease.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const FIRST_NUMBER = 2 ** 32;

describe("a flow that outlives its scope", () => {
  test("is a stranger, even to a hold that goes on", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    const over = gate();
    const lease = await lock.lock();
    let outlives: Promise<unknown> = Promise.resolve();
    await lease.run(() => {
      outlives = over.opened.then(() => lock.tryLock());
    });
    over.open();
    expect(await outlives).toBeNull();
  });

  test("has lost the scopes around its own as well", async () => {
    const { holdfast } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    const over = gate();
    await a.using(async () => {
      let outlives: Promise<unknown> = Promise.resolve();
      await b.using(() => {
        outlives = over.opened.then(() => a.tryLock());
      });
      over.open();
      expect(await outlives).toBeNull();
      expect((await a.tryLock())?.holdCount).toBe(2);
    });
  });

  test("takes a free lock under a new number, as an outermost hold", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    const over = gate();
    let outlives: Promise<Lease | null> = Promise.resolve(null);
    const threadId = await lock.using((lease) => {
      outlives = over.opened.then(() => lock.tryLock());
      return lease.threadId;
    });
    over.open();
    const lease = await outlives;
    expect(lease?.holdCount).toBe(1);
    expect(lease?.threadId).toBeGreaterThan(threadId);
  });

  test("of an inner scope that is still open keeps that one, without what has ended around it", async () => {
    const { holdfast } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    const over = gate();
    const leaseOfA = await a.lock();
    let inner: Promise<unknown> = Promise.resolve();
    await leaseOfA.run(async () => {
      const entered = gate();
      inner = b.using(async () => {
        entered.open();
        expect(await a.isHeldByCurrentThread()).toBe(true);
        await over.opened;
        expect(await a.isHeldByCurrentThread()).toBe(false);
        expect(await a.tryLock()).toBeNull();
        return b.using(({ holdCount }) => holdCount);
      });
      await entered.opened;
    });
    over.open();
    expect(await inner).toBe(2);
  });
});

describe("the number in a holder field", () => {
  test("starts at 2^32 in every client [R8]", async () => {
    const { holdfast, connect } = open();
    expect((await holdfast.getLock("a").lock()).threadId).toBe(FIRST_NUMBER);
    expect((await connect().holdfast.getLock("b").lock()).threadId).toBe(FIRST_NUMBER);
  });

  test("is never used again, neither after a release nor after a loss nor after a refusal", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const seen: number[] = [];
    for (let i = 0; i < 3; i++) {
      const lease = await lock.lock();
      seen.push(lease.threadId);
      expect(await lock.tryLock()).toBeNull();
      await lease.unlock();
      seen.push((await lock.lock({ leaseMs: 50 })).threadId);
      await clock.advance(60);
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect([...seen].sort((x, y) => x - y)).toEqual(seen);
  });

  test("belongs to one outermost hold of one key, also inside a scope [R1]", async () => {
    const { holdfast } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    const seen: number[] = [];
    await a.using(async (outer) => {
      seen.push(outer.threadId);
      for (let i = 0; i < 2; i++) seen.push(await b.using(({ threadId }) => threadId));
      expect(await a.using(({ threadId }) => threadId)).toBe(outer.threadId);
    });
    expect(new Set(seen).size).toBe(3);
  });
});
