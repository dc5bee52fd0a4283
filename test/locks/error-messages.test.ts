import { describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { UnavailableError } from "../../src/errors.js";
import { answerWith, rejectAtOnce } from "../support/faults/call-faults.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
const SERVER = "memory:\\d+";

/** As JavaScript would pass it: whatever, unchecked by a compiler. */
function whatever<T>(value: unknown): T {
  return value as T;
}

async function messageOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("the call did not fail");
}

describe("what a caller did wrong is told with the value, the names that there are and the next step", () => {
  test.each([
    [
      "a number in place of options",
      5_000,
      "options must be an object, got 5000, as in { waitMs: 5000 } or { leaseMs: 5000 }",
    ],
    ["text in place of options", "5s", 'options must be an object, got "5s"'],
    ["null in place of options", null, "options must be an object, got null"],
    [
      "a name that is nearly one",
      { waitTime: 5 },
      'there is no option "waitTime" of a lock: waitMs, leaseMs, watchdogMs, maxHoldMs, signal, threadId, note, keepForMs. Did you mean waitMs?',
    ],
    [
      "a name of another library",
      { ttl: 5 },
      'there is no option "ttl" of a lock: waitMs, leaseMs, watchdogMs, maxHoldMs, signal, threadId, note, keepForMs. Did you mean leaseMs?',
    ],
    [
      "a name that is like none",
      { colour: "red" },
      'there is no option "colour" of a lock: waitMs, leaseMs, watchdogMs, maxHoldMs, signal, threadId, note, keepForMs',
    ],
    ["an array in place of options", [], "options must be an object, got an array"],
    ["a date in place of options", new Date(), "options must be an object, got a Date"],
    ["a map in place of options", new Map(), "options must be an object, got a Map"],
    ["a signal in place of options", AbortSignal.abort(), "options must be an object, got an AbortSignal"],
    ["a duration in words", { leaseMs: "10s" }, 'leaseMs must be a number of milliseconds, got "10s"'],
    [
      "a controller",
      { signal: new AbortController() },
      "signal must be an AbortSignal, got an AbortController",
    ],
    ["a thread id in words", { threadId: "57" }, 'threadId must be a number, got "57"'],
  ])("%s", async (_, options, message) => {
    const lock = open().holdfast.getLock("a");
    for (const call of [
      () => lock.lock(whatever(options)),
      () => lock.tryUsing(whatever(options), () => 1),
    ]) {
      expect(await messageOf(call)).toBe(message);
    }
  });

  test("options of semaphores, settings and options of a client", async () => {
    const { holdfast, connect } = open();
    const semaphore = holdfast.getPermitExpirableSemaphore("s");
    expect(await messageOf(() => semaphore.acquire(1, whatever(5)))).toBe(
      "options must be an object, got 5, as in { waitMs: 5 } or { leaseMs: 5 }",
    );
    expect(await messageOf(() => semaphore.acquire(whatever({ leaseTime: 5 })))).toBe(
      'there is no option "leaseTime" of this call: waitMs, leaseMs, watchdog, maxHoldMs, signal, note. Did you mean leaseMs?',
    );
    expect(await messageOf(() => holdfast.getCountDownLatch("l").await(whatever({ wait: 5 })))).toBe(
      'there is no option "wait" of this call: waitMs, signal. Did you mean waitMs?',
    );
    expect(await messageOf(() => holdfast.getReadWriteLock("a", whatever({ fairly: true })))).toBe(
      'there is no setting "fairly" of a read-write lock: reentry, fair. Did you mean fair?',
    );
    expect(await messageOf(() => connect(whatever({ watchdog: 5 })))).toMatch(
      /^there is no option "watchdog" of a client: waitMs, watchdogMs, .*, clock\. Did you mean watchdogMs\?$/,
    );
    expect(await messageOf(() => holdfast.close(whatever({ grace: 5 })))).toBe(
      'there is no option "grace" of close: releaseHeld, graceMs. Did you mean graceMs?',
    );
    expect(await messageOf(() => holdfast.getLock("a").using(whatever(undefined)))).toBe(
      "using needs a function as its last argument, got undefined",
    );
  });

  test("an option in the wrong place, with how it is given", async () => {
    const { holdfast, connect } = open();
    expect(await messageOf(() => holdfast.getLock("a", whatever({ leaseMs: 5 })))).toBe(
      'there is no setting "leaseMs" of a lock: reentry. Pass it as in getLock(name).lock({ leaseMs })',
    );
    expect(await messageOf(() => holdfast.getLock("a").lock(whatever({ fair: true })))).toMatch(
      / Pass it as in getReadWriteLock\(name, \{ fair \}\)$/,
    );
    expect(await messageOf(() => connect(whatever({ leaseMs: 5 })))).toMatch(
      / Pass it as in getLock\(name\)\.lock\(\{ leaseMs \}\)$/,
    );
  });

  test("a second argument that has no effect", async () => {
    const { holdfast } = open();
    expect(await messageOf(() => Reflect.apply(holdfast.getSemaphore, holdfast, ["s", 5]))).toBe(
      "getSemaphore takes only a name, but also got 5. Pass it as in await semaphore.trySetPermits(5)",
    );
    expect(
      await messageOf(() => Reflect.apply(holdfast.getPermitExpirableSemaphore, holdfast, ["p", 5])),
    ).toBe(
      "getPermitExpirableSemaphore takes only a name, but also got 5. Pass it as in await semaphore.trySetPermits(5)",
    );
    expect(await messageOf(() => Reflect.apply(holdfast.getCountDownLatch, holdfast, ["l", 5]))).toBe(
      "getCountDownLatch takes only a name, but also got 5. Pass it as in await latch.trySetCount(5)",
    );
    for (const method of ["getNonReentrantLock", "getNonReentrantFairLock"] as const) {
      expect(await messageOf(() => Reflect.apply(holdfast[method], holdfast, ["a", {}]))).toBe(
        `${method} takes only a name, but also got an object`,
      );
    }
  });

  test("several names where one is wanted", async () => {
    const { holdfast } = open();
    expect(await messageOf(() => holdfast.getLock(whatever(["a", "b"])))).toBe(
      'a name must be a non-empty string, got an array: to take several locks as one, use getMultiLock(getLock("a"), getLock("b"))',
    );
    expect(await messageOf(() => holdfast.getLock(whatever(7)))).toBe(
      "a name must be a non-empty string, got 7",
    );
  });
});

