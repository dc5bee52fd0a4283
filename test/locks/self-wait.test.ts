import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { childPrograms } from "../support/worlds/child-programs.js";
import type { FakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const start = childPrograms();
const warn = vi.spyOn(process, "emitWarning");
afterEach(() => void warn.mockReset());

/** Once for each process: each test has modules of its own, as a process would. */
let open: () => FakeTime;
let end: () => Promise<void> = async () => undefined;
beforeEach(async () => {
  vi.resetModules();
  warn.mockImplementation(() => undefined);
  const { Holdfast } = await import("../../src/holdfast.js");
  const { FakeClock, MemoryServer, memoryDriver } = await import("../../src/memory/index.js");
  open = () => {
    const clock = new FakeClock();
    const server = new MemoryServer({ clock });
    const clients: { close(): Promise<void> }[] = [];
    const connect = (options = {}) => {
      const holdfast = new Holdfast(memoryDriver(server), { clock, ...options });
      clients.push(holdfast);
      return { holdfast };
    };
    end = async () => {
      const closed = Promise.all(clients.map((client) => client.close()));
      await clock.advance(120_000);
      await closed;
    };
    return { ...connect(), connect, clock, server } as unknown as FakeTime;
  };
});
afterEach(() => end());

/** A lease that nothing refers to would be collected as garbage, and run out. */
const kept: unknown[] = [];
function keep(lease: unknown): void {
  kept.push(lease);
}
afterEach(() => kept.splice(0));

describe("a call that waits for a lease of its own client", () => {
  test("is warned of after ten seconds, once for each process [own-20]", { timeout: 60_000 }, async () => {
    const child = await start("warned-user", { deed: "own hold" });
    await child.next("done");
    const warnings = child.events.filter(({ event }) => event === "warning");
    expect(warnings).toMatchObject([{ name: "HoldfastWarning", code: "HOLDFAST_WAITS_FOR_ITSELF" }]);
    expect(warnings[0]?.["message"]).toMatch(
      /10 s for lock "order:7", .* \([0-9a-f-]{36}:\d+\)\..* lease\.run\(\) .* threadId/,
    );
  });

  test.each([
    ["getLock", {}],
    ["getFairLock", {}],
    ["getSpinLock", {}],
    ["getFencedLock", {}],
    ["getLock", { handOff: false }],
  ] as const)("of %s is warned of after ten seconds, with %j", async (factory, options) => {
    const { connect, clock } = open();
    const { holdfast } = connect(options);
    const lock = holdfast[factory]("a");
    keep(await lock.lock());
    await clock.advance(3_000);
    const waiting = watched(lock.lock());
    await clock.advance(9_900);
    expect(warn).not.toHaveBeenCalled();
    await clock.advance(200);
    expect(warn).toHaveBeenCalledOnce();
    await clock.advance(60_000);
    expect(warn).toHaveBeenCalledOnce();
    expect(waiting.outcome).toBeUndefined();
  });

  test.each([
    ["multi lock", "getMultiLock"],
    ["red lock", "getRedLock"],
  ] as const)("in a %s is warned of", async (_kind, factory) => {
    const { holdfast, clock } = open();
    keep(await holdfast.getLock("a").lock());
    watched(holdfast[factory](holdfast.getLock("a"), holdfast.getLock("b")).lock());
    await clock.advance(10_500);
    expect(warn).toHaveBeenCalledOnce();
  });

  test("of a reader that wants to write is warned of", async () => {
    const { holdfast, clock } = open();
    const pair = holdfast.getReadWriteLock("a");
    keep(await pair.readLock().lock());
    watched(pair.writeLock().lock());
    await clock.advance(10_500);
    expect(warn).toHaveBeenCalledOnce();
  });

  test("that came while an older one was looked at is warned of in its own time", async () => {
    const { holdfast, clock } = open();
    const first = await holdfast.getLock("a").lock();
    watched(holdfast.getLock("a").using(() => undefined));
    keep(await holdfast.getLock("b").lock());
    await clock.advance(4_000);
    watched(holdfast.getLock("b").lock());
    await clock.advance(4_000);
    await first.unlock();
    await clock.advance(5_900);
    expect(warn).not.toHaveBeenCalled();
    await clock.advance(200);
    expect(warn).toHaveBeenCalledOnce();
    expect(warn.mock.calls[0]?.[0]).toContain('lock "b"');
  });
});

describe("nobody is warned", () => {
  test.each([
    ["the wait has an end", {}, { waitMs: 60_000 }],
    ["the lease ends by itself", { leaseMs: 60_000 }, {}],
    ["the watchdog stops by itself", { maxHoldMs: 60_000 }, {}],
  ] as const)("when %s", async (_why, terms, wait) => {
    const { holdfast, clock } = open();
    keep(await holdfast.getLock("a").lock(terms));
    watched(holdfast.getLock("a").lock(wait));
    await clock.advance(40_000);
    expect(warn).not.toHaveBeenCalled();
  });

  test("when somebody else has the lock", async () => {
    const { holdfast, connect, clock } = open();
    keep(await connect().holdfast.getLock("a").lock());
    watched(holdfast.getLock("a").lock());
    await clock.advance(40_000);
    expect(warn).not.toHaveBeenCalled();
  });

  test.each([true, false])("when the line moves, be it slowly, with handOff %s", async (handsOff) => {
    const { connect, clock } = open();
    const { holdfast } = connect(handsOff ? {} : { handOff: false });
    const calls = Array.from({ length: 8 }, () =>
      watched(
        holdfast.getLock("a").using(() => new Promise<void>((resolve) => clock.schedule(8_000, resolve))),
      ),
    );
    await clock.advance(70_000);
    expect(calls.every(({ outcome }) => outcome !== undefined)).toBe(true);
    expect(warn).not.toHaveBeenCalled();
  });

  test("before, and no timer is left, when the call has entered", async () => {
    const { holdfast, clock } = open();
    const lease = await holdfast.getLock("a").lock();
    const waiting = watched(holdfast.getLock("a").lock());
    await clock.advance(9_000);
    await lease.unlock();
    await clock.advance(30_000);
    expect(waiting.outcome).toHaveProperty("value");
    expect(warn).not.toHaveBeenCalled();
  });
});

test("contended says that the holder is this very client [own-20]", async () => {
  const { events } = await import("../../src/events.js");
  const { holdfast, connect, clock } = open();
  const heard: unknown[] = [];
  const hear = (event: { own: boolean }) => void heard.push(event.own);
  events.contended.subscribe(hear);
  keep(await holdfast.getLock("a").lock());
  for (const client of [holdfast, connect().holdfast]) watched(client.getLock("a").tryLock());
  await clock.advance(0);
  events.contended.unsubscribe(hear);
  expect(heard).toEqual([true, false]);
});
