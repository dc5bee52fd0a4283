import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Clock } from "../../src/clock.js";
import type { ChannelListener, Ticket } from "../../src/driver/driver.js";
import { events } from "../../src/events.js";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import type { ScriptCall } from "../../src/protocol/script-call.js";
import { ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { rejectAtOnce } from "../support/faults/call-faults.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

afterEach(() => vi.restoreAllMocks());

describe("outside", () => {
  test("leaves the scope of the caller, and comes back to it", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    await lock.using(async () => {
      expect(await holdfast.outside(() => lock.isHeldByCurrentThread())).toBe(false);
      expect(await holdfast.outside(() => lock.tryLock())).toBeNull();
      expect(await holdfast.outside(() => lock.using({ waitMs: 0 }, () => "in")).catch(() => "out")).toBe(
        "out",
      );
      expect(await lock.using(({ holdCount }) => holdCount)).toBe(2);
    });
  });

  test("answers at once with what the function answers", () => {
    const { holdfast } = open();
    expect(holdfast.outside(() => 42)).toBe(42);
    const error = new Error("of the function");
    const throws = () => {
      throw error;
    };
    expect(() => holdfast.outside(throws)).toThrow(error);
  });

  test("keeps a worker that was made inside a scope from working in it for others", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    /** Works off whatever it is given, in the context in which it was made. */
    const worker = async (jobs: readonly (() => Promise<unknown>)[]) => {
      const results: unknown[] = [];
      for (const job of jobs) results.push(await job());
      return results;
    };
    const job = () => lock.tryLock();
    await lock.using(async () => {
      const carried = await worker([job]);
      expect(carried).toMatchObject([{ holdCount: 2 }]);
      await (carried[0] as { unlock(): Promise<void> }).unlock();
      expect(await holdfast.outside(() => worker([job]))).toEqual([null]);
    });
  });
});

describe('with reentry "explicit"', () => {
  test("a call re-enters only by the id of a lease that it was given", async () => {
    const { holdfast } = open({ reentry: "explicit" });
    const lock = holdfast.getLock("a");
    await lock.using(async (lease) => {
      expect(await lock.tryLock()).toBeNull();
      expect(await lease.run(() => lock.tryLock())).toBeNull();
      const again = await lock.lock({ threadId: lease.threadId });
      expect(again.holdCount).toBe(2);
      await again.unlock();
    });
    await holdfast.asThread(async () => {
      await lock.lock();
      expect(await lock.tryLock()).toBeNull();
      await lock.unlock();
    });
  });

  test("a call is still told what the scopes around it hold", async () => {
    const { holdfast } = open({ reentry: "explicit" });
    const lock = holdfast.getLock("a");
    expect(await lock.using(() => lock.isHeldByCurrentThread())).toBe(true);
    expect(await lock.isHeldByCurrentThread()).toBe(false);
  });

  test("a lost hold around it does not concern a call", async () => {
    const { holdfast, clock } = open({ reentry: "explicit" });
    const lock = holdfast.getLock("a");
    const using = lock.using({ leaseMs: 1_000 }, async () => {
      await clock.advance(1_001);
      expect(await lock.using(({ holdCount }) => holdCount)).toBe(1);
    });
    await expect(using).rejects.toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST" });
  });

  test("for one lock only, the others go by the scope", async () => {
    const { holdfast } = open();
    const explicit = holdfast.getLock("a", { reentry: "explicit" });
    const scoped = holdfast.getLock("b");
    await explicit.using(() =>
      scoped.using(async () => {
        expect(await explicit.tryLock()).toBeNull();
        expect(await holdfast.getLock("a").using(({ holdCount }) => holdCount)).toBe(2);
        expect(await scoped.using(({ holdCount }) => holdCount)).toBe(2);
      }),
    );
  });

  test("a single lock may go by the scope all the same", async () => {
    const { holdfast } = open({ reentry: "explicit" });
    const scoped = holdfast.getLock("a", { reentry: "scope" });
    expect(await scoped.using(() => scoped.using(({ holdCount }) => holdCount))).toBe(2);
  });
});

