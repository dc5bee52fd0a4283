// @ts-check
/** A tour of the locks. Each stop prints its code, runs it, and prints the result. The tour fails when a result is not the expected one. */
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { Holdfast, LeaseLostError } from "holdfast";
import { FakeClock, MemoryServer, memoryDriver } from "holdfast/memory";

// Time passes only by clock.advance(), so half a minute takes no time.
const clock = new FakeClock();
const server = new MemoryServer({ clock });
// Two clients stand for two processes.
const ours = new Holdfast(memoryDriver(server), { clock });
const theirs = new Holdfast(memoryDriver(server), { clock });

/** @type {{ title: string, play: () => Promise<unknown>, expected: unknown }[]} */
const stops = [
  {
    title: "A lock is its name: while one process holds it, the other does not get it",
    play: async () => {
      const lease = await ours.getLock("order:42").lock();
      const refused = await theirs.getLock("order:42").tryLock();
      await lease.unlock();
      const granted = await theirs.getLock("order:42").tryLock();
      await granted?.unlock();
      return { refused, granted: granted?.state };
    },
    expected: { refused: null, granted: "released" },
  },
  {
    title: "A call that waits gets the lock with the release",
    play: async () => {
      const lease = await ours.getLock("report").lock();
      const waiting = theirs.getLock("report").lock({ waitMs: 5_000 });
      await clock.advance(1_000);
      await lease.unlock();
      const next = await waiting;
      const { state } = next;
      await next.unlock();
      return state;
    },
    expected: "held",
  },
  {
    title: "The watchdog renews the lock for as long as the work takes",
    play: async () => {
      const lease = await ours.getLock("import").lock();
      await clock.advance(600_000);
      const { state } = lease;
      await lease.unlock();
      return state;
    },
    expected: "held",
  },
  {
    title: "Redis is away for longer than the lease: the work learns that it has lost the lock",
    play: async () => {
      const lease = await ours.getLock("import").lock();
      const { signal } = lease;
      server.goAway();
      await clock.advance(31_000);
      server.comeBack();
      const { reason } = signal;
      return { aborted: signal.aborted, why: reason instanceof LeaseLostError && reason.reason };
    },
    expected: { aborted: true, why: "unreachable" },
  },
  {
    title: "Nested calls re-enter the lock; branches of one Promise.all take turns",
    play: async () => {
      /** @type {string[]} */
      const steps = [];
      const branch = (/** @type {string} */ name) =>
        ours.using("cart", async () => {
          steps.push(`${name} in`);
          await ours.using("cart", async () => steps.push(`${name} again`));
          steps.push(`${name} out`);
        });
      await Promise.all([branch("a"), branch("b")]);
      return steps.join(", ");
    },
    expected: "a in, a again, a out, b in, b again, b out",
  },
  {
    title: "A fair lock is granted in the order of arrival, across processes",
    play: async () => {
      /** @type {number[]} */
      const printed = [];
      const lease = await ours.getFairLock("printer").lock();
      /** @type {Promise<unknown>[]} */
      const pages = [];
      for (const [page, client] of [theirs, ours, theirs].entries()) {
        pages.push(client.getFairLock("printer").using(() => printed.push(page)));
        await clock.advance(100);
      }
      await lease.unlock();
      await clock.advance(1_000);
      await Promise.all(pages);
      return printed;
    },
    expected: [0, 1, 2],
  },
  {
    title: "A fenced lock numbers its holders, so that a database can refuse a write that comes too late",
    play: async () => {
      const first = await ours.getFencedLock("invoice:7").lock({ leaseMs: 1_000 });
      await clock.advance(1_001);
      const second = await theirs.getFencedLock("invoice:7").lock();
      await second.unlock();
      return { first: [first.state, first.token], second: [second.state, second.token] };
    },
    expected: { first: ["lost", 1n], second: ["released", 2n] },
  },
  {
    title: "Many read, or one writes",
    play: async () => {
      const reading = await ours.getReadWriteLock("catalog").readLock().lock();
      const alsoReading = await theirs.getReadWriteLock("catalog").readLock().tryLock();
      const writing = await theirs.getReadWriteLock("catalog").writeLock().tryLock();
      await alsoReading?.unlock();
      await reading.unlock();
      return { alsoReading: alsoReading !== null, writing };
    },
    expected: { alsoReading: true, writing: null },
  },
  {
    title: "A semaphore admits as many as it has permits; a permit with a lease comes back after a crash",
    play: async () => {
      const slots = theirs.getPermitExpirableSemaphore("slots");
      await slots.trySetPermits(2);
      const leased = { leaseMs: 1_000 };
      const permits = [
        await slots.tryAcquire(leased),
        await slots.tryAcquire(leased),
        await slots.tryAcquire(),
      ];
      const admitted = permits.map((permit) => permit !== null);
      await clock.advance(1_001);
      return { admitted, later: await slots.availablePermits() };
    },
    expected: { admitted: [true, true, false], later: 2 },
  },
];

/** The lines between the first and the last of a function, without types and indentation. @param {() => unknown} play */
function codeOf(play) {
  const lines = String(play).split("\n").slice(1, -1);
  const untyped = lines
    .map((line) => line.replace(/\/\*\* @type .*? \*\/ ?/, ""))
    .filter((line) => line.trim() !== "");
  const indent = Math.min(...untyped.map((line) => line.search(/\S/)));
  return untyped.map((line) => line.slice(indent));
}

for (const { title, play, expected } of stops) {
  console.log(`\n${title}`);
  for (const line of codeOf(play)) console.log(`    ${line}`);
  const result = await play();
  console.log(`  → ${inspect(result, { breakLength: Number.POSITIVE_INFINITY })}`);
  assert.deepEqual(result, expected);
}
await Promise.all([ours.close(), theirs.close()]);
console.log(`\n${stops.length} stops, each with the expected result. Try it yourself: npm run repl`);
