import { describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import {
  answerLate,
  answerWith,
  deliverLate,
  deliverTwice,
  type LateDelivery,
  loseReply,
  neverDeliver,
  rejectAtOnce,
  swallowReply,
} from "../support/faults/call-faults.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import {
  CHANNEL,
  type PermitExpirableSemaphore,
  type Permits,
  type PermitTime,
  permitTime,
  type StoredPermits,
} from "../support/worlds/permit-time.js";

watchLeaks();
const open = permitTime();

const HOUR_MS = 3_600_000;
const COMMAND_MS = 3_000;
const CANCEL = "permit-cancel";

/** A call that changes something: of five permits two are acquired, in `held`, and three are available. */
interface Change {
  readonly name: string;
  /** False for what only a semaphore that is not there can be given. */
  readonly set?: boolean;
  make(of: PermitExpirableSemaphore, held: Permits | undefined): Promise<unknown>;
  readonly answer: unknown;
  readonly after: StoredPermits;
  /** What another client does next, which a copy of the call would undo. */
  undo?(of: PermitExpirableSemaphore, held: Permits | undefined): Promise<unknown>;
}

const handle = { ids: [expect.any(String)], state: "held" };
const idsOf = (held: Permits | undefined) => held?.ids ?? [];

const changes: readonly Change[] = [
  {
    name: "acquire",
    make: (of) => of.acquire({ leaseMs: HOUR_MS }),
    answer: handle,
    after: { available: 2, acquired: 3 },
  },
  {
    name: "tryAcquire",
    make: (of) => of.tryAcquire(),
    answer: handle,
    after: { available: 2, acquired: 3 },
  },
  {
    name: "the release of a handle",
    make: (_, held) => held?.release() ?? Promise.reject(new Error("nothing is held")),
    answer: undefined,
    after: { available: 5, acquired: 0 },
  },
  {
    name: "release",
    make: (of, held) => of.release(idsOf(held)),
    answer: undefined,
    after: { available: 5, acquired: 0 },
  },
  {
    name: "tryRelease",
    make: (of, held) => of.tryRelease(idsOf(held)),
    answer: true,
    after: { available: 5, acquired: 0 },
  },
  {
    name: "setPermits",
    make: (of) => of.setPermits(9),
    answer: undefined,
    after: { available: 7, acquired: 2 },
    undo: (of) => of.addPermits(-1),
  },
  {
    name: "addPermits",
    make: (of) => of.addPermits(4),
    answer: undefined,
    after: { available: 7, acquired: 2 },
    undo: (of) => of.addPermits(-4),
  },
  {
    name: "trySetPermits",
    set: false,
    make: (of) => of.trySetPermits(4),
    answer: true,
    after: { available: 4, acquired: 0 },
    undo: (of) => of.delete(),
  },
  {
    name: "updateLeaseTime",
    make: (of, held) => of.updateLeaseTime(idsOf(held), HOUR_MS - 1_000),
    answer: true,
    after: { available: 3, acquired: 2 },
    undo: (of, held) => of.updateLeaseTime(idsOf(held), 60_000),
  },
  {
    name: "delete",
    make: (of) => of.delete(),
    answer: true,
    after: { available: undefined, acquired: 0 },
    undo: (of) => of.trySetPermits(6),
  },
];

/** A client that has met the server, and the permits that it holds. */
async function prepared(change: Change) {
  const time = open();
  const { semaphore } = time;
  if (change.set ?? true) await semaphore.trySetPermits(5);
  else await semaphore.availablePermits();
  const held = (change.set ?? true) ? await semaphore.acquire(2, { leaseMs: 100_000 }) : undefined;
  const other = time.connect().holdfast.getPermitExpirableSemaphore("a");
  return { ...time, held, other };
}

async function done({ clock }: PermitTime, change: Change, call: Promise<unknown>): Promise<void> {
  await clock.advance(1_000);
  const { answer } = change;
  const value: unknown = await call;
  if (answer === handle) expect(value).toMatchObject(handle);
  else expect(value).toBe(answer);
}

