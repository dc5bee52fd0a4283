import { expect, test } from "vitest";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { collectAll } from "../support/run/garbage.js";
import { watchLeaks } from "../support/run/leaks.js";

watchLeaks();

/** With drivers that remember nothing of what was sent. */
interface World {
  readonly clock: FakeClock;
  readonly server: MemoryServer;
  readonly holdfast: Holdfast;
}

function open(): World {
  const clock = new FakeClock();
  const server = new MemoryServer({ clock });
  return { clock, server, holdfast: new Holdfast(memoryDriver(server), { clock }) };
}

async function close({ clock, holdfast }: World): Promise<void> {
  const closed = holdfast.close();
  await clock.advance(10_000);
  await closed;
  expect(clock.pendingTimers).toBe(0);
}

/** Of each way. */
const LEASES = 20;
const LEASE_MS = 1_500;

/** A lease, or permits. */
interface Lost {
  readonly state: string;
  readonly signal: AbortSignal;
  assertHeld(): void;
}

interface Way {
  readonly how: string;
  take(client: Holdfast, at: number): Promise<Lost>;
  /** What is done between the acquisition and the loss. Default: nothing. */
  before?(lost: Lost): unknown;
  /** How they are lost. Default: their time runs out. */
  lose?(time: World): Promise<unknown>;
  /** What the program does with each after that. */
  look?(lost: Lost): unknown;
}

const nameOf = (at: number) => `order:${at}`;
const fixed = (client: Holdfast, at: number) => client.getLock(nameOf(at)).lock({ leaseMs: LEASE_MS });
const watched = (client: Holdfast, at: number) => client.getLock(nameOf(at)).lock();
const chosen = (client: Holdfast, at: number) =>
  client.getLock(nameOf(at)).lock({ leaseMs: LEASE_MS, threadId: at + 1 });
const joint = (client: Holdfast, at: number) =>
  client.getMultiLock(client.getLock(nameOf(at)), client.getLock(`other:${at}`)).lock({ leaseMs: LEASE_MS });
const permits = (leaseMs?: number) => async (client: Holdfast, at: number) => {
  const semaphore = client.getPermitExpirableSemaphore(nameOf(at));
  await semaphore.trySetPermits(1, { ttlMs: 100_000 });
  return semaphore.acquire(leaseMs === undefined ? { watchdog: true } : { leaseMs });
};

const state = ({ state }: Lost) => state;
const signal = (lost: Lost) => lost.signal;
const listen = (lost: Lost) => lost.signal.addEventListener("abort", () => lost.state);
const asserts = (lost: Lost) => expect(() => lost.assertHeld()).toThrow("lost");
const flush = async ({ server, clock }: World) => {
  server.flush();
  await clock.advance(20_000);
};

const ways: readonly Way[] = [
  { how: "by a look at their state", take: fixed, look: state },
  { how: "by a look at their signal", take: fixed, look: signal },
  { how: "by the alarm of their signal", take: fixed, before: signal },
  { how: "by the alarm of a signal whose listener has them", take: fixed, before: listen },
  { how: "by assertHeld", take: fixed, look: asserts },
  { how: "by a late unlock, whose error is dropped", take: fixed, look: (lease) => dropped(lease, "unlock") },
  { how: "by a late extension", take: fixed, look: (lease) => dropped(lease, "extend") },
  { how: "by a late run", take: fixed, look: (lease) => dropped(lease, "run") },
  { how: "under chosen ids, by a look", take: chosen, look: state },
  { how: "as they were stolen, which a renewal has found", take: watched, lose: flush },
  {
    how: "as they were stolen, which unlock finds",
    take: fixed,
    lose: async ({ server }) => server.flush(),
    look: (lease) => dropped(lease, "unlock"),
  },
  {
    how: "by maxHoldMs",
    take: (client, at) => client.getLock(nameOf(at)).lock({ maxHoldMs: LEASE_MS }),
    look: state,
  },
  {
    how: "as their client was closed",
    take: watched,
    before: signal,
    lose: ({ holdfast }) => holdfast.close(),
  },
  {
    how: "as their client was closed, and released",
    take: watched,
    lose: ({ holdfast }) => holdfast.close({ releaseHeld: true }),
    look: state,
  },
  { how: "of joint locks, by a look", take: joint, look: state },
  { how: "of joint locks, by the alarm of their signal", take: joint, before: signal },
  { how: "of permits, by a look", take: permits(LEASE_MS), look: state },
  {
    how: "of permits, by the alarm of a signal whose listener has them",
    take: permits(LEASE_MS),
    before: listen,
  },
  { how: "of permits, by a late release", take: permits(LEASE_MS), look: (lost) => dropped(lost, "release") },
  { how: "of renewed permits, which were stolen", take: permits(), lose: flush, look: state },
];

/** Calls a method that rejects. */
async function dropped(lost: Lost, method: string): Promise<void> {
  const call = (lost as unknown as Record<string, (argument?: unknown) => Promise<unknown>>)[method];
  const argument = method === "extend" ? 1_000 : method === "run" ? () => undefined : undefined;
  await call?.call(lost, argument).catch(() => undefined);
}

/** What is left of each way, once all that the program had is out of its reach. */
type Refs = Map<string, readonly WeakRef<object>[]>;

