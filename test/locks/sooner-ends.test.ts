import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { memoryDriver } from "../../src/memory/index.js";
import { JvmClient } from "../simulation/jvm/jvm-client.js";
import type { JvmLockKind } from "../simulation/jvm/jvm-lock-kinds.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { arrived, HOUR_MS, PATIENT } from "../support/worlds/hand-off-scene.js";

watchLeaks();
const open = fakeTime();

const KEY = "order:7";
const SOON_MS = 500;
/** A waiter that is woken asks a moment later; one that goes by its signs of life or its safety period comes much later. */
const A_MOMENT_MS = 100;

/** A lock that ends sooner than its waiters have seen. */
interface Way {
  readonly of: string;
  readonly held: (client: Holdfast) => Lock;
  /** What a waiter asks for, as Redisson names it. */
  readonly wanted: keyof typeof lockOf;
  /** Takes the lock for an hour. @returns what makes it end in `SOON_MS` */
  take(lock: Lock, time: FakeTime): Promise<() => Promise<void>>;
}

const lockOf = {
  lock: (client) => client.getLock(KEY),
  spin: (client) => client.getSpinLock(KEY),
  fenced: (client) => client.getFencedLock(KEY),
  fair: (client) => client.getFairLock(KEY),
  read: (client) => client.getReadWriteLock(KEY).readLock(),
  write: (client) => client.getReadWriteLock(KEY).writeLock(),
} satisfies Partial<Record<JvmLockKind, (client: Holdfast) => Lock>>;

const kept = async (lock: Lock) => {
  const lease = await lock.lock({ leaseMs: HOUR_MS });
  return () => lease.unlock({ keepForMs: SOON_MS });
};

const renewedAndKept = async (lock: Lock) => {
  const lease = await lock.lock();
  return () => lease.unlock({ keepForMs: SOON_MS });
};

const extended = async (lock: Lock) => {
  const lease = await lock.lock({ leaseMs: HOUR_MS });
  return () => lease.extend(SOON_MS);
};

const innerReleased = async (lock: Lock) => {
  const outer = await lock.lock({ leaseMs: SOON_MS });
  const inner = await outer.run(() => lock.lock({ leaseMs: HOUR_MS }));
  return () => inner.unlock();
};

const otherReaderLeaves = async (lock: Lock, { connect }: FakeTime) => {
  const other = await lockOf.read(connect(PATIENT).holdfast).lock({ leaseMs: HOUR_MS });
  await lock.lock({ leaseMs: SOON_MS });
  return () => other.unlock();
};

const ways: readonly Way[] = [
  ...(["lock", "fenced"] as const).map((kind) => ({
    of: `kept: ${kind}`,
    held: lockOf[kind],
    wanted: kind,
    take: kept,
  })),
  { of: "kept: spin", held: lockOf.spin, wanted: "lock", take: kept },
  { of: "kept, renewed before: lock", held: lockOf.lock, wanted: "lock", take: renewedAndKept },
  ...(["lock", "fair", "write"] as const).map((kind) => ({
    of: `extended to less: ${kind}`,
    held: lockOf[kind],
    wanted: kind,
    take: extended,
  })),
  { of: "extended to less: write, before readers", held: lockOf.write, wanted: "read", take: extended },
  { of: "extended to less: read", held: lockOf.read, wanted: "write", take: extended },
  ...(["lock", "fair", "write"] as const).map((kind) => ({
    of: `released inside: ${kind}`,
    held: lockOf[kind],
    wanted: kind,
    take: innerReleased,
  })),
  { of: "released inside: read", held: lockOf.read, wanted: "write", take: innerReleased },
  {
    of: "left by the reader with the longest lease",
    held: lockOf.read,
    wanted: "write",
    take: otherReaderLeaves,
  },
];

function jvmOf({ server, clock }: FakeTime): JvmClient {
  const id = "00000000-0000-4000-8000-000000000000";
  return new JvmClient({ driver: memoryDriver(server), clock, id, random: () => 0 });
}

describe.each(ways)("a lock that ends sooner than its waiters have seen ($of)", ({ held, wanted, take }) => {
  const nodes: readonly [string, (time: FakeTime) => Holdfast][] = [
    ["of the same client", ({ holdfast }) => holdfast],
    ["of another client", ({ connect }) => connect(PATIENT).holdfast],
  ];

  test.each(nodes)("is had by a waiter %s when it ends, which a message tells [own-97]", async (_, of) => {
    const time = open(PATIENT);
    const shorten = await take(held(time.holdfast), time);
    const waiting = watched(lockOf[wanted](of(time)).lock({ leaseMs: SOON_MS }));
    await time.clock.advance(A_MOMENT_MS);
    await arrived(time, watched(shorten()));
    await entersInTime(time, waiting);
    if (wanted === "fenced") time.server.flush();
  });

  test("is had by a waiter of a JVM when it ends, which a message tells [own-97]", async () => {
    const time = open(PATIENT);
    const shorten = await take(held(time.holdfast), time);
    const jvm = jvmOf(time);
    const waiting = watched(jvm.lock(KEY, wanted, { threadId: 50, leaseMs: SOON_MS }));
    await time.clock.advance(A_MOMENT_MS);
    await arrived(time, watched(shorten()));
    const entering = entersInTime(time, waiting);
    await entering.finally(() => jvm.shutDown());
    time.server.flush();
  });
});

/** Calls for these locks wait in a queue. */
const queued = ways.filter(({ of }) => /: (?:lock|fenced)$/.test(of));

/** The repeat finds what the first sending has done, and so no lock that falls sooner. */
const lostAnswer: CallFault = {
  name: "the answer is lost",
  async meet(deliver, driver) {
    await deliver();
    driver.reset();
    return deliver();
  },
};

describe.each(queued)("a lock with a queue that ends sooner ($of)", ({ held, wanted, take }) => {
  test.each([
    ["where the holder looks into the queue", false],
    ["also where the first answer is lost", true],
  ])("is had by who waits when it ends, %s [own-115]", async (_, isLost) => {
    const time = open(PATIENT);
    const [before, waiter] = [time.connect(PATIENT).holdfast, time.connect(PATIENT).holdfast];
    const lock = held(time.holdfast);
    // The holder has waited in the queue itself, before the other: that relies on its looks, and hears no release of others.
    const first = await arrived(time, watched(held(before).lock({ leaseMs: HOUR_MS })));
    const taking = watched(take(lock, time));
    await time.clock.advance(A_MOMENT_MS);
    const waiting = watched(lockOf[wanted](waiter).lock({ leaseMs: SOON_MS }));
    await time.clock.advance(A_MOMENT_MS);
    await arrived(time, watched(first.unlock()));
    const shorten = await arrived(time, taking);
    await time.clock.advance(A_MOMENT_MS);
    if (isLost)
      void time.driver.next(lostAnswer, ({ script }) => /^lock-(?:release|keep)$/.test(script.name));
    await arrived(time, watched(shorten()));
    await entersInTime(time, waiting);
    // Who lets a lease end does not leave the queue.
    time.server.flush();
  });
});

async function entersInTime({ clock }: FakeTime, waiting: Watched<unknown>): Promise<void> {
  await clock.advance(SOON_MS - A_MOMENT_MS - 50);
  expect(waiting.outcome).toBe(undefined);
  await clock.advance(A_MOMENT_MS + 150);
  expect(waiting.outcome).toHaveProperty("value");
}
