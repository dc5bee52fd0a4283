import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, describe, expect, test } from "vitest";
import { events } from "../../src/events.js";
import type { Holdfast, WaitOptions } from "../../src/index.js";
import type { Lock } from "../../src/locks/lock.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const openTime = fakeTime();

const storage = new AsyncLocalStorage<string>();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** The counter of tokens of a fenced lock stays, whatever becomes of the lock. */
function open(): FakeTime {
  const time = openTime();
  ends.push(() => time.server.command("DEL", "redisson_lock_token:{a}"));
  return time;
}

/** What was published, each with the async context that its subscriber saw. */
function contextsOf(...told: readonly ("contended" | "acquire" | "release")[]): string[] {
  const seen: string[] = [];
  const hear = (name: string) => () => void seen.push(`${name} in ${storage.getStore()}`);
  for (const name of told) {
    const channel = name === "acquire" ? events.acquire.asyncEnd : events[name];
    const listener = hear(name);
    channel.subscribe(listener);
    ends.push(() => channel.unsubscribe(listener));
  }
  return seen;
}

/** Calls in the context of a caller; what runs after its await is written down as well. */
async function inCaller<T>(caller: string, seen: string[], call: () => Promise<T>): Promise<T> {
  return storage.run(caller, async () => {
    try {
      return await call();
    } finally {
      seen.push(`after in ${storage.getStore()}`);
    }
  });
}