/** The copy changes nothing, but that one of an acquisition may let its leases begin anew. */
async function expectNoEffect(time: PermitTime, copy: LateDelivery): Promise<void> {
  const [stored, expiriesMs] = [time.stored(), time.expiriesMs()];
  await copy.arrive();
  expect(time.stored()).toEqual(stored);
  for (const [i, expiryMs] of time.expiriesMs().entries()) {
    if (expiryMs !== HOUR_MS) expect(expiryMs).toBe(expiriesMs[i]);
  }
}

describe.each(changes)("$name has its effect once", (change) => {
  test.each([loseReply, deliverTwice])(`with a $name: ${change.name} [R9] [wire-S25]`, async (fault) => {
    const time = await prepared(change);
    const met = time.driver.next(fault);
    await done(time, change, change.make(time.semaphore, time.held));
    const { call } = await met;
    expect(time.driver.names.filter((name) => name === call.script.name).length).toBeGreaterThanOrEqual(1);
    expect(time.stored()).toEqual(change.after);
  });

  test(`with a request that is lost: ${change.name}`, async () => {
    const time = await prepared(change);
    void time.driver.next(rejectAtOnce);
    await done(time, change, change.make(time.semaphore, time.held));
    expect(time.stored()).toEqual(change.after);
  });

  test(`with a copy that comes after the answer to its repeat: ${change.name} [R9]`, async () => {
    const time = await prepared(change);
    const copy = deliverLate({ told: true });
    void time.driver.next(copy);
    await done(time, change, change.make(time.semaphore, time.held));
    await copy.arrive();
    expect(time.stored()).toEqual(change.after);
  });

  test(`with a copy that comes after others have gone on: ${change.name} [R9]`, async () => {
    const time = await prepared(change);
    const copy = deliverLate({ told: true });
    void time.driver.next(copy);
    await done(time, change, change.make(time.semaphore, time.held));
    await change.undo?.(time.other, time.held);
    await expectNoEffect(time, copy);
  });

  test(`with a copy that comes after later calls of its own client: ${change.name} [R9]`, async () => {
    const time = await prepared(change);
    const copy = deliverLate({ told: true });
    void time.driver.next(copy);
    await done(time, change, change.make(time.semaphore, time.held));
    for (const added of [1, 1, -2]) await time.semaphore.addPermits(added);
    await change.undo?.(time.semaphore, time.held);
    await expectNoEffect(time, copy);
  });

  test(`with a copy that comes when its time is over: ${change.name} [R2]`, async () => {
    const time = await prepared(change);
    const copy = deliverLate({ told: true });
    void time.driver.next(copy);
    await done(time, change, change.make(time.semaphore, time.held));
    await time.clock.advance(2 * COMMAND_MS);
    // By then nobody remembers what it was answered.
    for (const added of [1, 1, -2]) await time.semaphore.addPermits(added);
    await change.undo?.(time.other, time.held);
    await expectNoEffect(time, copy);
  });
});

