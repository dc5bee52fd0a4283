import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { ClientClosedError, WaitTimeoutError } from "../../src/errors.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { FakeClock } from "../../src/memory/index.js";
import { momentsDriver } from "../support/drivers/moments-driver.js";
import { answerLate } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type Watched, watched } from "../support/run/watched.js";
import { ModelServer } from "../support/servers/model-server.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { CHANNEL, heldByJvm, releasedByJvm } from "../support/worlds/foreign-holder.js";
import { got } from "../support/worlds/hand-off-scene.js";

watchLeaks();

const NEVER_MS = 60 * 60 * 1_000;
/** More than there are awaits between the driver and the caller of a lock. */
const MICROTASKS = 30;

/** A world in which one call is cancelled at a moment that the schedule chooses. */
interface World {
  readonly clock: FakeClock;
  readonly server: ModelServer;
  /** The client whose call is cancelled. */
  readonly client: Holdfast;
  readonly signal: AbortSignal;
}

/** What the call to be cancelled brought, and what the next one did. */
interface Ending {
  readonly victim: Watched<Lease | null>;
  readonly next: Watched<string>;
}

type Scenario = (world: World) => Promise<Ending>;

/** The victim got the lock before it was cancelled. */
async function giveBack({ outcome }: Watched<Lease | null>, clock: FakeClock): Promise<void> {
  if (outcome !== undefined && "value" in outcome) await outcome.value?.unlock();
  await clock.advance(0);
}

async function visit(client: Holdfast): Promise<string> {
  const lease = await client.getLock("a").lock();
  await lease.unlock();
  return "entered";
}

/** The lock is free: the victim asks once. */
const free: Scenario = async ({ client, clock, signal }) => {
  const victim = watched(client.getLock("a").lock({ signal }));
  const next = watched(visit(client));
  await clock.advance(0);
  await giveBack(victim, clock);
  return { victim, next };
};

/** Somebody else has the lock and releases it when the victim listens, and when the time of a timed wait is up. */
function heldUntil(waitMs: number | undefined): Scenario {
  return async ({ client, clock, server, signal }) => {
    const holder = new Holdfast(server.driver(), { clock });
    const held = await holder.getLock("a").lock();
    const victim = watched(client.getLock("a").tryLock({ signal, waitMs: waitMs ?? NEVER_MS }));
    const next = watched(visit(client));
    await clock.advance(0);
    clock.schedule(waitMs ?? 1, () => void held.unlock());
    await clock.advance(waitMs ?? 1);
    await giveBack(victim, clock);
    await holder.close();
    return { victim, next };
  };
}

/** The victim re-enters a hold around it, after the body of a sibling. */
const sibling: Scenario = ({ client, clock, signal }) => {
  const lock = client.getLock("a");
  let leave = (): void => undefined;
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  return lock.using(async () => {
    const first = lock.using(() => left);
    const victim = watched(lock.using({ signal }, () => null));
    const next = watched(lock.using(() => "entered"));
    await clock.advance(0);
    leave();
    await first;
    await clock.advance(0);
    return { victim, next };
  });
};

/**
 * Plays a scenario and aborts the signal a number of microtasks after the k-th moment.
 * @returns the moment; undefined when there was none, so that nothing was aborted
 */
async function play(scenario: Scenario, k: number, microtasks: number): Promise<string | undefined> {
  const clock = new FakeClock();
  const server = new ModelServer(clock);
  const leaving = new AbortController();
  const reason = new Error("cancelled");
  let moments = 0;
  let struck: string | undefined;
  const strike = async (moment: string) => {
    moments += 1;
    if (moments !== k) return;
    struck = moment;
    for (let i = 0; i < microtasks; i++) await undefined;
    leaving.abort(reason);
  };
  const driver = momentsDriver(server.driver(), (moment) => void strike(moment));
  const client = new Holdfast(driver, { clock, safetyPeriodMs: NEVER_MS });
  const { victim, next } = await scenario({ clock, server, client, signal: leaving.signal });
  const listened = getEventListeners(leaving.signal, "abort").length;
  await client.close();
  expect(
    {
      victim: victim.outcome,
      next: next.outcome,
      listened,
      keys: server.locks.size + server.queues.size,
      timers: clock.pendingTimers,
    },
    `cancelled ${microtasks} microtasks after moment ${k}: ${struck}`,
  ).toEqual({
    victim: expect.toSatisfy((outcome) => outcome?.error === reason || (outcome && "value" in outcome)),
    next: { value: "entered" },
    listened: 0,
    keys: 0,
    timers: 0,
  });
  return struck;
}