type LockOf = (holdfast: Holdfast) => Lock;
/** The lock of the waiter, and that of the holder where it is another. */
const kinds: readonly (readonly [kind: string, lockOf: LockOf, heldOf?: LockOf])[] = [
  ["lock", (holdfast) => holdfast.getLock("a")],
  ["non-reentrant lock", (holdfast) => holdfast.getNonReentrantLock("a")],
  ["spin lock", (holdfast) => holdfast.getSpinLock("a")],
  ["fenced lock", (holdfast) => holdfast.getFencedLock("a")],
  ["fair lock", (holdfast) => holdfast.getFairLock("a")],
  [
    "read lock",
    (holdfast) => holdfast.getReadWriteLock("a").readLock(),
    (holdfast) => holdfast.getReadWriteLock("a").writeLock(),
  ],
  ["write lock", (holdfast) => holdfast.getReadWriteLock("a").writeLock()],
  ["multi lock", (holdfast) => holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b"))],
  ["red lock", (holdfast) => holdfast.getRedLock(holdfast.getLock("a"))],
  [
    "red lock of three",
    (holdfast) => holdfast.getRedLock(...["a", "b", "c"].map((name) => holdfast.getLock(name))),
  ],
];
const told = [[], ["contended"], ["acquire"], ["contended", "acquire", "release"]] as const;
const cases = kinds.flatMap(([kind, lockOf, heldOf = lockOf]) =>
  told.map((names) => [kind, names, lockOf, heldOf] as const),
);

describe.each(cases)(
  "what a call for a %s publishes, %j heard, and what follows it",
  (_kind, names, lockOf, heldOf) => {
    const expected = (...heard: readonly string[]) => [
      ...heard
        .filter((name) => (names as readonly string[]).includes(name))
        .map((name) => `${name} in waiter`),
      "after in waiter",
    ];

    /** @returns what the waiter has published, and what followed, once it has the lock from the holder */
    async function waitFor(holder: Holdfast, waiter: Holdfast, advance: (ms: number) => Promise<void>) {
      const held = await inCaller("holder", [], () => heldOf(holder).lock());
      const seen = contextsOf(...names);
      const waiting = inCaller("waiter", seen, () => lockOf(waiter).lock());
      await advance(200);
      await inCaller("holder", [], () => held.unlock());
      await advance(2_000);
      const lease = await waiting;
      const ofWaiter = seen.filter((each) => !each.startsWith("release in holder"));
      await inCaller("holder", [], () => lease.unlock());
      return ofWaiter;
    }

    test("is in the async context of its caller when the lock is free", async () => {
      const { holdfast } = open();
      const seen = contextsOf(...names);
      const lease = await inCaller("waiter", seen, () => lockOf(holdfast).lock());
      expect(seen).toEqual(expected("acquire"));
      await lease.unlock();
    });

    test("is in the async context of its caller when it is refused", async () => {
      const { holdfast, connect } = open();
      const held = await heldOf(connect().holdfast).lock();
      const seen = contextsOf(...names);
      expect(await inCaller("waiter", seen, () => lockOf(holdfast).tryLock())).toBeNull();
      expect(new Set(seen)).toEqual(new Set(expected("contended", "acquire")));
      await held.unlock();
    });

    test("is in the async context of its caller when a message or a grant lets it in", async () => {
      const { holdfast, connect, clock } = open();
      const seen = await waitFor(connect().holdfast, holdfast, (ms) => clock.advance(ms));
      expect(new Set(seen)).toEqual(new Set(expected("contended", "acquire")));
    });

    test("is in the async context of its caller when a call of its own client leaves it the lock", async () => {
      const { holdfast, clock } = open();
      const seen = await waitFor(holdfast, holdfast, (ms) => clock.advance(ms));
      expect(new Set(seen)).toEqual(new Set(expected("contended", "acquire")));
    });

    test("is in the async context of its caller when it travels with others, and is refused", async () => {
      const { holdfast, connect } = open();
      const held = await heldOf(connect().holdfast).lock();
      const others = ["c", "d"].map((name) => storage.run("other", () => holdfast.getLock(name).lock()));
      const kin = storage.run("other", () => lockOf(holdfast).tryLock());
      const seen = contextsOf(...names);
      expect(await inCaller("waiter", seen, () => lockOf(holdfast).tryLock())).toBeNull();
      expect(await kin).toBeNull();
      const own = seen.filter((each) => !each.endsWith("other"));
      expect(new Set(own)).toEqual(new Set(expected("contended", "acquire")));
      await held.unlock();
      for (const other of others) await (await other).unlock();
    });

    test("is in the async context of its caller when it is cancelled while it is under way", async () => {
      const { holdfast, clock } = open();
      const seen = contextsOf(...names);
      const cancelling = new AbortController();
      const { signal } = cancelling;
      const call = inCaller("waiter", seen, () => lockOf(holdfast).lock({ signal }));
      storage.run("holder", () => cancelling.abort(new Error("enough")));
      await expect(call).rejects.toThrow("enough");
      expect(seen.filter((each) => !each.startsWith("release"))).toEqual(expected("acquire"));
      await clock.advance(10);
    });
  },
);

describe("a re-entry that waits for its sibling", () => {
  test("publishes, and goes on, in the async context of its caller", async () => {
    const { holdfast, clock } = open();
    const seen = contextsOf("acquire");
    const lock = holdfast.getLock("a");
    await lock.using(async () => {
      const first = lock.using(() => new Promise<void>((resolve) => void clock.schedule(50, resolve)));
      const second = inCaller("waiter", seen, () => lock.using(async () => undefined));
      await clock.advance(100);
      await Promise.all([first, second]);
    });
    expect(seen.filter((each) => each.endsWith("waiter"))).toEqual(["acquire in waiter", "after in waiter"]);
  });
});

/** What both kinds of semaphores can do. */
interface AnySemaphore {
  trySetPermits(permits: number): Promise<boolean>;
  acquire(options?: WaitOptions): Promise<unknown>;
  tryAcquire(options?: WaitOptions): Promise<unknown>;
  using<T>(body: () => T | Promise<T>): Promise<T>;
  availablePermits(): Promise<number>;
  delete(): Promise<boolean>;
}

type SemaphoreOf = (holdfast: Holdfast) => AnySemaphore;
const semaphores: readonly (readonly [kind: string, semaphoreOf: SemaphoreOf])[] = [
  ["semaphore", (holdfast) => holdfast.getSemaphore("s")],
  ["permit-expirable semaphore", (holdfast) => holdfast.getPermitExpirableSemaphore("s")],
];
const permitCases = semaphores.flatMap(([kind, semaphoreOf]) =>
  ([[], ["acquire"]] as const).map((names) => [kind, names, semaphoreOf] as const),
);

describe.each(permitCases)(
  "what a call for a permit of a %s publishes, %j heard, and what follows it",
  (kind, names, semaphoreOf) => {
    const expected = (...told: readonly string[]) =>
      told.filter((each) => each !== "acquire" || names.length > 0).map((each) => `${each} in waiter`);

    /** A call in the context of the waiter that has a body run, whose context is written down as well. */
    const use = (holdfast: Holdfast, seen: string[]) =>
      inCaller("waiter", seen, () =>
        semaphoreOf(holdfast).using(() => void seen.push(`body in ${storage.getStore()}`)),
      );

    test("is in the async context of its caller when there is one", async () => {
      const { holdfast } = open();
      await semaphoreOf(holdfast).trySetPermits(1);
      const seen = contextsOf(...names);
      await use(holdfast, seen);
      expect(seen).toEqual(expected("acquire", "body", "after"));
      await semaphoreOf(holdfast).delete();
    });

    test("is in the async context of its caller when it is refused", async () => {
      const { holdfast } = open();
      const seen = contextsOf(...names);
      expect(await inCaller("waiter", seen, () => semaphoreOf(holdfast).tryAcquire())).toBeFalsy();
      expect(seen).toEqual(expected("acquire", "after"));
    });

    test.each(["another client", "its own client"])(
      "is in the async context of its caller when a message about a release of %s lets it in",
      async (whose) => {
        const { holdfast, connect, clock } = open();
        const holder = semaphoreOf(whose === "its own client" ? holdfast : connect().holdfast);
        await holder.trySetPermits(1);
        const body = () => new Promise<void>((resolve) => void clock.schedule(200, resolve));
        const held = inCaller("holder", [], () => holder.using(body));
        await clock.advance(100);
        const seen = contextsOf(...names);
        const waiting = use(holdfast, seen);
        await clock.advance(2_000);
        await Promise.all([held, waiting]);
        expect(seen).toEqual(expected("acquire", "body", "after"));
        await holder.delete();
      },
    );

    test("is in the async context of its caller when it waits behind another, and its time is up", async () => {
      const { holdfast, clock } = open();
      const other = storage.run("other", () => semaphoreOf(holdfast).tryAcquire({ waitMs: 2_000 }));
      await clock.advance(10);
      const seen = contextsOf(...names);
      const call = inCaller("waiter", seen, () => semaphoreOf(holdfast).tryAcquire({ waitMs: 1_000 }));
      await clock.advance(1_000);
      expect(await call).toBeFalsy();
      expect(seen).toEqual(expected("acquire", "after"));
      await clock.advance(1_000);
      expect(await other).toBeFalsy();
    });

    test("is in the async context of its caller when it is cancelled while it is under way", async () => {
      const { holdfast, clock } = open();
      await semaphoreOf(holdfast).trySetPermits(1);
      const seen = contextsOf(...names, "release");
      const cancelling = new AbortController();
      const { signal } = cancelling;
      const call = inCaller("waiter", seen, () => semaphoreOf(holdfast).acquire({ signal }));
      storage.run("holder", () => cancelling.abort(new Error("enough")));
      await expect(call).rejects.toThrow("enough");
      await clock.advance(10);
      const givenBack = kind === "semaphore" ? [] : ["release"];
      expect(seen).toEqual(expected("acquire", "after", ...givenBack));
      expect(await semaphoreOf(holdfast).availablePermits()).toBe(1);
      await semaphoreOf(holdfast).delete();
    });
  },
);

describe("a call that awaits a latch", () => {
  test("goes on in the async context of its caller when it is open, when it is opened, and when its time is up", async () => {
    const { holdfast, connect, clock } = open();
    const [latch, seen] = [holdfast.getCountDownLatch("l"), contextsOf()];
    const wait = (waitMs?: number) =>
      inCaller("waiter", seen, () => {
        const goOn = (opened: boolean) => void seen.push(`${opened} in ${storage.getStore()}`);
        return latch.await(waitMs === undefined ? {} : { waitMs }).then(goOn);
      });
    await wait();
    await latch.trySetCount(1);
    const [waiting, late] = [wait(), wait(100)];
    await clock.advance(200);
    await late;
    await inCaller("holder", [], () => connect().holdfast.getCountDownLatch("l").countDown());
    await clock.advance(10);
    await waiting;
    const told = ["true", "after", "false", "after", "true", "after"];
    expect(seen).toEqual(told.map((each) => `${each} in waiter`));
  });
});
