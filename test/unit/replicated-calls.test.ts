import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DriverClosedError, type ReplicaDemand, WaitRefusedError } from "../../src/driver/driver.js";
import type { ReplicatedCalls } from "../../src/driver/own/replicated-calls.js";
import { gate } from "../support/run/gate.js";
import { until } from "../support/run/until.js";
import { callOf, reply, ScriptedMaster, ticket } from "../support/servers/scripted-master.js";

const TIMEOUT_MS = 1_000;
const one: ReplicaDemand = { replicas: 1, timeoutMs: TIMEOUT_MS };

let master: ScriptedMaster;
let calls: ReplicatedCalls;

beforeEach(() => {
  master = new ScriptedMaster();
  calls = master.calls();
});
afterEach(async () => {
  vi.useRealTimers();
  await calls.close();
});

/** Runs a script by name. */
function run(name: string, demand: ReplicaDemand = one, given = ticket()) {
  return calls.run(callOf(name, "k"), given, demand);
}

/** What a call rejects with. */
function failure(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => "no failure",
    (error: unknown) => error,
  );
}

/** A connection on which `a` was run already. */
async function acquainted(): Promise<void> {
  await run("a");
  master.sent();
}

describe("calls of one turn", () => {
  test("go out in their order, and share one WAIT behind them", async () => {
    await acquainted();
    const replies = await Promise.all([run("a"), run("b"), run("a"), run("c")]);
    expect(master.sent()).toEqual(["EVALSHA a k", "EVAL b k", "EVALSHA a k", "EVAL c k", "WAIT 1 50"]);
    expect(replies).toEqual(Array(4).fill({ reply: "done", acknowledged: 1, wanted: 1 }));
  });

  test("ask for as many replicas as the most demanding wants, and no longer than the hastiest can wait", async () => {
    await acquainted();
    await Promise.all([
      run("a", { replicas: 2, timeoutMs: 20 }),
      run("a", { replicas: 1, timeoutMs: 300.5 }),
      run("a", { replicas: "connected", timeoutMs: 40 }),
    ]);
    expect(master.sent()).toEqual([
      "INFO replication",
      ...Array(3).fill("EVALSHA a k"),
      expect.stringMatching(/^WAIT 2 (?:20|1\d)$/),
    ]);
  });

  test("are each answered when their own time is over, and those that come meanwhile are not held up by them", async () => {
    await acquainted();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    // As Redis does: a WAIT that is short is answered when its time is over.
    master.answering = (name, [, , ms]) =>
      name === "WAIT" ? new Promise((resolve) => setTimeout(() => resolve(0), Number(ms))) : undefined;
    const times: [string, number][] = [];
    const start = performance.now();
    const timed = (name: string, timeoutMs: number) =>
      run(name, { replicas: 1, timeoutMs }).then(() => times.push([name, performance.now() - start]));
    const calls = [timed("long", 400), timed("short", 70)];
    await vi.advanceTimersByTimeAsync(120);
    calls.push(timed("late", 60));
    await vi.advanceTimersByTimeAsync(50);
    expect(master.log.filter((command) => command.includes("late"))).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    await Promise.all(calls);
    expect(times.map(([name]) => name)).toEqual(["short", "late", "long"]);
    for (const [at, ms] of [70, 180, 400].entries()) expect(times[at]?.[1]).toBeGreaterThanOrEqual(ms);
    for (const [at, ms] of [121, 231, 451].entries()) expect(times[at]?.[1]).toBeLessThanOrEqual(ms);
  });

  test("wait for those that keep up, and now and then, shortly, for one that has let them wait in vain, unless they need it", async () => {
    const all: ReplicaDemand = { replicas: "connected", timeoutMs: TIMEOUT_MS };
    const waits = () => master.sent().filter((command) => command.startsWith("WAIT"));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    master.replicas = 2;
    await run("a", all);
    master.acknowledging = 1;
    expect(await run("a", all)).toMatchObject({ acknowledged: 1, wanted: 2 });
    master.sent();
    expect(await run("a", all)).toEqual({ reply: "done", acknowledged: 1, wanted: 2 });
    expect(waits()).toEqual(["WAIT 1 50"]);
    await run("a", { replicas: 2, timeoutMs: TIMEOUT_MS });
    expect(waits()).toEqual(["WAIT 2 50"]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await run("a", all)).toMatchObject({ acknowledged: 1, wanted: 2 });
    await run("a", all);
    expect(waits()).toEqual(["WAIT 2 50", "WAIT 1 50"]);
    // A trial in vain makes the next one longer, and later.
    await vi.advanceTimersByTimeAsync(1_000);
    await run("a", all);
    expect(waits()).toEqual(["WAIT 1 50"]);
    await vi.advanceTimersByTimeAsync(1_000);
    master.acknowledging = undefined;
    expect(await run("a", all)).toMatchObject({ acknowledged: 2, wanted: 2 });
    await run("a", all);
    expect(waits()).toEqual(["WAIT 2 50", "WAIT 2 50"]);
  });

  test("wait again for a replica that is far away, once it has caught up after standing still", async () => {
    const AWAY_MS = 120;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    let [standsUntilMs, writtenMs] = [0, 0];
    // As Redis does: a WAIT is answered when it has acknowledged, or when the time is over.
    master.answering = (name, [, needed, ms]) => {
      const nowMs = performance.now();
      if (name.startsWith("EVAL")) writtenMs = nowMs;
      if (name !== "WAIT" || needed === "0") return undefined;
      const inMs = Math.max(writtenMs, standsUntilMs) + AWAY_MS - nowMs;
      const count = inMs <= Number(ms) ? 1 : 0;
      return new Promise((resolve) => setTimeout(() => resolve(count), Math.min(inMs, Number(ms))));
    };
    const acknowledged = async () => {
      const call = run("a", { replicas: "connected", timeoutMs: TIMEOUT_MS });
      await vi.advanceTimersByTimeAsync(1_500);
      return (await call).acknowledged;
    };
    expect(await acknowledged()).toBe(1);
    standsUntilMs = performance.now() + 1_400;
    expect(await acknowledged()).toBe(0);
    for (let tries = 0; tries < 10; tries++) await acknowledged();
    expect(await acknowledged()).toBe(1);
  });

  test("are each told how few replicas have it", async () => {
    master.acknowledging = 0;
    expect(await Promise.all([run("a"), run("b")])).toEqual(
      Array(2).fill({ reply: "done", acknowledged: 0, wanted: 1 }),
    );
  });

  test("are answered each in its way when one of them is refused", async () => {
    master.answering = (_, [, text]) => (text?.includes("bad") ? reply("WRONGTYPE no") : undefined);
    const [good, bad] = await Promise.allSettled([run("good"), run("bad")]);
    expect(good).toMatchObject({ value: { reply: "done", acknowledged: 1 } });
    expect(bad).toMatchObject({ reason: { code: "WRONGTYPE" } });
  });

  test("that come while others are waited for go together when that is over", async () => {
    await acquainted();
    const acknowledged = gate();
    master.answering = async (name) => {
      if (name === "WAIT") await acknowledged.opened;
      return undefined;
    };
    const first = run("a");
    await until(() => master.log.length === 2);
    const later = [run("a"), run("a")];
    await new Promise(setImmediate);
    later.push(run("a"));
    await new Promise(setImmediate);
    expect(master.sent()).toEqual(["EVALSHA a k", "WAIT 1 50"]);
    acknowledged.open();
    await Promise.all([first, ...later]);
    expect(master.sent()).toEqual([...Array(3).fill("EVALSHA a k"), "WAIT 1 50"]);
  });

  test("run in nobody's asynchronous context", async () => {
    const requests = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    master.answering = () => void seen.push(requests.getStore());
    await requests.run("request", () => run("a"));
    expect(seen).toEqual([undefined, undefined, undefined]);
  });
});

