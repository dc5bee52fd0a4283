import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import type { Semaphore } from "../../src/index.js";
import { answerLate, deliverLate, type LateDelivery, neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { isRequestKey } from "../support/servers/request-keys.js";
import { type FakeTime, type FakeTimeClient, fakeTime } from "../support/worlds/fake-time.js";
import { available, PERMITS_CHANNEL, setAvailable } from "../support/worlds/permits.js";

watchLeaks();
const open = fakeTime();

const COMMAND_MS = 3_000;
const HOUR_MS = 3_600_000;

let time: FakeTime;
let semaphore: Semaphore;
let heard: string[];
beforeEach(async () => {
  time = open({ safetyPeriodMs: HOUR_MS });
  semaphore = time.holdfast.getSemaphore("s");
  await time.holdfast.getSemaphore("acquaintance").availablePermits();
  heard = [];
  time.server.subscribe(PERMITS_CHANNEL, (message) => heard.push(message));
});
afterEach(() => {
  time.server.command("DEL", "s");
});

/** The next call is held up on its way, whether its caller is told so or not. */
function heldUp({ driver }: FakeTimeClient, told: boolean): LateDelivery {
  const copy = deliverLate({ told });
  void driver.next(copy);
  return copy;
}

/** Calls that change something where there are permits. */
const changes: readonly (readonly [name: string, call: (own: Semaphore) => Promise<unknown>])[] = [
  ["acquire", (own) => own.acquire(2)],
  ["tryAcquire", (own) => own.tryAcquire(2)],
  ["release", (own) => own.release(2)],
  ["releaseIfExists", (own) => own.releaseIfExists(2)],
  ["addPermits", (own) => own.addPermits(-2)],
  ["drainPermits", (own) => own.drainPermits()],
  ["delete", (own) => own.delete()],
];

describe("a copy of a call that arrives when its repeat has been answered, and others have called since", () => {
  test.each(changes)("changes nothing: %s [R9]", async (_, call) => {
    setAvailable(time, 10);
    const copy = heldUp(time, true);
    const called = watched(call(semaphore));
    await time.clock.advance(100);
    expect(called.outcome).toMatchObject({ value: expect.toSatisfy(() => true) });
    // The client knows the answer, and has no need of it any more; neither does anybody keep what the call left.
    await semaphore.addPermits(1);
    await semaphore.tryAcquire();
    setAvailable(time, 20);
    heard.length = 0;
    await copy.arrive();
    expect([available(time), heard]).toEqual(["20", []]);
    await time.clock.advance(COMMAND_MS + 100);
    expect([available(time), heard]).toEqual(["20", []]);
  });

  test("sets no permits after they were set and deleted: trySetPermits [R9]", async () => {
    const copy = heldUp(time, true);
    const called = watched(semaphore.trySetPermits(2));
    await time.clock.advance(100);
    expect(called.outcome).toEqual({ value: true });
    await semaphore.delete();
    await copy.arrive();
    expect(available(time)).toBeNull();
  });
});

describe("a copy of a call for which a full server had nothing to do", () => {
  test.each<
    [string, (own: Semaphore) => Promise<unknown>, found: number, told: unknown, left: number | null]
  >([
    ["drainPermits", (own) => own.drainPermits(), 0, 0, 5],
    ["trySetPermits", (own) => own.trySetPermits(2), 1, false, null],
  ])("changes nothing when there is something to do: %s [own-56]", async (_, call, found, told, left) => {
    setAvailable(time, found);
    time.server.full(true);
    const copy = heldUp(time, true);
    const called = watched(call(semaphore));
    await time.clock.advance(100);
    time.server.full(false);
    expect(called.outcome).toEqual({ value: told });
    if (left === null) time.server.command("DEL", "s");
    else setAvailable(time, left);
    await copy.arrive();
    expect(available(time)).toBe(left === null ? null : String(left));
  });
});

describe("a call that arrives after its deadline", () => {
  test.each<[string, (own: Semaphore) => Promise<unknown>, after: string | null]>([
    ["trySetPermits", (own) => own.trySetPermits(2), null],
    ["acquire", (own) => own.acquire(2), "10"],
    ["tryAcquire", (own) => own.tryAcquire(2), "10"],
    ["addPermits", (own) => own.addPermits(-2), "10"],
    ["drainPermits", (own) => own.drainPermits(), "10"],
    ["delete", (own) => own.delete(), "10"],
    // These go on behind the scenes, as others wait for the permits.
    ["release", (own) => own.release(2), "12"],
    ["releaseIfExists", (own) => own.releaseIfExists(2), "12"],
  ])("changes nothing: %s", async (_, call, after) => {
    if (after !== null) setAvailable(time, 10);
    const copy = heldUp(time, false);
    const called = watched(call(semaphore));
    await time.clock.advance(2 * COMMAND_MS);
    expect(called.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
    expect(available(time)).toBe(after);
    heard.length = 0;
    await copy.arrive();
    await time.clock.advance(COMMAND_MS);
    expect([available(time), heard]).toEqual([after, []]);
  });
});

describe("a copy of an acquisition that has come to nothing", () => {
  test("takes nothing for a call that was cancelled", async () => {
    setAvailable(time, 10);
    const copy = heldUp(time, false);
    const leaving = new AbortController();
    const called = watched(semaphore.acquire(2, { signal: leaving.signal }));
    await time.clock.advance(100);
    leaving.abort("gone");
    await time.clock.advance(100);
    expect(called.outcome).toEqual({ error: "gone" });
    await copy.arrive();
    await time.clock.advance(100);
    expect(available(time)).toBe("10");
    await time.clock.advance(COMMAND_MS);
    expect(available(time)).toBe("10");
  });

  test("takes nothing for a call that was cancelled, and whose client has called since", async () => {
    setAvailable(time, 10);
    const copy = heldUp(time, false);
    const leaving = new AbortController();
    const called = watched(semaphore.acquire(2, { signal: leaving.signal }));
    await time.clock.advance(100);
    leaving.abort("gone");
    await time.clock.advance(100);
    await semaphore.acquire();
    await semaphore.release();
    await time.clock.advance(100);
    await copy.arrive();
    await time.clock.advance(100);
    expect([called.outcome, available(time)]).toEqual([{ error: "gone" }, "10"]);
  });

  test("takes nothing when its repeat was refused and there are permits by now", async () => {
    setAvailable(time, 1);
    const copy = heldUp(time, true);
    const called = watched(semaphore.tryAcquire(2));
    await time.clock.advance(100);
    expect(called.outcome).toEqual({ value: false });
    setAvailable(time, 10);
    await copy.arrive();
    await time.clock.advance(COMMAND_MS);
    expect(available(time)).toBe("10");
  });

  test("takes nothing when the copy that its Redis client has sent after it was refused [own-40]", async () => {
    setAvailable(time, 10);
    let arrive = (): Promise<unknown> => Promise.reject(new Error("it was not sent"));
    void time.driver.next({
      name: "sent again, and refused",
      async meet(deliver, driver) {
        arrive = deliver;
        driver.reset();
        throw new ServerReplyError("OOM command not allowed");
      },
    });
    await expect(semaphore.tryAcquire(2)).rejects.toMatchObject({ outcomeUnknown: true });
    await time.clock.advance(100);
    await arrive();
    await time.clock.advance(COMMAND_MS);
    expect(available(time)).toBe("10");
  });

  test("takes nothing for a wait whose time is up", async () => {
    setAvailable(time, 1);
    const copy = heldUp(time, true);
    const called = watched(semaphore.tryAcquire(2, { waitMs: 500 }));
    await time.clock.advance(600);
    expect(called.outcome).toEqual({ value: false });
    setAvailable(time, 10);
    await copy.arrive();
    await time.clock.advance(COMMAND_MS);
    expect(available(time)).toBe("10");
  });

  test("takes nothing for a client that was closed meanwhile", async () => {
    setAvailable(time, 10);
    const other = time.connect();
    await other.holdfast.getSemaphore("acquaintance").availablePermits();
    const lost = other.driver.next(neverDeliver);
    const called = watched(other.holdfast.getSemaphore("s").acquire(2));
    const { call } = await lost;
    await time.clock.advance(100);
    const closing = other.holdfast.close();
    await time.clock.advance(COMMAND_MS - 200);
    expect(called.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_CLOSED" } });
    // Its driver brings nothing more, but the command is still under way.
    time.server.evaluate(call.script, call.keys, call.args);
    await time.clock.advance(2 * COMMAND_MS);
    await closing;
    expect(available(time)).toBe("10");
  });
});

describe("what Redis keeps of the calls of a client", () => {
  const answers = () => Object.entries(time.server.dump()).find(([key]) => isRequestKey(key))?.[1];

  test("are the latest answers only, also when calls were taken back, and nothing a minute after the last", async () => {
    setAvailable(time, 0);
    for (let round = 0; round < 20; round++) {
      const late = answerLate();
      void time.driver.next(late, "semaphore-acquire");
      const taken = semaphore.tryAcquire(100);
      await Promise.all([1, 2, 3].map(() => semaphore.release()));
      // A copy of the first one may come yet, so Redis is told to refuse it.
      time.driver.reset();
      late.arrive();
      expect(await taken).toBe(false);
      await time.clock.advance(COMMAND_MS);
    }
    expect(time.driver.names).toContain("semaphore-cancel");
    await time.clock.advance(2 * COMMAND_MS);
    await semaphore.addPermits(1);
    await semaphore.addPermits(1);
    const { type, value = {} } = answers() ?? {};
    expect([type, Object.keys(value).length <= 3]).toEqual(["hash", true]);
    await time.clock.advance(72_001);
    expect(answers()).toBeUndefined();
  });
});

describe("a copy that arrives at a server that has taken over, whose clock is behind", () => {
  test.each(changes)(
    "changes nothing, though its deadline had passed on the clock of the other server: %s [own-2]",
    async (_, call) => {
      setAvailable(time, 10);
      const copy = heldUp(time, true);
      const called = watched(call(semaphore));
      await time.clock.advance(COMMAND_MS + 200);
      expect(called.outcome).toMatchObject({ value: expect.toSatisfy(() => true) });
      await semaphore.release();
      await time.clock.advance(COMMAND_MS + 200);
      time.clock.suspend(-20_000);
      time.driver.reset();
      // Nobody knows yet what the new server's clock says; then it says that the copy would be in time.
      for (let i = 0; i < 3; i++) await semaphore.addPermits(1);
      await time.clock.advance(0);
      setAvailable(time, 20);
      heard.length = 0;
      await copy.arrive();
      expect([available(time), heard]).toEqual(["20", []]);
    },
  );
});

describe("a copy of a call that was sent again only after a server had taken over whose clock is behind", () => {
  test.each(changes)(
    "changes nothing, though it is in time for long by that clock: %s [own-38]",
    async (_, call) => {
      setAvailable(time, 10);
      const copy = heldUp(time, true);
      const called = watched(call(semaphore));
      await time.clock.advance(0);
      time.clock.suspend(-20_000);
      // The new server tells its clock, by which the next deadline is made.
      await time.holdfast.getSemaphore("acquaintance").availablePermits();
      await time.clock.advance(100);
      expect(called.outcome).toMatchObject({ value: expect.toSatisfy(() => true) });
      await time.clock.advance(COMMAND_MS + 200);
      for (let i = 0; i < 3; i++) await semaphore.addPermits(1);
      await time.clock.advance(0);
      setAvailable(time, 20);
      heard.length = 0;
      await copy.arrive();
      expect([available(time), heard]).toEqual(["20", []]);
    },
  );
});