describe("AsyncLocalStorage", () => {
  test("is not entered before the first scope, and then by that alone", async () => {
    const run = vi.spyOn(AsyncLocalStorage.prototype, "run");
    const entered = [
      run,
      vi.spyOn(AsyncLocalStorage.prototype, "enterWith"),
      vi.spyOn(AsyncLocalStorage.prototype, "exit"),
    ];
    const times = () => entered.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    const { holdfast, clock, connect } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock();
    const waiting = connect().holdfast.getLock("a").lock();
    await clock.advance(31_000);
    expect(await lock.tryLock()).toBeNull();
    expect(await lock.isHeldByCurrentThread()).toBe(false);
    await expect(lock.unlock()).rejects.toThrow();
    expect(holdfast.outside(() => lease.state)).toBe("held");
    await lease.unlock();
    await (await waiting).unlock();
    expect(times()).toBe(0);
    await lock.using(() => undefined);
    // From Node 24 on, run() calls enterWith() itself.
    expect(run).toHaveBeenCalledTimes(1);
  });
});

describe("what holdfast starts itself", () => {
  const request = new AsyncLocalStorage<string>();

  /** A client whose timers, subscriptions and abort events write down for which request they were. */
  function watched() {
    const clock = new FakeClock();
    const contexts: Record<string, (string | undefined)[]> = {};
    const note = (what: string) => {
      contexts[what] = [...(contexts[what] ?? []), request.getStore()];
    };
    const noting: Clock = {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs(),
      schedule(delayMs, callback) {
        note("timers");
        return clock.schedule(delayMs, callback);
      },
    };
    const server = new MemoryServer({ clock });
    class NotingDriver extends ScriptedDriver {
      override run(call: ScriptCall, ticket: Ticket) {
        note(call.script.name);
        return super.run(call, ticket);
      }
      override subscribe(channel: string, listener: ChannelListener) {
        note("subscriptions");
        return super.subscribe(channel, listener);
      }
    }
    const driver = new NotingDriver(memoryDriver(server));
    const holdfast = new Holdfast(driver, { clock: noting, commandTimeoutMs: 1_000 });
    const close = async () => {
      const closed = holdfast.close();
      await clock.advance(60_000);
      await closed;
    };
    return { clock, server, driver, holdfast, contexts, note, close };
  }

  test("never runs in the context of the request that happened to start it [R33]", async () => {
    const { clock, server, holdfast, contexts, note, close } = watched();
    const lock = holdfast.getLock("a");
    const done = gate();
    // Time must pass outside of the request: a fake clock's timers fire in the context of who lets it pass.
    const using = request.run("r1", () =>
      lock.using((lease) => {
        lease.signal.addEventListener("abort", () => note("abort"), { once: true });
        return done.opened;
      }),
    );
    await clock.advance(0);
    const waiting = request.run("r1", () => lock.tryLock({ waitMs: 25_000 }));
    await clock.advance(30_000);
    expect(await waiting).toBeNull();
    server.command("DEL", "a");
    await clock.advance(10_100);
    done.open();
    await expect(using).rejects.toMatchObject({ reason: "stolen" });
    await close();
    for (const what of ["timers", "subscriptions", "lock-renew", "abort"]) {
      expect(contexts[what], what).not.toEqual([]);
      expect(new Set(contexts[what]), what).toEqual(new Set([undefined]));
    }
  });

  test("never runs in the context of the request either when it cleans up behind it [R33]", async () => {
    const { clock, driver, holdfast, contexts, close } = watched();
    const lock = holdfast.getLock("a");
    await request.run("r1", () => lock.using(() => undefined));
    for (let i = 0; i < 12; i++) void driver.next(rejectAtOnce, "lock-acquire");
    const failed = request.run("r1", () => lock.lock().catch(() => "failed"));
    await clock.advance(1_000);
    expect(await failed).toBe("failed");
    const before = contexts["lock-release"]?.length ?? 0;
    await clock.advance(5_000);
    const cleaning = contexts["lock-release"]?.slice(before);
    expect(cleaning).not.toEqual([]);
    expect(new Set(cleaning)).toEqual(new Set([undefined]));
    await close();
  });

  test("tells of a lost lease outside of every request [R33]", async () => {
    const { clock, holdfast, note, contexts, close } = watched();
    const tell = () => note("lost");
    events.leaseLost.subscribe(tell);
    await request.run("r1", async () => {
      const lease = await holdfast.getLock("a").lock({ leaseMs: 1_000 });
      expect(lease.signal.aborted).toBe(false);
    });
    await clock.advance(1_000);
    events.leaseLost.unsubscribe(tell);
    expect(contexts["lost"]).toEqual([undefined]);
    await close();
  });
});