describe("an acquisition that was cancelled with an unknown outcome", () => {
  async function world() {
    const time = open();
    await time.semaphore.trySetPermits(3);
    const leaving = new AbortController();
    const acquiring = () => watched(time.semaphore.acquire(2, { signal: leaving.signal, leaseMs: HOUR_MS }));
    const leave = async () => {
      leaving.abort(new Error("gone"));
      await time.clock.advance(0);
    };
    return { ...time, acquiring, leave };
  }
  const GONE = { error: new Error("gone") };

  test("gives the permits back, once, and tells the waiters", async () => {
    const { driver, clock, stored, acquiring, leave, server } = await world();
    const late = answerLate();
    void driver.next(late);
    const told: string[] = [];
    const end = server.subscribe(CHANNEL, (message) => told.push(message));
    const call = acquiring();
    await clock.advance(100);
    expect(stored()).toEqual({ available: 1, acquired: 2 });
    await leave();
    expect(call.outcome).toEqual(GONE);
    await clock.advance(1_000);
    late.arrive();
    await clock.advance(COMMAND_MS);
    expect(stored()).toEqual({ available: 3, acquired: 0 });
    expect(told).toEqual(["3"]);
    end();
  });

  test("takes nothing when its request arrives after the cancel [R2]", async () => {
    const { driver, clock, stored, acquiring, leave } = await world();
    const late = deliverLate();
    void driver.next(late);
    const call = acquiring();
    await clock.advance(100);
    await leave();
    expect(call.outcome).toEqual(GONE);
    await clock.advance(500);
    await late.arrive();
    await clock.advance(COMMAND_MS);
    expect(stored()).toEqual({ available: 3, acquired: 0 });
  });

  test("takes nothing when its request and its repeat arrive after the cancel", async () => {
    const { driver, clock, stored, acquiring, leave } = await world();
    const copies = [deliverLate({ told: true }), deliverLate()];
    for (const copy of copies) void driver.next(copy);
    const call = acquiring();
    await clock.advance(100);
    await leave();
    expect(call.outcome).toEqual(GONE);
    await clock.advance(500);
    for (const copy of copies) await copy.arrive();
    await clock.advance(COMMAND_MS);
    expect(stored()).toEqual({ available: 3, acquired: 0 });
  });

  test.each([loseReply, deliverTwice, rejectAtOnce])(
    "gives the permits back once when its cancel meets a $name",
    async (fault) => {
      const { driver, clock, stored, acquiring, leave } = await world();
      void driver.next(answerLate());
      const call = acquiring();
      await clock.advance(100);
      const met = driver.next(fault, CANCEL);
      await leave();
      expect(call.outcome).toEqual(GONE);
      await clock.advance(2 * COMMAND_MS);
      await met;
      expect(stored()).toEqual({ available: 3, acquired: 0 });
    },
  );

  test("gives nothing back when it had been refused", async () => {
    const { driver, clock, stored, semaphore, acquiring, leave } = await world();
    await semaphore.acquire(2, { leaseMs: HOUR_MS });
    void driver.next(answerLate());
    const call = acquiring();
    await clock.advance(100);
    await leave();
    await clock.advance(COMMAND_MS);
    expect(call.outcome).toEqual(GONE);
    expect(stored()).toEqual({ available: 1, acquired: 2 });
  });

  test("gives nothing back of what another has acquired since", async () => {
    const { driver, clock, stored, connect, acquiring, leave } = await world();
    const copy = deliverLate({ told: true });
    void driver.next(answerLate());
    const call = acquiring();
    const cancelling = driver.next(copy, CANCEL);
    await leave();
    await clock.advance(COMMAND_MS + 1_000);
    await cancelling;
    expect(call.outcome).toEqual(GONE);
    await connect().holdfast.getPermitExpirableSemaphore("a").acquire(3, { leaseMs: HOUR_MS });
    await copy.arrive();
    expect(stored()).toEqual({ available: 0, acquired: 3 });
  });
});