describe("the connection", () => {
  test("is opened by the first call, and asked whether it can wait before anything is written", async () => {
    expect(master.links).toHaveLength(0);
    await run("a");
    await run("a");
    expect(master.links).toHaveLength(1);
    expect(master.sent()).toEqual(["WAIT 0 0", "EVAL a k", "WAIT 1 50", "EVALSHA a k", "WAIT 1 50"]);
  });

  test("that takes long to be made takes nothing off the replicas' time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const later = (ms: number, count: number) =>
      new Promise((resolve) => setTimeout(() => resolve(count), ms));
    master.answering = (name, [, replicas]) =>
      name === "WAIT" ? (replicas === "0" ? later(150, 0) : later(5, 1)) : undefined;
    const first = run("a", { replicas: 1, timeoutMs: 100 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await first).toMatchObject({ acknowledged: 1 });
  });

  test("that broke fails the calls under way, and the next call has a new one, which knows no script", async () => {
    await acquainted();
    const stuck = gate();
    master.answering = (name) => (name === "EVALSHA" ? stuck.opened : undefined);
    const [first, second] = [failure(run("a")), failure(run("a"))];
    await until(() => master.log.length === 3);
    master.link.break();
    expect(await first).toEqual(new Error("the connection broke"));
    expect(await second).toEqual(new Error("the connection broke"));
    master.answering = () => undefined;
    master.sent();
    expect(await run("a")).toMatchObject({ acknowledged: 1 });
    expect(master.links).toHaveLength(2);
    expect(master.sent()).toEqual(["WAIT 0 0", "EVAL a k", "WAIT 1 50"]);
    stuck.open();
  });

  test("that broke after the answer has told of no replica", async () => {
    await acquainted();
    const waiting = gate();
    master.answering = (name) => (name === "WAIT" ? waiting.opened : undefined);
    const answered = run("a");
    await until(() => master.log.length === 2);
    await new Promise(setImmediate);
    master.link.break();
    expect(await answered).toEqual({ reply: "done", acknowledged: 0, wanted: 1 });
    waiting.open();
  });

  test("that broke has not said that no replica keeps up: those of the next are waited for at once", async () => {
    const all: ReplicaDemand = { replicas: "connected", timeoutMs: TIMEOUT_MS };
    await run("a", all);
    master.answering = (name) => (name === "WAIT" ? new Promise(() => undefined) : undefined);
    const lost = run("a", all);
    await until(() => master.log.at(-1) === "WAIT 1 50");
    await new Promise(setImmediate);
    master.link.break();
    await lost;
    master.answering = () => undefined;
    master.sent();
    for (let i = 0; i < 3; i++) expect(await run("a", all)).toMatchObject({ acknowledged: 1, wanted: 1 });
    expect(master.sent().filter((command) => command === "WAIT 1 50")).toHaveLength(3);
  });

  test("that is new does not speak for what another has written", async () => {
    await acquainted();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    master.answering = (name, [, , ms]) =>
      name === "WAIT" ? new Promise((resolve) => setTimeout(() => resolve(0), Number(ms))) : undefined;
    const old = run("a");
    // In the middle of the second round; the third is on a new connection, whose replicas have all.
    await vi.advanceTimersByTimeAsync(75);
    master.link.break();
    master.answering = () => undefined;
    const fresh = run("a");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await old).toEqual({ reply: "done", acknowledged: 0, wanted: 1 });
    expect(await fresh).toMatchObject({ acknowledged: 1 });
    // And so between two rounds.
    master.answering = (name) => (name === "WAIT" ? new Promise(() => undefined) : undefined);
    const last = run("a");
    await vi.advanceTimersByTimeAsync(0);
    master.link.break();
    master.answering = () => undefined;
    const next = run("a");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await last).toMatchObject({ acknowledged: 0 });
    expect(await next).toMatchObject({ acknowledged: 1 });
  });

  test("that could not be made fails the call, and the next tries again", async () => {
    let refused = true;
    master.answering = () => {
      if (refused) master.link.break();
    };
    const error = await failure(run("a"));
    expect(error).toEqual(new Error("the connection broke"));
    refused = false;
    expect(await run("a")).toMatchObject({ reply: "done", acknowledged: 1 });
  });

  test("is given up when its server is no master any more: the next call looks for the one that is", async () => {
    await acquainted();
    master.answering = (name) => (name.startsWith("EVAL") ? reply("READONLY it is a replica") : undefined);
    expect(await failure(run("a"))).toMatchObject({ code: "READONLY" });
    expect(master.link.closed).toBe(true);
    master.answering = () => undefined;
    expect(await run("a")).toMatchObject({ reply: "done" });
    expect(master.links).toHaveLength(2);
  });

  test("to a server that is a replica and so can not wait lets it say what it says to the script", async () => {
    const [wait, moved] = [reply("ERR WAIT cannot be used with replica instances"), reply("MOVED 1 b:2")];
    master.answering = (name) => (name === "WAIT" ? wait : moved);
    expect(await failure(run("a"))).toMatchObject({ code: "MOVED" });
  });

  test("on which nothing is answered any more is given up some time after the replicas' time is over", async () => {
    await acquainted();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const frozen = gate();
    master.answering = () => frozen.opened;
    const stuck = failure(run("a"));
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
    expect(master.link.closed).toBe(false);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await stuck).toBeInstanceOf(Error);
    expect(master.link.closed).toBe(true);
    master.answering = () => undefined;
    expect(await run("a")).toMatchObject({ reply: "done" });
    await new Promise(setImmediate);
    expect(vi.getTimerCount()).toBe(0);
    frozen.open();
  });
});

