import { AsyncLocalStorage } from "node:async_hooks";
import { execFile } from "node:child_process";
import * as nodeCrypto from "node:crypto";
import { channel } from "node:diagnostics_channel";
import { EventEmitter, once } from "node:events";
import * as nodePerformance from "node:perf_hooks";
import { hrtime } from "node:process";
import * as nodeTimers from "node:timers";
import * as timersPromises from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
// After all others on purpose: what was imported before it is caught as well.
import { real, trap } from "./trap.js";

const forbidden: Readonly<Record<string, () => unknown>> = {
  "Date.now": () => Date.now(),
  "new Date": () => new Date(),
  Date: () => Date(),
  "new Date of a date": () => Reflect.construct(new Date(0).constructor, []),
  "performance.now": () => performance.now(),
  "node:perf_hooks": () => nodePerformance.performance.now(),
  "performance.mark": () => performance.mark("here"),
  "process.hrtime": () => process.hrtime(),
  "process.hrtime.bigint": () => process.hrtime.bigint(),
  "hrtime of node:process": () => hrtime.bigint(),
  "process.uptime": () => process.uptime(),
  setTimeout: () => setTimeout(() => {}, 1),
  setInterval: () => setInterval(() => {}, 1),
  setImmediate: () => setImmediate(() => {}),
  "setTimeout of node:timers": () => nodeTimers.setTimeout(() => {}, 1),
  "setInterval of node:timers": () => nodeTimers.setInterval(() => {}, 1),
  "setImmediate of node:timers": () => nodeTimers.setImmediate(() => {}),
  "promisified setTimeout": () => promisify(setTimeout)(1),
  "setTimeout of timers/promises": () => timersPromises.setTimeout(1),
  "setImmediate of timers/promises": () => timersPromises.setImmediate(),
  "setInterval of timers/promises": () => timersPromises.setInterval(1),
  "scheduler.wait": () => timersPromises.scheduler.wait(1),
  "AbortSignal.timeout": () => AbortSignal.timeout(1),
  "Math.random": () => Math.random(),
  "Math.random as a callback": () => [1].map(Math.random),
  randomUUID: () => nodeCrypto.randomUUID(),
  randomBytes: () => nodeCrypto.randomBytes(4),
  randomInt: () => nodeCrypto.randomInt(4),
  randomFillSync: () => nodeCrypto.randomFillSync(new Uint8Array(4)),
  "getRandomValues of node:crypto": () => nodeCrypto.getRandomValues(new Uint8Array(4)),
  "crypto.getRandomValues": () => crypto.getRandomValues(new Uint8Array(4)),
  "crypto.randomUUID": () => crypto.randomUUID(),
  "new WeakRef": () => new WeakRef({}),
  "deref of an old WeakRef": () => oldRef.deref(),
  "new FinalizationRegistry": () => new FinalizationRegistry(() => {}),
  "register with an old registry": () => oldRegistry.register({}, 1),
};
const oldRef = new WeakRef({});
const oldRegistry = new FinalizationRegistry(() => {});

afterEach(() => void trap.off());

describe("the trap", () => {
  it.each(Object.entries(forbidden))("refuses %s, naming the place", (_, call) => {
    trap.on(() => 42);
    expect(call).toThrow(/trap\.test\.ts:\d+:\d+ /);
    const [violation, ...others] = trap.off();
    expect(others).toEqual([]);
    expect(violation).toMatchObject({
      rule: "world",
      atUs: 42,
      text: expect.stringMatching(
        /^test\/simulation\/world\/trap\.test\.ts:\d+:\d+ (?:reads|sets|draws|hangs) /,
      ),
    });
  });

  it.each(Object.entries(forbidden))("lets %s through while it is off", async (_, call) => {
    const made = call();
    if (made instanceof Promise) await made;
    else clearTimeout(made as NodeJS.Timeout);
    expect(trap.off()).toEqual([]);
  });

  it("keeps a violation although its error was swallowed, each place once, and forgets it for the next run", () => {
    trap.on();
    for (let round = 0; round < 3; round += 1) {
      try {
        Math.random();
      } catch {}
    }
    expect(trap.off()).toHaveLength(1);
    trap.on();
    expect(trap.off()).toEqual([]);
  });

  it("is for one run at a time", () => {
    trap.on();
    expect(() => trap.on()).toThrow("one schedule at a time");
  });

  it("lets the world use what is real", async () => {
    trap.on();
    const startMs = real.now();
    await new Promise<void>((resolve) => void real.setImmediate(() => real.setTimeout(resolve, 2)));
    expect(real.now()).toBeGreaterThan(startMs);
    expect(real.wallNow()).toBeGreaterThan(1e12);
    expect(trap.off()).toEqual([]);
  });

  it("lets dates be made of numbers, and classes and timers be what they were", () => {
    trap.on();
    const date = new Date(2_000);
    expect(date.toISOString()).toBe("1970-01-01T00:00:02.000Z");
    expect(date instanceof Date && date.constructor === Date && Date.UTC(1970) === 0).toBe(true);
    expect(oldRef instanceof WeakRef).toBe(true);
    expect(globalThis.setImmediate).toBe(nodeTimers.setImmediate);
    expect([setTimeout.name, Math.random.name, Date.name]).toEqual(["setTimeout", "random", "Date"]);
    expect(trap.off()).toEqual([]);
  });

  it("is not tripped by Node itself", async () => {
    trap.on();
    const seen: unknown[] = [];
    const storage = new AsyncLocalStorage<number>();
    await storage.run(7, async () => {
      await Promise.all([Promise.resolve(), new Promise<void>((resolve) => process.nextTick(resolve))]);
      queueMicrotask(() => seen.push(storage.getStore()));
    });
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, new AbortController().signal]);
    signal.addEventListener("abort", () => seen.push("aborted"), { once: true });
    controller.abort(new Error("enough"));
    const news = channel("holdfast:trap-test");
    const listener = (message: unknown) => seen.push(message);
    news.subscribe(listener);
    news.publish("news");
    news.unsubscribe(listener);
    const emitter = new EventEmitter();
    const heard = once(emitter, "said");
    emitter.emit("said", "something");
    seen.push((await heard)[0], (new Error("here").stack ?? "").includes("trap.test"));
    const error: unknown = await Promise.reject(new Error("refused")).catch((reason: unknown) => reason);
    seen.push((error as Error).message, structuredClone({ a: 1 }), new Event("e").type);
    // What Node loads only now takes the guarded functions for its own.
    const output = await new Promise((resolve) => {
      execFile(process.execPath, ["-p", "6 * 7"], { timeout: 10_000 }, (_, stdout) => resolve(stdout));
    });
    seen.push(output);
    expect(trap.off()).toEqual([]);
    expect(seen).toEqual([7, "aborted", "news", "something", true, "refused", { a: 1 }, "e", "42\n"]);
  });

  it("costs nothing that could be measured in a run", () => {
    const rounds = 200_000;
    const spentMs = (call: () => unknown) => {
      const startMs = real.now();
      for (let round = 0; round < rounds; round += 1) call();
      return real.now() - startMs;
    };
    // A run of 50 commands reads a clock some hundred times: 5 µs each would be half a millisecond of its five.
    expect(spentMs(() => performance.now()) / rounds).toBeLessThan(0.005);
  });
});