describe("a call that is cancelled at any moment of its life leaves nothing behind, and lets the next in", () => {
  test.each([
    ["of a lock that is free [B37]", free, 10],
    ["of a lock that is held [B37]", heldUntil(undefined), 16],
    ["whose time is up when the message comes [B37]", heldUntil(1_000), 14],
    ["that waits to re-enter [B37]", sibling, 14],
  ] as const)("%s", { timeout: 60_000 }, async (_, scenario, atLeast) => {
    const moments: string[] = [];
    for (;;) {
      const k = moments.length + 1;
      const struck = await play(scenario, k, 0);
      if (struck === undefined) break;
      moments.push(struck);
      // Where something was sent, nothing of ours runs until it is answered.
      const microtasks = struck.endsWith("is sent") ? 1 : MICROTASKS;
      for (let i = 1; i <= microtasks; i++) await play(scenario, k, i);
    }
    expect(moments.length, moments.join(", ")).toBeGreaterThanOrEqual(atLeast);
  });
});

describe("cancelling a wait", () => {
  const open = fakeTime();

  test("rejects with the signal's own reason, at once", async () => {
    const time = open();
    heldByJvm(time, NEVER_MS);
    const lock = time.connect().holdfast.getLock("a");
    const reason = { why: "not an Error, and still the reason" };
    for (const call of [
      (signal: AbortSignal) => lock.lock({ signal }),
      (signal: AbortSignal) => lock.tryLock({ signal, waitMs: 5_000 }),
      (signal: AbortSignal) => lock.using({ signal }, () => undefined),
    ]) {
      const leaving = new AbortController();
      const waiting = watched(call(leaving.signal));
      await time.clock.advance(10);
      expect(waiting.outcome).toBeUndefined();
      leaving.abort(reason);
      await new Promise(setImmediate);
      expect(waiting.outcome).toEqual({ error: reason });
      expect(getEventListeners(leaving.signal, "abort")).toEqual([]);
    }
    time.server.flush();
  });

  test("sends nothing when the signal was aborted before", async () => {
    const time = open();
    const { holdfast: client, driver } = time.connect();
    const lock = client.getLock("a");
    const signal = AbortSignal.abort("too late");
    await expect(lock.lock({ signal })).rejects.toBe("too late");
    await expect(lock.tryLock({ signal })).rejects.toBe("too late");
    await expect(lock.using({ signal }, () => undefined)).rejects.toBe("too late");
    expect(driver.names).toEqual([]);
  });

  test("ends all asking: a cancelled call neither acquires nor releases later [wire-L22]", async () => {
    const time = open();
    heldByJvm(time, NEVER_MS);
    const { holdfast: client, driver } = time.connect({ safetyPeriodMs: 4_000 });
    const leaving = new AbortController();
    const waiting = watched(client.getLock("a").lock({ signal: leaving.signal }));
    await time.clock.advance(0);
    const messages: string[] = [];
    time.server.subscribe(CHANNEL, (message) => messages.push(message));
    leaving.abort("changed my mind");
    driver.calls.length = 0;
    await releasedByJvm(time);
    await time.clock.advance(60_000);
    expect(waiting.outcome).toEqual({ error: "changed my mind" });
    expect(driver.names).toEqual([]);
    expect(messages).toEqual(["0"]);
  });

  test("that has just been woken to enter once more ends it as well, whenever it is cancelled [own-74]", async () => {
    for (let microtasks = 0; microtasks < MICROTASKS; microtasks += 1) {
      const { holdfast, driver, clock } = open();
      const lock = holdfast.getLock("a");
      const outer = await lock.lock();
      const { threadId } = outer;
      const before = answerLate();
      void driver.next(before, "lock-acquire");
      const first = watched(lock.lock({ threadId }));
      const leaving = new AbortController();
      const second = watched(lock.lock({ threadId, signal: leaving.signal }));
      await clock.advance(0);
      before.arrive();
      for (let i = 0; i < microtasks; i += 1) await undefined;
      leaving.abort("changed my mind");
      await clock.advance(0);
      expect([microtasks, second.outcome]).toEqual([microtasks, { error: "changed my mind" }]);
      await got(first).unlock();
      await outer.unlock();
    }
  });

  test("of all waiters happens when their client is closed", async () => {
    const time = open();
    heldByJvm(time, NEVER_MS);
    const client = time.connect().holdfast;
    const waiting = Array.from({ length: 3 }, () => watched(client.getLock("a").lock()));
    const reentering = watched(client.getLock("a").tryLock({ threadId: 7, waitMs: 60_000 }));
    await time.clock.advance(10);
    await client.close();
    for (const { outcome } of [...waiting, reentering]) {
      expect(outcome).toEqual({ error: expect.any(ClientClosedError) });
    }
    time.server.flush();
  });

  test("leaves a timed wait its own end when the signal never aborts", async () => {
    const time = open();
    heldByJvm(time, NEVER_MS);
    const staying = new AbortController();
    const waiting = watched(
      time.connect().holdfast.getLock("a").lock({ waitMs: 50, signal: staying.signal }),
    );
    await time.clock.advance(50);
    expect(waiting.outcome).toEqual({ error: expect.any(WaitTimeoutError) });
    expect(getEventListeners(staying.signal, "abort")).toEqual([]);
    time.server.flush();
  });
});