test("a connection that breaks while a forgotten script goes again speaks for nothing that was written on it", async () => {
  await run("a");
  await run("b");
  const stuck = gate();
  master.acknowledging = 0;
  master.answering = (name, [, source]) => {
    if (name === "EVALSHA" && source === callOf("b", "k").script.sha1)
      return reply("NOSCRIPT No matching script");
    return name === "EVAL" ? stuck.opened : undefined;
  };
  master.sent();
  const [written, again] = [run("a"), failure(run("b"))];
  await until(() => master.log.includes("EVAL b k"));
  master.acknowledging = undefined;
  master.link.break();
  expect(await written).toEqual({ reply: "done", acknowledged: 0, wanted: 1 });
  expect(await again).toBeInstanceOf(Error);
  stuck.open();
});

describe("a script that the server has forgotten", () => {
  beforeEach(acquainted);

  test("goes again in full, and is waited for after that", async () => {
    master.answering = (name) => (name === "EVALSHA" ? reply("NOSCRIPT No matching script") : undefined);
    expect(await run("a")).toEqual({ reply: "done", acknowledged: 1, wanted: 1 });
    expect(master.sent()).toEqual(["EVALSHA a k", "WAIT 1 50", "EVAL a k", "WAIT 1 50"]);
  });

  test("is not believed to be where only the first WAIT says so", async () => {
    const counts = [1, 0];
    master.answering = (name) =>
      ({ EVALSHA: reply("NOSCRIPT No matching script"), WAIT: counts[0] })[name] ??
      void (name === "EVAL" && counts.shift());
    expect(await run("a")).toEqual({ reply: "done", acknowledged: 0, wanted: 1 });
  });

  test("does not go again for a call that was given up meanwhile", async () => {
    const given = ticket();
    master.answering = (name) => {
      if (name !== "EVALSHA") return undefined;
      given.givenUp = true;
      return reply("NOSCRIPT No matching script");
    };
    expect(await failure(run("a", one, given))).toMatchObject({ code: "NOSCRIPT" });
    expect(master.sent()).toEqual(["EVALSHA a k", "WAIT 1 50"]);
  });
});