async function takeAll({ take, before, look }: Way, { holdfast }: World) {
  const takeOne = async (at: number) => {
    const lost = await take(holdfast, at);
    // As in a program, where the frames that find the loss have what the caller works with.
    return { before: () => before?.(lost), look: () => look?.(lost), ref: new WeakRef<object>(lost) };
  };
  return Promise.all(Array.from({ length: LEASES }, (_, at) => takeOne(at)));
}

/** Takes leases, loses them in each way and lets go of them, in frames of its own. */
async function loseAll(worlds: ReadonlyMap<Way, World>): Promise<Refs> {
  const taken = await Promise.all([...worlds].map(async ([way, time]) => takeAll(way, time)));
  // From now on they are no young leases any more.
  await collectAll();
  const refs: Refs = new Map();
  for (const [at, [way, time]] of [...worlds].entries()) {
    const leases = taken[at] ?? [];
    for (const one of leases) one.before();
    if (way.lose === undefined) await time.clock.advance(2 * LEASE_MS);
    else await way.lose(time);
    for (const one of leases) await one.look();
    await time.clock.advance(0);
    refs.set(
      way.how,
      leases.map(({ ref }) => ref),
    );
  }
  return refs;
}

async function leftOf(refs: Refs): Promise<Record<string, number>> {
  await collectAll();
  await collectAll();
  const alive = ([how, of]: [string, readonly WeakRef<object>[]]) =>
    [how, of.filter((ref) => ref.deref() !== undefined).length] as const;
  return Object.fromEntries([...refs].map(alive));
}

const nothingOf = (hows: readonly string[]) => Object.fromEntries(hows.map((how) => [how, 0]));

test("leases that were lost are collected, with what the program's frames have, however they were lost [own-99]", async () => {
  const worlds = new Map(ways.map((way) => [way, open()]));
  const refs = await loseAll(worlds);
  expect(await leftOf(refs)).toEqual(nothingOf(ways.map(({ how }) => how)));
  for (const world of worlds.values()) await close(world);
});

/** A call that comes to nothing, of a client that goes on. */
type InVain = (time: World, signal: AbortSignal, mine: object) => Promise<unknown>;

const inVain: Readonly<Record<string, InVain>> = {
  "a wait that timed out": ({ holdfast }) => holdfast.getLock("held").lock({ waitMs: 100 }),
  "a wait that timed out, of a fair lock": ({ holdfast }) =>
    holdfast.getFairLock("fair").lock({ waitMs: 100 }),
  "a wait that a signal has cancelled": ({ holdfast }, signal) => holdfast.getLock("held").lock({ signal }),
  "permits that were refused": ({ holdfast }) =>
    holdfast.getPermitExpirableSemaphore("p").acquire({ waitMs: 100 }),
  "permits that a signal has cancelled": ({ holdfast }, signal) =>
    holdfast.getSemaphore("s").acquire({ signal }),
  "a latch that was not opened": ({ holdfast }) => holdfast.getCountDownLatch("l").await({ waitMs: 100 }),
  "an acquisition that failed": ({ holdfast, server }) => {
    server.command("SET", "text", "1");
    return holdfast.getLock("text").lock();
  },
  "a body that threw": ({ holdfast }, _, mine) =>
    holdfast.getLock("free").using(() => Promise.reject(Object.assign(new Error("mine"), { mine }))),
};

async function callInVain(time: World, signal: AbortSignal): Promise<Refs> {
  const call = (work: InVain) => {
    const mine = { of: "the program" };
    const calling = async () => work(time, signal, mine).catch(() => void mine);
    return { ended: calling(), ref: new WeakRef<object>(mine) };
  };
  const refs: Refs = new Map();
  const ended: Promise<unknown>[] = [];
  for (const [how, work] of Object.entries(inVain)) {
    const calls = Array.from({ length: LEASES }, () => call(work));
    ended.push(...calls.map((one) => one.ended));
    refs.set(
      how,
      calls.map(({ ref }) => ref),
    );
  }
  await time.clock.advance(200);
  return Promise.all(ended).then(() => refs);
}

test("calls that came to nothing leave nothing of their callers, and a closed client nothing of itself [own-99]", async () => {
  const time = open();
  const held = await time.holdfast.getLock("held").lock({ leaseMs: 60_000 });
  const fair = await time.holdfast.getFairLock("fair").lock({ leaseMs: 60_000 });
  await time.holdfast.getCountDownLatch("l").trySetCount(1);
  const cancelling = new AbortController();
  time.clock.schedule(50, () => cancelling.abort());
  const refs = await callInVain(time, cancelling.signal);
  refs.set("closed clients", await closedClients(time));
  expect(await leftOf(refs)).toEqual(nothingOf([...Object.keys(inVain), "closed clients"]));
  await Promise.all([held.unlock(), fair.unlock()]);
  expect(cancelling.signal.aborted).toBe(true);
  await close(time);
});

async function closedClients({ clock, server }: World): Promise<readonly WeakRef<object>[]> {
  const clients = Array.from({ length: LEASES }, () => new Holdfast(memoryDriver(server), { clock }));
  const leases = await Promise.all(clients.map((client, at) => fixed(client, at)));
  const closed = Promise.all(clients.map((client) => client.close()));
  await clock.advance(0);
  await closed;
  return [...clients, ...leases].map((object) => new WeakRef<object>(object));
}
