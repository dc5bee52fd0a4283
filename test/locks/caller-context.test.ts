import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, describe, expect, test } from "vitest";
import { events } from "../../src/events.js";
import type { Holdfast } from "../../src/index.js";
import type { Lock } from "../../src/locks/lock.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const storage = new AsyncLocalStorage<string>();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

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
const kinds: readonly (readonly [kind: string, lockOf: LockOf])[] = [
  ["lock", (holdfast) => holdfast.getLock("a")],
  ["non-reentrant lock", (holdfast) => holdfast.getNonReentrantLock("a")],
  ["spin lock", (holdfast) => holdfast.getSpinLock("a")],
  ["fair lock", (holdfast) => holdfast.getFairLock("a")],
  ["write lock", (holdfast) => holdfast.getReadWriteLock("a").writeLock()],
  ["multi lock", (holdfast) => holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b"))],
  ["red lock", (holdfast) => holdfast.getRedLock(holdfast.getLock("a"))],
  [
    "red lock of three",
    (holdfast) => holdfast.getRedLock(...["a", "b", "c"].map((name) => holdfast.getLock(name))),
  ],
];
const told = [[], ["contended"], ["acquire"], ["contended", "acquire", "release"]] as const;
const cases = kinds.flatMap(([kind, lockOf]) => told.map((names) => [kind, names, lockOf] as const));

describe.each(cases)(
  "what a call for a %s publishes, %j heard, and what follows it",
  (_kind, names, lockOf) => {
    const expected = (...heard: readonly string[]) => [
      ...heard
        .filter((name) => (names as readonly string[]).includes(name))
        .map((name) => `${name} in waiter`),
      "after in waiter",
    ];

    /** @returns what the waiter has published, and what followed, once it has the lock from the holder */
    async function waitFor(holder: Holdfast, waiter: Holdfast, advance: (ms: number) => Promise<void>) {
      const held = await inCaller("holder", [], () => lockOf(holder).lock());
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
      const held = await lockOf(connect().holdfast).lock();
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
      const held = await lockOf(connect().holdfast).lock();
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
      const { holdfast } = open();
      const seen = contextsOf(...names);
      const cancelling = new AbortController();
      const { signal } = cancelling;
      const call = inCaller("waiter", seen, () => lockOf(holdfast).lock({ signal }));
      storage.run("holder", () => cancelling.abort(new Error("enough")));
      await expect(call).rejects.toThrow("enough");
      expect(seen.filter((each) => !each.startsWith("release"))).toEqual(expected("acquire"));
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