describe("a call that was given up", () => {
  test("while it stood behind others is not sent", async () => {
    await acquainted();
    const acknowledged = gate();
    master.answering = (name) => (name === "WAIT" ? acknowledged.opened : undefined);
    const first = run("a");
    await until(() => master.log.length === 2);
    const given = ticket();
    const late = failure(run("a", one, given));
    const next = run("b");
    given.givenUp = true;
    acknowledged.open();
    expect(await late).toBeInstanceOf(Error);
    await Promise.all([first, next]);
    expect(master.sent()).toEqual(["EVALSHA a k", "WAIT 1 50", "EVAL b k", "WAIT 1 50"]);
  });
});

describe("how many replicas are wanted", () => {
  test.each<[ReplicaDemand["replicas"], connected: number, wanted: number]>([
    ["connected", 0, 0],
    ["connected", 3, 3],
    ["all", 0, 1],
    ["all", 3, 3],
    ["majority", 0, 1],
    ["majority", 1, 1],
    ["majority", 2, 2],
    ["majority", 3, 2],
    [2, 0, 2],
    [2, 3, 2],
  ])("%j of %d that are connected are %d", async (replicas, connected, wanted) => {
    master.replicas = connected;
    expect(await run("a", { replicas, timeoutMs: TIMEOUT_MS })).toEqual({
      reply: "done",
      acknowledged: wanted === 0 ? 0 : connected,
      wanted,
    });
    const waits = master.sent().filter((command) => command === `WAIT ${wanted} 50`);
    expect(waits).toHaveLength(wanted === 0 ? 0 : 1);
  });

  const connected: ReplicaDemand = { replicas: "connected", timeoutMs: TIMEOUT_MS };
  const asked = () => master.sent().filter((command) => command === "INFO replication").length;

  test("is asked for now and then, not each time, and not where a number says it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    await run("a");
    expect(asked()).toBe(0);
    for (let i = 0; i < 3; i++) await run("a", connected);
    expect(asked()).toBe(1);
    master.replicas = 0;
    await vi.advanceTimersByTimeAsync(6_000);
    expect(await run("a", connected)).toMatchObject({ wanted: 1 });
    expect(asked()).toBe(1);
  });

  test("is asked for at once after too few had something in time, and on each new connection", async () => {
    await run("a", connected);
    master.acknowledging = 0;
    expect(await run("a", connected)).toMatchObject({ acknowledged: 0, wanted: 1 });
    master.replicas = 0;
    expect(await run("a", connected)).toMatchObject({ acknowledged: 0, wanted: 1 });
    expect(asked()).toBe(2);
    master.link.break();
    await run("a", connected);
    expect(asked()).toBe(1);
  });

  test("is what answers by now for a user who may not ask", async () => {
    master.replicas = 2;
    master.answering = (name) => (name === "INFO" ? reply("NOPERM no permissions") : undefined);
    expect(await run("a", connected)).toEqual({ reply: "done", acknowledged: 2, wanted: 2 });
  });
});