describe("an acquisition that Redis did not answer", () => {
  test("fails as unavailable with an unknown outcome, and its permits come back once [R2]", async () => {
    const { semaphore, driver, clock, stored } = open();
    await semaphore.trySetPermits(3);
    const late = answerLate();
    void driver.next(late);
    const call = watched(semaphore.acquire(2));
    await clock.advance(COMMAND_MS + 200);
    expect(call.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true } });
    await clock.advance(2 * COMMAND_MS);
    expect(stored()).toEqual({ available: 3, acquired: 0 });
    late.arrive();
    await clock.advance(COMMAND_MS);
    expect(stored()).toEqual({ available: 3, acquired: 0 });
  });

  test("as it never arrived takes nothing when it arrives after all, early or late [R2]", async () => {
    for (const waitMs of [0, 2 * COMMAND_MS]) {
      const { semaphore, driver, clock, stored } = open();
      await semaphore.trySetPermits(3);
      const late = deliverLate();
      void driver.next(late);
      const call = watched(semaphore.acquire(2));
      await clock.advance(COMMAND_MS + 200);
      expect(call.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
      await clock.advance(waitMs);
      await late.arrive();
      await clock.advance(2 * COMMAND_MS);
      expect(stored()).toEqual({ available: 3, acquired: 0 });
    }
  });

  test("but refused says why, with a known outcome", async () => {
    const { semaphore, driver, clock, stored } = open();
    await semaphore.trySetPermits(1);
    void driver.next(
      answerWith(new ServerReplyError("OOM command not allowed when used memory > 'maxmemory'.")),
    );
    await expect(semaphore.acquire()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      outcomeUnknown: false,
    });
    await clock.advance(COMMAND_MS);
    expect(stored()).toEqual({ available: 1, acquired: 0 });
  });
});

describe("a copy of an acquisition", () => {
  test("takes nothing after the permits were released [R2]", async () => {
    const { semaphore, driver, clock, stored } = open();
    await semaphore.trySetPermits(3);
    const copy = deliverLate({ told: true });
    void driver.next(copy);
    const entering = semaphore.acquire(2, { leaseMs: HOUR_MS });
    await clock.advance(100);
    await (await entering).release();
    await copy.arrive();
    expect(stored()).toEqual({ available: 3, acquired: 0 });
  });

  test("takes nothing after the permits were released by their ids from elsewhere, or have expired", async () => {
    const { semaphore, driver, connect, clock, stored } = open();
    await semaphore.trySetPermits(3);
    const other = connect().holdfast.getPermitExpirableSemaphore("a");
    for (const expires of [false, true]) {
      const copy = deliverLate({ told: true });
      void driver.next(copy);
      const entering = semaphore.acquire(2, { leaseMs: expires ? 500 : HOUR_MS });
      await clock.advance(100);
      const { ids } = await entering;
      if (expires) await clock.advance(1_000);
      else await other.release(ids);
      await copy.arrive();
      await other.availablePermits();
      expect(stored()).toEqual({ available: 3, acquired: 0 });
    }
  });

  test("takes nothing after its repeat was refused: nobody would release it [R2]", async () => {
    const { semaphore, driver, connect, clock, stored } = open();
    await semaphore.trySetPermits(1);
    const other = connect().holdfast.getPermitExpirableSemaphore("a");
    const theirs = await other.acquire();
    const copy = deliverLate({ told: true });
    void driver.next(copy);
    const trying = watched(semaphore.tryAcquire());
    await clock.advance(100);
    expect(trying.outcome).toEqual({ value: null });
    await theirs.release();
    await copy.arrive();
    await clock.advance(COMMAND_MS + 1_000);
    expect(stored()).toEqual({ available: 1, acquired: 0 });
  });

  test("shortens no lease that was lengthened since: the client trusts it", async () => {
    const { semaphore, driver, clock, expiriesMs } = open();
    await semaphore.trySetPermits(1);
    const copy = deliverLate({ told: true });
    void driver.next(copy);
    const entering = semaphore.acquire({ leaseMs: 10_000 });
    await clock.advance(100);
    const permits = await entering;
    expect(await semaphore.updateLeaseTime(permits.ids, 100_000)).toBe(true);
    await copy.arrive();
    expect(permits.remainingMs()).toBeLessThan(Math.min(...expiriesMs()));
  });
});

