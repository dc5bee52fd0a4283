import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CommandEvent, events } from "../../src/events.js";
import { Holdfast } from "../../src/index.js";
import { memoryDriver } from "../../src/memory/index.js";
import { ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { rejectAtOnce } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();
const storage = new AsyncLocalStorage<string>();
const trace = { asyncEnd: () => undefined };
const clients: { readonly holdfast: Holdfast; readonly clock: FakeTime["clock"] }[] = [];
/** By then nothing is left to be tidied up. */
const LONG_MS = 120_000;

beforeEach(() => events.acquire.subscribe(trace));
afterEach(async () => {
  events.acquire.unsubscribe(trace);
  for (const { holdfast, clock } of clients.splice(0)) {
    const closed = holdfast.close();
    await clock.advance(LONG_MS);
    await closed;
  }
});

/** A client that has met its server, and each command that it sends from now on with the context that its driver sees. */
async function connect({ server, clock }: FakeTime) {
  const sent: string[] = [];
  const driver = new ScriptedDriver(memoryDriver(server), {
    sent: ({ script }) => void sent.push(`${script.name} of ${storage.getStore() ?? "nobody"}`),
  });
  const holdfast = new Holdfast(driver, { clock });
  clients.push({ holdfast, clock });
  await holdfast.ping();
  sent.length = 0;
  return { holdfast, driver, sent };
}

const inCaller = <T>(caller: string, call: () => Promise<T>) => storage.run(caller, call);

describe.each([
  { measures: "calls are traced", measured: [] },
  { measures: "calls are traced and commands measured", measured: [events.command] },
])("while $measures, a command is sent in the context", ({ measured }) => {
  beforeEach(() => {
    for (const channel of measured) channel.subscribe(trace);
  });
  afterEach(() => {
    for (const channel of measured) channel.unsubscribe(trace);
  });

  test("of the call that asks, also when a message has woken it", async () => {
    const time = open();
    const [ours, theirs] = [await connect(time), await connect(time)];
    const lease = await inCaller("A", () => ours.holdfast.getLock("a").lock());
    const waiting = inCaller("B", () => theirs.holdfast.getLock("a").lock());
    await time.clock.advance(100);
    theirs.sent.length = 0;
    await inCaller("A's release", () => lease.unlock());
    await inCaller("B's release", async () => (await waiting).unlock());
    expect(ours.sent).toEqual(["lock-acquire of A", "lock-release of A's release"]);
    expect(theirs.sent).toEqual(["lock-acquire of B", "lock-release of B's release"]);
  });

  test("of the call for permits that a message has woken", async () => {
    const time = open();
    const [ours, theirs] = [await connect(time), await connect(time)];
    const semaphore = ours.holdfast.getSemaphore("s");
    await semaphore.trySetPermits(1);
    await semaphore.acquire();
    const waiting = inCaller("B", () => theirs.holdfast.getSemaphore("s").acquire());
    await time.clock.advance(100);
    theirs.sent.length = 0;
    await semaphore.release();
    await waiting;
    expect(theirs.sent).toEqual(["semaphore-acquire of B"]);
    await semaphore.delete();
  });

  test("of each call where several in one turn of the event loop are no group", async () => {
    const { holdfast, sent } = await connect(open());
    const leases = await Promise.all([
      inCaller("A", () => holdfast.getLock("a").lock()),
      inCaller("B", () => holdfast.getFairLock("b").lock()),
    ]);
    expect(sent).toEqual(["lock-acquire of A", "fair-acquire of B"]);
    await Promise.all(leases.map((lease) => lease.unlock()));
  });

  test("of nobody where it is about several calls; where it fails, each call sends its own", async () => {
    const { holdfast, driver, sent } = await connect(open());
    void driver.next(rejectAtOnce, "lock-acquire");
    const leases = await Promise.all(
      ["A", "B", "C"].map((caller) => inCaller(caller, () => holdfast.getLock(caller).lock())),
    );
    await Promise.all(leases.map((lease) => inCaller("a release", () => lease.unlock())));
    // What follows sees to it that no copy of the group takes a lock.
    expect(sent.slice(0, 5)).toEqual([
      "lock-acquire of nobody",
      ...["A", "B", "C"].map((caller) => `lock-acquire of ${caller}`),
      "lock-release of nobody",
    ]);
  });

  test("of its call when it is sent again", async () => {
    const time = open();
    const { holdfast, driver, sent } = await connect(time);
    void driver.next(rejectAtOnce, "lock-acquire");
    const acquired = inCaller("A", () => holdfast.getLock("a").lock());
    await time.clock.advance(100);
    expect(sent).toEqual(["lock-acquire of A", "lock-acquire of A"]);
    await (await acquired).unlock();
  });

  test("of nobody for a renewal", async () => {
    const time = open();
    const { holdfast, sent } = await connect(time);
    const lease = await inCaller("A", () => holdfast.getLock("a").lock());
    await time.clock.advance(11_000);
    expect(sent).toEqual(["lock-acquire of A", "lock-renew of nobody"]);
    await lease.unlock();
  });

  test("that a listener has bound to commands, below that of the call", async () => {
    const bound = new AsyncLocalStorage<string>();
    const seen: string[] = [];
    const time = open();
    const driver = new ScriptedDriver(memoryDriver(time.server), {
      sent: ({ script }) => void seen.push(`${script.name}: ${bound.getStore()} of ${storage.getStore()}`),
    });
    const holdfast = new Holdfast(driver, { clock: time.clock });
    clients.push({ holdfast, clock: time.clock });
    await holdfast.ping();
    seen.length = 0;
    const { start } = events.command;
    start.bindStore(bound as never, (({ script }: CommandEvent) => `store of ${script}`) as never);
    try {
      void driver.next(rejectAtOnce, "lock-acquire");
      const acquired = inCaller("A", () => holdfast.getLock("a").lock());
      // In the same turn of the event loop, and so behind the command of another call.
      const other = inCaller("B", () => holdfast.getFairLock("b").lock());
      await time.clock.advance(100);
      for (const lease of await Promise.all([acquired, other])) await lease.unlock();
    } finally {
      start.unbindStore(bound as never);
    }
    const acquire = "lock-acquire: store of lock-acquire of A";
    expect(seen.slice(0, 3)).toEqual([acquire, "fair-acquire: store of fair-acquire of B", acquire]);
  });
});