describe("where another server may become the master", () => {
  const connected: ReplicaDemand = { replicas: "connected", timeoutMs: TIMEOUT_MS };
  const confirm = vi.fn<() => Promise<void>>();
  beforeEach(async () => {
    confirm.mockReset().mockResolvedValue();
    await calls.close();
    calls = master.calls({ confirm });
  });

  test("what all replicas have is answered without a question", async () => {
    expect(await run("a", connected)).toMatchObject({ acknowledged: 1, wanted: 1 });
    expect(await run("a", { replicas: 0, timeoutMs: TIMEOUT_MS })).toMatchObject({ wanted: 0 });
    expect(await run("a", { replicas: 2, timeoutMs: 1 })).toMatchObject({ acknowledged: 1, wanted: 2 });
    expect(confirm).not.toHaveBeenCalled();
  });

  test("what no replica has is answered when it is known that this one still is it, and not before", async () => {
    await run("a", connected);
    master.acknowledging = 0;
    const known = gate();
    confirm.mockImplementation(() => known.opened);
    const answered = vi.fn();
    const call = run("a", connected).then(answered);
    await until(() => confirm.mock.calls.length === 1);
    await new Promise(setImmediate);
    expect(answered).not.toHaveBeenCalled();
    known.open();
    await call;
    expect(answered).toHaveBeenCalledWith({ reply: "done", acknowledged: 0, wanted: 1 });
    confirm.mockRejectedValue(new Error("nobody knows"));
    await expect(run("a", connected)).rejects.toThrow("nobody knows");
  });

  test("a master that had replicas and has none is one that may be it no longer [own-7]", async () => {
    await run("a", connected);
    master.replicas = 0;
    master.link.break();
    master.sent();
    expect(await run("a", connected)).toEqual({ reply: "done", acknowledged: 0, wanted: 1 });
    expect(confirm).toHaveBeenCalledTimes(1);
    expect(master.sent().filter((command) => command.startsWith("WAIT"))).toEqual(["WAIT 0 0"]);
  });

  test("as long as one that has lost some of its replicas is not known to be it, what the others have is not answered [own-32]", async () => {
    master.replicas = 2;
    await run("a", connected);
    master.replicas = 1;
    confirm.mockRejectedValue(new Error("a failover is in progress"));
    for (let call = 1; call <= 3; call += 1) {
      await expect(run("a", connected)).rejects.toThrow("a failover is in progress");
      expect(confirm).toHaveBeenCalledTimes(call);
    }
    confirm.mockResolvedValue();
    expect(await run("a", connected)).toEqual({ reply: "done", acknowledged: 1, wanted: 1 });
    // It is known now that this one has so many.
    confirm.mockClear();
    expect(await run("a", connected)).toEqual({ reply: "done", acknowledged: 1, wanted: 1 });
    expect(confirm).not.toHaveBeenCalled();
  });

  test("what all replicas have is not answered either while a failover may be in progress: the promoted one is not counted any more [own-93]", async () => {
    let isBegun = false;
    await calls.close();
    calls = master.calls({ confirm, mayBeReplaced: () => isBegun });
    // Counted while the other replica was away.
    expect(await run("a", connected)).toMatchObject({ acknowledged: 1, wanted: 1 });
    expect(confirm).not.toHaveBeenCalled();
    isBegun = true;
    confirm.mockRejectedValue(new Error("a failover is in progress"));
    await expect(run("a", connected)).rejects.toThrow("a failover is in progress");
    await expect(run("a")).rejects.toThrow("a failover is in progress");
    // What changes no hold is not held up.
    expect(await run("a", { replicas: 0, timeoutMs: TIMEOUT_MS })).toMatchObject({ reply: "done" });
    confirm.mockResolvedValue();
    expect(await run("a", connected)).toMatchObject({ acknowledged: 1, wanted: 1 });
  });

  test("what the old one was sent fails, also what it has answered, and the next goes to the new one", async () => {
    await run("a", connected);
    master.acknowledging = 0;
    confirm.mockImplementation(async () => calls.move());
    await expect(run("a", connected)).rejects.toThrow("another server has become the master");
    expect(master.links.map(({ closed }) => closed)).toEqual([true]);
    confirm.mockResolvedValue();
    const underWay = gate();
    master.answering = (name) => (name === "WAIT" ? underWay.opened : undefined);
    const failing = failure(run("a", connected));
    await until(() => master.links.length === 2);
    calls.move();
    expect(await failing).toBeInstanceOf(Error);
    underWay.open();
    master.answering = () => undefined;
    await run("a", connected);
    expect(master.links.map(({ closed }) => closed)).toEqual([true, true, false]);
  });
});

