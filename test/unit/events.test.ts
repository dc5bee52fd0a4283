import { afterEach, describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { type AcquireEvent, events } from "../../src/events.js";
import { answerWith, rejectAtOnce } from "../support/faults/call-faults.js";
import { aboutOf, endRecordings, recorded } from "../support/run/recorded-events.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime({ forgets: true });
endRecordings();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Waits for the garbage collector to take what nobody refers to, and for the registry to be told. */
async function collected(told: () => boolean): Promise<void> {
  while (!told()) {
    globalThis.gc?.();
    await new Promise(setImmediate);
  }
}

/** What the tracing channel says, one entry for each of its parts, with the context as it was then. */
function traced(): { readonly said: [string, unknown][]; readonly contexts: Set<object> } {
  const said: [string, unknown][] = [];
  const contexts = new Set<object>();
  const part = (name: string) => (context: AcquireEvent) => {
    said.push([name, { ...context }]);
    contexts.add(context);
  };
  const all = {
    start: part("start"),
    end: part("end"),
    asyncStart: part("asyncStart"),
    asyncEnd: part("asyncEnd"),
    error: part("error"),
  };
  events.acquire.subscribe(all);
  ends.push(() => events.acquire.unsubscribe(all));
  return { said, contexts };
}

const A = { name: "a", kind: "lock" };

describe("holdfast:lock:acquire", () => {
  test("goes from start to asyncEnd with one context, which in the end says what came of it", async () => {
    const time = open();
    const client = time.holdfast;
    const trace = traced();
    const lease = await client.getLock("a").lock();
    const asked = { leaseMs: 30_000, renewed: true, waitMs: Number.POSITIVE_INFINITY };
    const begun = { ...aboutOf(time), ...A, ...asked };
    const acquired = { outcome: "acquired", holder: lease.holder, holdCount: 1, attempts: 1, waitedMs: 0 };
    const ended = { ...begun, ...acquired, via: "free" };
    expect(trace.said).toEqual([
      ["start", begun],
      ["end", begun],
      ["asyncStart", ended],
      ["asyncEnd", ended],
    ]);
    expect(trace.contexts.size).toBe(1);
    await lease.run(() => client.getLock("a").using(() => undefined));
    expect(trace.said.at(-1)).toMatchObject(["asyncEnd", { ...acquired, holdCount: 2, via: "re-entry" }]);
    await lease.unlock();
  });

  test("begins with what the call asks for", async () => {
    const time = open({ waitMs: 7_000, watchdogMs: 20_000 });
    const [a, b] = [time.holdfast.getLock("a"), time.holdfast.getLock("b")];
    const permits = time.holdfast.getPermitExpirableSemaphore("s");
    const semaphore = time.holdfast.getSemaphore("s");
    const calls = [
      [() => a.lock(), { leaseMs: 20_000, renewed: true, waitMs: 7_000 }],
      [() => a.tryLock({ leaseMs: 500 }), { leaseMs: 500, renewed: false, waitMs: 0 }],
      [() => time.holdfast.getMultiLock(a, b).tryLock(), { leaseMs: 20_000, renewed: true, waitMs: 0 }],
      [
        () => time.holdfast.getMultiLock(a, b).tryLock({ watchdogMs: 5_500 }),
        { leaseMs: 5_000, renewed: true, waitMs: 0 },
      ],
      [
        () => time.holdfast.getRedLock(a).tryLock({ leaseMs: 60, waitMs: 1 }),
        { leaseMs: 60, renewed: false, waitMs: 1 },
      ],
      [() => permits.tryAcquire({ leaseMs: 500 }), { leaseMs: 500, renewed: false, waitMs: 0 }],
      [() => permits.tryAcquire({ watchdog: true }), { leaseMs: 20_000, renewed: true, waitMs: 0 }],
      [() => permits.tryAcquire(), { leaseMs: Number.POSITIVE_INFINITY, renewed: false, waitMs: 0 }],
      [() => semaphore.tryAcquire(), { leaseMs: Number.POSITIVE_INFINITY, renewed: false, waitMs: 0 }],
    ] as const;
    const trace = traced();
    for (const [call, asked] of calls) {
      const called = watched<unknown>(call());
      expect(trace.said.findLast(([part]) => part === "start")?.[1]).toMatchObject({
        ...aboutOf(time),
        ...asked,
      });
      await time.clock.advance(200);
      expect(called.outcome).toHaveProperty("value");
    }
    await a.forceUnlock();
  });

  test("has the fencing token", async () => {
    const time = open();
    const trace = traced();
    const lease = await time.holdfast.getFencedLock("a").lock();
    expect(trace.said.at(-1)?.[1]).toMatchObject({ holdCount: 1, token: lease.token });
    await lease.unlock();
    time.server.command("DEL", "redisson_lock_token:{a}");
  });

  test("says how long it waited and how often it asked, and that its time ran out", async () => {
    const time = open();
    const lease = await time.connect().holdfast.getLock("a").lock();
    const lock = time.connect().holdfast.getLock("a");
    const trace = traced();
    const waiting = watched(lock.tryLock({ waitMs: 1_500 }));
    await time.clock.advance(1_500);
    expect(waiting.outcome).toEqual({ value: null });
    expect(trace.said.at(-1)).toEqual([
      "asyncEnd",
      expect.objectContaining({ ...A, outcome: "timeout", waitedMs: 1_500, attempts: 3 }),
    ]);
    expect(trace.said.map(([part]) => part)).not.toContain("error");
    await lease.unlock();
  });

  test("tells the error of an acquisition that failed", async () => {
    const time = open();
    const { holdfast: client, driver } = time.connect();
    const trace = traced();
    void driver.next(answerWith(new ServerReplyError("NOAUTH Authentication required.")), "lock-acquire");
    const failed = watched(client.getLock("a").tryLock());
    await time.clock.advance(0);
    expect(failed.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
    expect(trace.said.map(([part]) => part)).toEqual(["start", "end", "error", "asyncStart", "asyncEnd"]);
    expect(trace.said.at(-1)?.[1]).toMatchObject({ outcome: "failed", attempts: 1, ...failed.outcome });
  });

  test("says that a call was refused which does not wait", async () => {
    const time = open();
    const lease = await time.connect().holdfast.getLock("a").lock();
    const trace = traced();
    const { holdfast } = time.connect();
    for (const call of [
      () => holdfast.getLock("a").tryLock(),
      () => holdfast.getFairLock("a").tryUsing(() => undefined),
      () => holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b")).tryLock(),
      () => holdfast.getRedLock(holdfast.getLock("a")).tryLock(),
      () => holdfast.getSemaphore("s").tryAcquire(),
    ]) {
      const refused = watched<unknown>(call());
      await time.clock.advance(0);
      expect(refused.outcome).toHaveProperty("value");
      expect(trace.said.at(-1)).toEqual(["asyncEnd", expect.objectContaining({ outcome: "refused" })]);
    }
    await lease.unlock();
  });

  test("says that a wait was cancelled which the closing of the client ends", async () => {
    const time = open();
    const lease = await time.connect().holdfast.getLock("a").lock();
    const { holdfast } = time.connect();
    for (const lock of [
      holdfast.getLock("a"),
      holdfast.getFairLock("a"),
      holdfast.getRedLock(holdfast.getLock("a")),
    ]) {
      void watched(lock.lock());
    }
    void watched(holdfast.getSemaphore("s").acquire());
    const ended: unknown[] = [];
    const noted = ({ outcome }: AcquireEvent) => ended.push(outcome);
    events.acquire.subscribe({ asyncEnd: noted });
    ends.push(() => events.acquire.unsubscribe({ asyncEnd: noted }));
    const tracedToo = watched(holdfast.getSpinLock("a").lock());
    await time.clock.advance(10);
    void holdfast.close();
    await time.clock.advance(0);
    expect(tracedToo.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_CLOSED" } });
    expect(ended).toEqual(["cancelled"]);
    await time.clock.advance(10_000);
    await lease.unlock();
  });

  test("says that a wait failed which the server ends", async () => {
    const time = open();
    const lease = await time.connect().holdfast.getLock("a").lock();
    const { holdfast, driver } = time.connect({ safetyPeriodMs: 500 });
    const trace = traced();
    const waiting = [watched(holdfast.getLock("a").lock()), watched(holdfast.getLock("a").lock())];
    await time.clock.advance(100);
    void driver.next(answerWith(new ServerReplyError("NOAUTH Authentication required.")), "lock-acquire");
    await time.clock.advance(1_000);
    for (const { outcome } of waiting)
      expect(outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
    const ended = trace.said.filter(([part]) => part === "asyncEnd").map(([, event]) => event);
    expect(ended).toMatchObject([{ outcome: "failed" }, { outcome: "failed" }]);
    await lease.unlock();
  });

  test("may be listened to with one handler only", async () => {
    const time = open();
    const told: unknown[] = [];
    const handlers = { asyncEnd: ({ outcome }: AcquireEvent) => told.push(outcome) };
    events.acquire.subscribe(handlers);
    await (await time.connect().holdfast.getLock("a").lock()).unlock();
    events.acquire.unsubscribe(handlers);
    await (await time.connect().holdfast.getLock("a").lock()).unlock();
    expect(told).toEqual(["acquired"]);
  });

  test("tells a cancelled wait as cancelled, with the reason", async () => {
    const time = open();
    const lease = await time.connect().holdfast.getLock("a").lock();
    const trace = traced();
    const leaving = new AbortController();
    const waiting = watched(time.connect().holdfast.getLock("a").lock({ signal: leaving.signal }));
    await time.clock.advance(700);
    leaving.abort("gone");
    await time.clock.advance(0);
    expect(waiting.outcome).toEqual({ error: "gone" });
    expect(trace.said.at(-1)?.[1]).toMatchObject({ outcome: "cancelled", waitedMs: 700, error: "gone" });
    await lease.unlock();
  });
});

describe("the events of locks", () => {
  test("holdfast:lock:contended comes once for an acquisition that finds the lock held", async () => {
    const time = open();
    const contended = recorded(events.contended);
    const lease = await time.connect().holdfast.getLock("a").lock({ leaseMs: 10_000 });
    expect(contended).toEqual([]);
    await time.clock.advance(1_000);
    const waiter = time.connect({ safetyPeriodMs: 500 });
    const waiting = watched(waiter.holdfast.getLock("a").lock());
    await time.clock.advance(4_000);
    const seen = { holder: lease.holder, ttlMs: 9_000, own: false, behind: 0 };
    expect(contended).toEqual([{ ...aboutOf(waiter), ...A, ...seen }]);
    await lease.unlock();
    await time.clock.advance(0);
    expect(waiting.outcome).toHaveProperty("value");
    await time.connect().holdfast.getLock("a").forceUnlock();
  });

  test("holdfast:lock:release comes when Redis has released, for each hold, and with an error where that has failed", async () => {
    const time = open();
    const { holdfast: client, driver } = time;
    const released = recorded(events.release);
    const lock = client.getLock("a");
    const lease = await lock.lock();
    await time.clock.advance(1_000);
    const inner = await lease.run(() => lock.lock());
    await time.clock.advance(500);
    await inner.unlock();
    const about = aboutOf(time);
    expect(released).toEqual([{ ...about, ...A, holder: lease.holder, heldMs: 500, holdCount: 2 }]);
    void driver.next(answerWith(new ServerReplyError("NOPERM")), "lock-release");
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE" });
    const error = expect.objectContaining({ code: "ERR_HOLDFAST_UNAVAILABLE" });
    const failed = { ...about, ...A, holder: lease.holder, heldMs: 1_500, holdCount: 1, error };
    expect(released.slice(1)).toEqual([failed]);
    const other = await client.getLock("b").lock();
    await other.unlock();
    const last = { name: "b", kind: "lock", holder: other.holder, heldMs: 0, holdCount: 1 };
    expect(released.at(-1)).toEqual({ ...about, ...last });
    await lock.forceUnlock();
  });

  test("holdfast:lease:lost comes once, when the lease ends, with the reason", async () => {
    const time = open();
    const lost = recorded(events.leaseLost);
    const client = time.holdfast;
    const about = { ...aboutOf(time), ...A, holdCount: 1 };
    const lease = await client.getLock("a").lock({ leaseMs: 10_000 });
    expect(lease.signal.aborted).toBe(false);
    await time.clock.advance(9_897);
    expect(lost).toEqual([]);
    await time.clock.advance(1);
    expect(lost).toEqual([{ ...about, holder: lease.holder, reason: "expired", heldMs: 9_898 }]);
    await expect(lease.unlock()).rejects.toThrow();
    expect(lost).toHaveLength(1);
    const stolen = await client.getLock("a").lock();
    await client.getLock("a").forceUnlock();
    expect(lost[1]).toEqual({ ...about, holder: stolen.holder, reason: "stolen", heldMs: 0 });
    const closed = await client.getLock("b").lock();
    await client.close({ releaseHeld: true });
    expect(lost[2]).toMatchObject({ name: "b", holder: closed.holder, reason: "closed" });
    expect(lost).toHaveLength(3);
  });

  test("holdfast:lease:release-failed tells what using and await using keep to themselves", async () => {
    const time = open();
    const failed = recorded(events.releaseFailed);
    const { holdfast: client, driver } = time;
    const lock = client.getLock("a");
    const refusal = answerWith(new ServerReplyError("NOPERM"));
    void driver.next(refusal, "lock-release");
    const holders: string[] = [];
    await lock.using(({ holder }) => void holders.push(holder));
    await lock.forceUnlock();
    void driver.next(refusal, "lock-release");
    {
      await using lease = await lock.lock();
      holders.push(lease.holder);
    }
    const error: unknown = expect.objectContaining({ code: "ERR_HOLDFAST_UNAVAILABLE" });
    expect(failed).toEqual(holders.map((holder) => ({ ...aboutOf(time), ...A, holder, error })));
    await lock.forceUnlock();
  });

  test("holdfast:lease:abandoned comes when a lease was forgotten", { timeout: 30_000 }, async () => {
    const time = open();
    const abandoned = recorded(events.leaseAbandoned);
    const client = time.holdfast;
    const forget = async () => (await client.getLock("a").lock()).holder;
    const holder = await forget();
    await time.clock.advance(1_500);
    await collected(() => abandoned.length > 0);
    expect(abandoned).toEqual([{ ...aboutOf(time), ...A, holder, heldMs: 1_500 }]);
    await time.clock.advance(30_001);
  });

  test("holdfast:renewal:failed comes for each renewal without an answer", async () => {
    const time = open();
    const failed = recorded(events.renewalFailed);
    const renewing = time.connect({ commandTimeoutMs: 100 });
    const { holdfast: client, driver } = renewing;
    const leases = await Promise.all(["a", "b"].map((name) => client.getLock(name).lock()));
    for (let i = 0; i < 20; i++) void driver.next(rejectAtOnce, "lock-renew");
    await time.clock.advance(10_000 + 200);
    const error: unknown = expect.objectContaining({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      outcomeUnknown: true,
    });
    expect(failed[0]).toEqual({ ...aboutOf(renewing), locks: 2, error });
    await time.clock.advance(5_000);
    const sofar = failed.length;
    await time.clock.advance(5_000);
    expect(failed).toHaveLength(sofar);
    for (const lease of leases) await lease.unlock();
  });

  test("holdfast:subscription:failed names the channel", async () => {
    const time = open();
    const failed = recorded(events.subscriptionFailed);
    const lease = await time.connect().holdfast.getLock("a").lock();
    const waiter = time.connect();
    const { holdfast: client, driver } = waiter;
    const error = new Error("no more channels");
    driver.channels.failNext(error);
    const waiting = watched(client.getLock("a").tryLock({ waitMs: 10 }));
    await time.clock.advance(10);
    expect(waiting.outcome).toEqual({ value: null });
    const channel = `redisson_lock__channel:{a}:${client.clientId}`;
    expect(failed).toEqual([{ ...aboutOf(waiter), channel, error }]);
    await lease.unlock();
  });
});