describe("the message of", () => {
  test("an unlock outside of asThread, in another asThread, and of a thread that has nothing", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("x");
    expect(await messageOf(() => lock.unlock())).toBe(
      'lock "x" is not held: outside of asThread a hold is released through its lease (lease.unlock())',
    );
    await lock.using(() =>
      holdfast.asThread(async () => {
        expect(await messageOf(() => lock.unlock())).toBe(
          'lock "x" is not held by this asThread call; release other holds through their lease (lease.unlock())',
        );
      }),
    );
    expect(await messageOf(() => lock.unlock(7))).toBe('lock "x" is not held by thread 7 of this client');
  });

  test("an unlock after a fixed lease has ended says that it was too short, another why it was lost", async () => {
    const { holdfast, clock, server } = open();
    const fixed = await holdfast.getLock("m4").lock({ leaseMs: 100 });
    await clock.advance(201);
    expect(await messageOf(() => fixed.unlock())).toBe(
      'lock "m4" is not held: its lease of 100 ms ran out before the work ended: without leaseMs it is renewed for as long as ' +
        "the work takes; somebody else may hold it",
    );
    const renewed = await holdfast.getLock("m5").lock();
    server.command("DEL", "m5");
    await clock.advance(10_000);
    expect(await messageOf(() => renewed.unlock())).toBe(
      'lock "m5" is not held: lease of "m5" lost after 10000 ms: the hold was removed or taken over in Redis (Redis: absent); ' +
        "somebody else may hold it",
    );
  });

  test.each([
    ["scope", "call this inside lease.run() or using(), or pass { threadId: lease.threadId }"],
    ["explicit", "pass { threadId: lease.threadId }"],
  ] as const)("a wait for the caller's own lock, with reentry %s", async (reentry, way) => {
    const { clock, connect } = open();
    const lock = connect({ reentry }).holdfast.getLock("x");
    const lease = await lock.lock({ leaseMs: 10_000 });
    const waiting = watched(lock.lock({ waitMs: 20 }));
    await clock.advance(20);
    expect(waiting.outcome).toMatchObject({
      error: {
        message: expect.stringMatching(
          new RegExp(
            `^waited 20 ms for lock "x", held by this client as ${lease.holder} \\(its lease ends in \\d+ ms unless it is renewed\\); ` +
              `to enter a lock that the caller itself holds, ${way.replace(/[().{}]/g, "\\$&")}$`,
          ),
        ),
      },
    });
    await lease.unlock();
  });

  test("a wait for another's lock", async () => {
    const { holdfast, clock, connect } = open();
    const lease = await connect().holdfast.getLock("x").lock({ leaseMs: 10_000 });
    const waiting = watched(holdfast.getLock("x").lock({ waitMs: 20 }));
    await clock.advance(20);
    expect(waiting.outcome).toMatchObject({
      error: {
        message: expect.stringMatching(
          new RegExp(
            `^waited 20 ms for lock "x", held by ${lease.holder} \\(its lease ends in \\d+ ms unless it is renewed\\)$`,
          ),
        ),
      },
    });
    await lease.unlock();
  });

  test.each(["getSemaphore", "getPermitExpirableSemaphore"] as const)(
    "a wait for permits of %s",
    async (factory) => {
      const { holdfast, clock } = open();
      const semaphore = holdfast[factory]("s");
      const wait = async (permits: number) => {
        const waiting = watched<unknown>(semaphore.acquire(permits, { waitMs: 21 }));
        await clock.advance(21);
        return (waiting.outcome as { error: Error }).error.message;
      };
      expect(await wait(1)).toBe(
        'waited 21 ms for a permit of "s", which was never set: call trySetPermits(n) first',
      );
      await semaphore.trySetPermits(2);
      expect(await wait(3)).toBe('waited 21 ms for 3 permits of "s" (2 available)');
      await semaphore.addPermits(-2);
      expect(await wait(1)).toBe('waited 21 ms for a permit of "s" (0 available)');
      await semaphore.delete();
    },
  );

  test("a release of permits that are gone", async () => {
    const { holdfast } = open();
    const semaphore = holdfast.getPermitExpirableSemaphore("s");
    await semaphore.trySetPermits(1);
    const ids = ["0".repeat(32), "1".repeat(32)];
    expect(await messageOf(() => semaphore.release(ids))).toBe(
      'permits of "s" are not held: 2 of them are unknown, or their leases have ended',
    );
    expect(await messageOf(() => semaphore.release(ids.slice(1)))).toBe(
      'permits of "s" are not held: 1 of them is unknown, or its lease has ended',
    );
    await semaphore.delete();
  });

  test("a key that is something else", async () => {
    const { holdfast, server } = open();
    server.command("RPUSH", "x", "other");
    const is = (what: string) => `key "x" is not a ${what}: it holds a list`;
    expect(await messageOf(() => holdfast.getLock("x").tryLock())).toBe(is("lock"));
    expect(await messageOf(() => holdfast.getSemaphore("x").tryAcquire())).toBe(is("semaphore"));
    expect(await messageOf(() => holdfast.getPermitExpirableSemaphore("x").tryAcquire())).toBe(
      is("permit-expirable semaphore"),
    );
    expect(await messageOf(() => holdfast.getCountDownLatch("x").getCount())).toBe(is("count-down latch"));
    server.command("DEL", "x");
  });

  test("a server that answers, but always too late", async () => {
    const { holdfast, driver, clock } = open();
    const semaphore = holdfast.getSemaphore("s");
    await semaphore.trySetPermits(1);
    await holdfast.getLock("x").using(() => undefined);
    const late = (answer: unknown) => ({ name: "late", meet: async () => [clock.wallMs(), answer] as never });
    for (let i = 0; i < 5; i += 1) void driver.next(late("late"), "lock-acquire");
    const why =
      "the server answered 5 times after commandTimeoutMs had passed on its clock; is it overloaded\\?";
    expect(await messageOf(() => holdfast.getLock("x").tryLock())).toMatch(
      new RegExp(`^lock "x": ${SERVER}: ${why}$`),
    );
    for (let i = 0; i < 5; i += 1) void driver.next(late(["late"]), "semaphore-acquire");
    expect(await messageOf(() => semaphore.tryAcquire())).toMatch(
      new RegExp(`^semaphore "s": ${SERVER}: ${why}$`),
    );
    await semaphore.delete();
  });

  test("a refusal after a command whose outcome is unknown", async () => {
    const { holdfast, driver, clock } = open();
    const semaphore = holdfast.getSemaphore("s");
    await semaphore.trySetPermits(1);
    const late = { name: "late", meet: async () => [clock.wallMs(), ["late"]] as never };
    void driver.next(rejectAtOnce, "semaphore-acquire");
    void driver.next(late, "semaphore-acquire");
    void driver.next(answerWith(new ServerReplyError("NOPERM no")), "semaphore-acquire");
    const refused = watched(semaphore.tryAcquire());
    await clock.advance(1_000);
    const { error } = refused.outcome as { error: UnavailableError };
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error.message).toMatch(
      new RegExp(`^semaphore "s": ${SERVER}: refused; earlier attempts may have been applied$`),
    );
    expect(error.outcomeUnknown).toBe(true);
    await clock.advance(60_000);
    await semaphore.delete();
  });

  test("a closed client", async () => {
    const { holdfast } = open();
    await holdfast.close();
    expect(await messageOf(() => holdfast.getFairLock("x").lock())).toBe(
      'fair lock "x": this Holdfast client is closed',
    );
    expect(await messageOf(() => holdfast.asThread(() => 1))).toBe("this Holdfast client is closed");
  });
});