describe("a server that refuses WAIT", () => {
  test.each([
    "NOPERM this user has no permissions to run the 'wait' command",
    "ERR unknown command 'WAIT', with args beginning with: '0' '0'",
  ])("is found out before anything is written, and not asked again: %s", async (message) => {
    master.answering = (name) => (name === "WAIT" ? reply(message) : undefined);
    const error = await failure(run("a"));
    expect(error).toBeInstanceOf(WaitRefusedError);
    expect(error).toMatchObject({ message, cause: { message } });
    expect(await failure(run("b"))).toBeInstanceOf(WaitRefusedError);
    expect(master.sent()).toEqual(["WAIT 0 0"]);
    expect(master.link.closed).toBe(true);
  });

  test("tells all who asked while that was found out", async () => {
    const found = gate();
    master.answering = (name) =>
      name === "WAIT" ? found.opened.then(() => reply("NOPERM not this user")) : undefined;
    const first = failure(run("a"));
    await until(() => master.log.length === 1);
    const second = failure(run("a"));
    found.open();
    expect(await first).toBeInstanceOf(WaitRefusedError);
    expect(await second).toBeInstanceOf(WaitRefusedError);
  });
});

describe("closing", () => {
  test("rejects what stands behind others, and ends the connection with what is under way", async () => {
    await acquainted();
    const frozen = gate();
    master.answering = () => frozen.opened;
    const first = failure(run("a"));
    await until(() => master.log.length === 2);
    const second = failure(run("a"));
    await calls.close();
    expect(await first).toBeInstanceOf(Error);
    expect(await second).toBeInstanceOf(DriverClosedError);
    expect(master.link.closed).toBe(true);
    expect(await failure(run("a"))).toBeInstanceOf(DriverClosedError);
    frozen.open();
  });

  test("ends a connection that is being made, and no other follows", async () => {
    const connecting = gate();
    master.answering = () => connecting.opened;
    const [first, second] = [failure(run("a")), failure(run("a"))];
    await until(() => master.links.length === 1);
    await calls.close();
    expect(await first).toBeInstanceOf(Error);
    expect(await second).toBeInstanceOf(Error);
    expect([master.links.length, master.link.closed]).toEqual([1, true]);
    connecting.open();
  });

  test("before anything was run opens nothing", async () => {
    await calls.close();
    expect(await failure(run("a"))).toBeInstanceOf(DriverClosedError);
    expect(master.links).toHaveLength(0);
  });

  test("in the turn of a call opens nothing", async () => {
    const error = failure(run("a"));
    await calls.close();
    expect(await error).toBeInstanceOf(DriverClosedError);
    expect(master.links).toHaveLength(0);
  });
});