describe("a new lease time whose outcome nobody knows", () => {
  test.each([loseReply, deliverTwice])("is in Redis as long as it is trusted: $name [R3]", async (fault) => {
    const { semaphore, driver, clock, expiriesMs } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: 10_000 });
    await clock.advance(1_000);
    void driver.next(fault);
    const updating = semaphore.updateLeaseTime(permits.ids, 100_000);
    await clock.advance(500);
    expect(await updating).toBe(true);
    expect(permits.remainingMs()).toBeGreaterThan(90_000);
    expect(permits.remainingMs()).toBeLessThan(Math.min(...expiriesMs()));
  });

  test("is not trusted when it is longer, and counts when it is shorter", async () => {
    for (const [leaseMs, mostMs] of [
      [100_000, 50_000],
      [10_000, 10_000],
    ] as const) {
      const { semaphore, driver, clock, expiriesMs } = open();
      await semaphore.trySetPermits(1);
      const permits = await semaphore.acquire({ leaseMs: 50_000 });
      void driver.next(swallowReply);
      const updating = watched(semaphore.updateLeaseTime(permits.ids, leaseMs));
      await clock.advance(COMMAND_MS + 200);
      expect(updating.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
      expect(permits.remainingMs()).toBeLessThan(mostMs);
      expect(permits.remainingMs()).toBeLessThan(Math.min(...expiriesMs()));
    }
  });

  test("is not forgotten because of a renewal that is answered meanwhile", async () => {
    const { semaphore, driver, clock, expiriesMs } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ watchdog: true });
    await clock.advance(9_900);
    const { opened, open: arrive } = gate();
    void driver.next({
      name: "delivered late, and not answered",
      async meet(deliver) {
        await opened;
        await deliver();
        return new Promise<never>(() => undefined);
      },
    });
    void semaphore.updateLeaseTime(permits.ids, 1_000).catch(() => undefined);
    await clock.advance(300);
    arrive();
    await clock.advance(0);
    expect(expiriesMs()).toEqual([1_000]);
    expect(permits.remainingMs()).toBeLessThan(1_000);
  });

  test("is not forgotten because of another that is answered: a copy of it may still arrive", async () => {
    const { semaphore, driver, clock, expiriesMs } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: 60_000 });
    for (let i = 0; i < 9; i++) void driver.next(rejectAtOnce);
    const copy = deliverLate({ told: true });
    void driver.next(copy);
    const updating = watched(semaphore.updateLeaseTime(permits.ids, 10_000));
    await clock.advance(COMMAND_MS);
    expect(updating.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
    await semaphore.updateLeaseTime(permits.ids, 100_000);
    await copy.arrive();
    expect(permits.remainingMs()).toBeLessThan(Math.min(...expiriesMs()));
  });

  test("that is answered after the old lease has ended brings nothing back", async () => {
    const { semaphore, driver, clock } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: 1_000 });
    const { signal } = permits;
    const late = answerLate();
    void driver.next(late);
    const updating = semaphore.updateLeaseTime(permits.ids, 100_000);
    await clock.advance(988);
    expect(signal.aborted).toBe(true);
    late.arrive();
    expect(await updating).toBe(true);
    expect(permits.state).toBe("lost");
  });
});

describe("a release whose outcome nobody knows", () => {
  test("is told as such, is tried on behind the scenes, and gives the permits back once", async () => {
    const { semaphore, driver, clock, stored } = open();
    await semaphore.trySetPermits(3);
    const permits = await semaphore.acquire(2);
    void driver.next(neverDeliver);
    const releasing = watched(permits.release());
    await clock.advance(COMMAND_MS + 200);
    expect(releasing.outcome).toMatchObject({
      error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true },
    });
    await clock.advance(COMMAND_MS);
    expect(stored()).toEqual({ available: 3, acquired: 0 });
    expect(permits.state).toBe("released");
  });

  test("of permits that others can not take is refused by nobody after its reply was lost [B14] [R30]", async () => {
    const { semaphore, driver, connect, clock, stored } = open();
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: HOUR_MS });
    void driver.next(loseReply).then(async () => {
      await connect().holdfast.getPermitExpirableSemaphore("a").acquire({ leaseMs: HOUR_MS });
    });
    const releasing = permits.release();
    await clock.advance(100);
    await releasing;
    expect(stored()).toEqual({ available: 0, acquired: 1 });
  });
});
