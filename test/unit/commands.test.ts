import { describe, expect, test, vi } from "vitest";
import { clientSettings } from "../../src/client-options.js";
import { type Driver, DriverClosedError, ServerReplyError } from "../../src/driver/driver.js";
import { ClientClosedError, UnavailableError } from "../../src/errors.js";
import { MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { findChannels } from "../../src/protocol/finding-scripts.js";
import { lockInspect } from "../../src/protocol/inspect-scripts.js";
import { lockRelease } from "../../src/protocol/lock-scripts.js";
import { Commands } from "../../src/runtime/commands.js";
import type { Patience } from "../../src/runtime/patience.js";
import { type CallFault, ScriptedDriver } from "../support/drivers/scripted-driver.js";
import {
  answerLate,
  answerWith,
  deliverLate,
  deliverTwice,
  neverDeliver,
  rejectAtOnce,
} from "../support/faults/call-faults.js";
import { CountingClock } from "../support/worlds/counting-clock.js";

const TIMEOUT_MS = 3_000;
const question = () => ({ key: "a", queueKey: "b", tokenKey: "c", leasesKey: "d" });

function setUp() {
  const clock = new CountingClock();
  const server = new MemoryServer({ clock });
  const driver = new ScriptedDriver(memoryDriver(server));
  const about = { clientId: "client", server: driver.traits.server };
  const commands = new Commands(driver, clock, clientSettings({ commandTimeoutMs: TIMEOUT_MS }), about);
  const ask = (patience?: Patience) => commands.exchange(lockInspect, "a", question, patience);
  /** What a question brings while time passes: its answer or its error. */
  const askFor = async (ms: number, patience?: Patience): Promise<unknown> => {
    const answered = ask(patience).catch((error: unknown) => error);
    await clock.advance(ms);
    return answered;
  };
  return { clock, server, driver, commands, ask, askFor };
}

/** How a server answers the probe of its version. */
function saysVersion(version: string | null): CallFault {
  return { name: `version ${version}`, meet: async () => [1_000, version, 0] };
}

test("an answer that comes long after its call was given up does not tell the time [own-45]", async () => {
  const { clock, driver, commands, ask, askFor } = setUp();
  await ask();
  const late = deliverLate();
  void driver.next(late, "lock-inspect");
  expect(await askFor(TIMEOUT_MS)).toBeInstanceOf(UnavailableError);
  await clock.advance(20_000);
  await late.arrive();
  await clock.advance(0);
  expect(commands.notAfterMs("a") - clock.wallMs()).toBe(TIMEOUT_MS);
});

test("nor does one to a call that was held up for longer than it is waited for, before it went out [own-61]", async () => {
  const { clock, commands, ask } = setUp();
  await ask();
  const slowly = () => {
    clock.block(20_000);
    return question();
  };
  await commands.exchange(lockInspect, "a", slowly);
  expect(commands.notAfterMs("a") - clock.wallMs()).toBe(TIMEOUT_MS);
});

test("nor does one that arrives after the machine was suspended for longer than its call is waited for [own-77]", async () => {
  const { clock, driver, commands, ask } = setUp();
  await ask();
  const late = answerLate();
  void driver.next(late, "lock-inspect");
  driver.reset();
  const asked = ask();
  await clock.advance(0);
  clock.suspend(20_000);
  late.arrive();
  expect((await asked).clock).toBeUndefined();
  await ask();
  expect(commands.notAfterMs("a") - clock.wallMs()).toBe(TIMEOUT_MS);
});

describe("before the first command", () => {
  test("the server is asked for its clock and version, once for all that come at the same time", async () => {
    const { driver, ask } = setUp();
    await Promise.all([ask(), ask(), ask()]);
    await ask();
    expect(driver.names).toEqual(["server-probe", ...Array(4).fill("lock-inspect")]);
  });

  test("a server that is too old is refused, each time, and nothing else is sent", async () => {
    const { driver, askFor } = setUp();
    for (let i = 0; i < 2; i++) {
      void driver.next(saysVersion("6.0.16"), "server-probe");
      const error = await askFor(0);
      expect(error).toBeInstanceOf(UnavailableError);
      expect(error).toMatchObject({ message: expect.stringContaining("6.0.16"), outcomeUnknown: false });
    }
    expect(driver.names).toEqual(["server-probe", "server-probe"]);
  });

  test.each(["6.2.0", "7.2.4", "10.0.0", null])("a server of version %s will do", async (version) => {
    const { driver, askFor } = setUp();
    void driver.next(saysVersion(version), "server-probe");
    expect(await askFor(0)).toMatchObject({ reply: { type: "none" } });
  });

  test("a call that is cancelled while the server is met sends nothing more [P2-2]", async () => {
    const { clock, driver, ask } = setUp();
    const late = answerLate();
    void driver.next(late, "server-probe");
    const patience = { cancelled: false };
    const asked = ask(patience).catch((error: unknown) => error);
    await clock.advance(100);
    patience.cancelled = true;
    late.arrive();
    expect(await asked).toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      message: expect.stringContaining("cancelled before it was sent"),
      outcomeUnknown: false,
    });
    await clock.advance(TIMEOUT_MS);
    expect(driver.names).toEqual(["server-probe"]);
  });

  test("a driver that throws is one that fails", async () => {
    const { driver, ask, clock } = setUp();
    await ask();
    const run = driver.run.bind(driver);
    driver.run = () => {
      throw new Error("out of order");
    };
    const failing = ask().catch((error: unknown) => error);
    await clock.advance(TIMEOUT_MS);
    expect(await failing).toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true });
    driver.run = run;
    expect(await ask()).toMatchObject({ reply: { type: "none" } });
  });

  test("a probe that fails is made again by the next command, and poisons nothing", async () => {
    const { driver, askFor } = setUp();
    void driver.next(rejectAtOnce, "server-probe");
    expect(await askFor(100)).toMatchObject({ reply: { type: "none" } });
    expect(driver.names).toEqual(["server-probe", "server-probe", "lock-inspect"]);
  });

  test("a probe without an answer is given up with the command, for all that wait for it", async () => {
    const { clock, driver, ask, askFor } = setUp();
    void driver.next(neverDeliver, "server-probe");
    const both = Promise.allSettled([ask(), ask()]);
    await clock.advance(TIMEOUT_MS);
    expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await askFor(0)).toMatchObject({ reply: { type: "none" } });
  });

  test("a command with little time does not wait for the probe of one with more", async () => {
    const { driver, ask, askFor } = setUp();
    const late = answerLate();
    void driver.next(late, "server-probe");
    const patient = ask();
    expect(await askFor(50, { timeoutMs: 50 })).toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      message: expect.stringContaining("did not answer within 50 ms (server-probe)"),
      outcomeUnknown: false,
    });
    late.arrive();
    expect(await patient).toMatchObject({ reply: { type: "none" } });
    expect(driver.names).toEqual(["server-probe", "lock-inspect"]);
  });

  test("a command with much time is served by the probe of one that had less", async () => {
    const { clock, driver, ask, askFor } = setUp();
    const late = answerLate();
    void driver.next(late, "server-probe");
    const hasty = askFor(0, { timeoutMs: 50 });
    const patient = ask();
    await clock.advance(400);
    expect(await hasty).toBeInstanceOf(UnavailableError);
    late.arrive();
    expect(await patient).toMatchObject({ repeated: false, reply: { type: "none" } });
    expect(driver.names).toEqual(["server-probe", "lock-inspect"]);
  });

  test("a probe that has taken all the time of its command is the last that is sent", async () => {
    const { clock, driver, ask } = setUp();
    const late = answerLate();
    void driver.next(late, "server-probe");
    const timeoutMs = TIMEOUT_MS - 50;
    const answered = ask({ timeoutMs }).catch((error: unknown) => error);
    await clock.advance(0);
    // The timer has yet to tell that the time is over.
    clock.block(timeoutMs);
    late.arrive();
    expect(await answered).toMatchObject({
      message: expect.stringContaining("did not answer within 2950 ms (lock-inspect)"),
      outcomeUnknown: false,
    });
    expect(driver.names).toEqual(["server-probe"]);
  });

  test("nobody waits longer than a command timeout, though probes of others go on", async () => {
    const { clock, driver, ask } = setUp();
    let breakDown = (): void => undefined;
    const broken = new Promise<never>((_, reject) => {
      breakDown = () => reject(new Error("the connection broke"));
    });
    void driver.next({ name: "broken later", meet: () => broken }, "server-probe");
    void driver.next(neverDeliver, "server-probe");
    const first = ask().catch((error: unknown) => error);
    await clock.advance(1_000);
    breakDown();
    await clock.advance(0);
    const second = ask().catch((error: unknown) => error);
    await clock.advance(TIMEOUT_MS - 1_000);
    expect(await Promise.race([first, Promise.resolve("still waiting")])).toMatchObject({
      message: expect.stringContaining("did not answer within 3000 ms"),
    });
    await clock.advance(TIMEOUT_MS);
    expect(await second).toBeInstanceOf(UnavailableError);
  });

  test("there is no deadline to give, afterwards it is the server's time and one command timeout", async () => {
    const { server, clock, commands, ask } = setUp();
    expect(() => commands.notAfterMs("a")).toThrow();
    await ask();
    expect(commands.notAfterMs("a")).toBe(server.clock.wallMs() + TIMEOUT_MS);
    await clock.advance(10_000);
    expect(commands.notAfterMs("a")).toBe(server.clock.wallMs() + TIMEOUT_MS);
  });

  test("the deadline goes by the server's clock, and never ends before the command is given up", async () => {
    const { clock, driver, commands, ask } = setUp();
    await ask();
    const slow = answerLate();
    void driver.next(slow);
    const answered = ask();
    await clock.advance(400);
    slow.arrive();
    const { serverMs, sentAt } = await answered;
    expect(serverMs).toBe(sentAt.wallMs);
    expect(commands.notAfterMs("a")).toBeGreaterThanOrEqual(clock.wallMs() + TIMEOUT_MS);
  });
});

describe("a command that fails", () => {
  test("is sent again after 20 ms, 40 ms and so on up to 500 ms, until its time is over", async () => {
    const { clock, driver, ask, askFor } = setUp();
    await ask();
    const times: number[] = [];
    const noting: CallFault = {
      name: "noted and rejected",
      meet: (deliver, scripted) => {
        times.push(clock.elapsedMs);
        void driver.next(noting);
        return rejectAtOnce.meet(deliver, scripted);
      },
    };
    void driver.next(noting);
    const error = await askFor(TIMEOUT_MS);
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ outcomeUnknown: true, cause: { name: "ConnectionLostError" } });
    expect(times).toEqual([0, 20, 60, 140, 300, 620, 1_120, 1_620, 2_120, 2_620]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("is not sent again once its call is cancelled, also if that is between two tries", async () => {
    const { clock, driver, ask } = setUp();
    await ask();
    const patience = { cancelled: false };
    void driver.next(rejectAtOnce);
    const asked = ask(patience).catch((error: unknown) => error);
    await clock.advance(10);
    patience.cancelled = true;
    await clock.advance(TIMEOUT_MS);
    expect(await asked).toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true });
    expect(driver.names).toEqual(["server-probe", "lock-inspect", "lock-inspect"]);
  });

  test("since some of the masters that it asks are silent names them", async () => {
    const { clock, driver, commands } = setUp();
    const everywhere: Driver["everywhere"] = (_, ticket) => {
      ticket.silent = new Set(["b:2", "c:3"]);
      return new Promise(() => undefined);
    };
    Object.assign(driver, { everywhere });
    const asked = commands
      .exchange(findChannels, "", () => ({ sharded: true }))
      .catch((error: unknown) => error);
    await clock.advance(TIMEOUT_MS);
    expect(await asked).toMatchObject({
      message: expect.stringContaining("b:2, c:3 did not answer within 3000 ms (find-channels)"),
    });
  });

  test("is answered in the end, and known as repeated", async () => {
    const { driver, ask, askFor } = setUp();
    expect(await ask()).toMatchObject({ repeated: false });
    void driver.next(rejectAtOnce);
    expect(await askFor(100)).toMatchObject({ repeated: true, reply: { type: "none" } });
    expect(await askFor(0)).toMatchObject({ repeated: false });
  });

  test("counts as repeated, too, when the connection was lost under it and its client has sent it again", async () => {
    const { driver, ask, askFor } = setUp();
    await ask();
    void driver.next(deliverTwice);
    expect(await askFor(0)).toMatchObject({ repeated: true });
  });

  test("gets a new deadline each time", async () => {
    const { clock, driver, commands, ask } = setUp();
    await ask();
    const deadlines: number[] = [];
    void driver.next(rejectAtOnce);
    const released = commands.exchange(lockRelease, "a", () => {
      const notAfterMs = commands.notAfterMs("a");
      deadlines.push(notAfterMs);
      return { notAfterMs, locks: [] };
    });
    await clock.advance(100);
    await released;
    expect(deadlines).toHaveLength(2);
    expect((deadlines[1] ?? 0) - (deadlines[0] ?? 0)).toBe(20);
  });

  test.each(["LOADING", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "BUSY", "NOREPLICAS"])(
    "with %s is sent again: soon it may work",
    async (code) => {
      const { driver, ask, askFor } = setUp();
      await ask();
      void driver.next(answerWith(new ServerReplyError(`${code} for a while`)));
      // Nothing was carried out the first time.
      expect(await askFor(100)).toMatchObject({ reply: { type: "none" }, repeated: false });
    },
  );

  test.each([
    ["has had no effect", false],
    ["may have had one where its client has sent it twice", true],
  ])("and is refused until its time is over %s", async (_, resent) => {
    const { driver, ask, askFor } = setUp();
    await ask();
    const busy = new ServerReplyError("BUSY for a while");
    void driver.next({
      name: "busy",
      meet: () => {
        if (resent) driver.reset();
        return Promise.reject(busy);
      },
    });
    for (let i = 0; i < 20; i++) void driver.next(answerWith(busy));
    expect(await askFor(TIMEOUT_MS)).toMatchObject({ outcomeUnknown: resent });
  });

  test("as one server turns out to be a node of a cluster is refused at once, and says what to do", async () => {
    const { driver, ask, askFor } = setUp();
    await ask();
    void driver.next(answerWith(new ServerReplyError("MOVED 5 10.0.0.1:6379")));
    expect(await askFor(0)).toMatchObject({
      outcomeUnknown: false,
      message: expect.stringContaining("it is a node of a cluster: make the client for a cluster"),
    });
  });

  test.each([
    ["ERR unknown command 'eval', with args beginning with: ", "if it is a Sentinel, make the client with"],
    ["ERR Could not find scripting engine 'lua'", "was started without its Lua module"],
  ])(
    "as a server that runs no scripts says %s is refused at once, and says what to do",
    async (answer, advice) => {
      const { driver, ask, askFor } = setUp();
      await ask();
      void driver.next(answerWith(new ServerReplyError(answer)));
      expect(await askFor(0)).toMatchObject({
        outcomeUnknown: false,
        message: expect.stringContaining(advice),
      });
    },
  );

  test.each(["NOAUTH", "NOPERM", "OOM", "WRONGTYPE", "ERR"])("with %s is refused at once", async (code) => {
    const { driver, ask, askFor } = setUp();
    await ask();
    const cause = new ServerReplyError(`${code} no`);
    void driver.next(answerWith(cause));
    const error = await askFor(0);
    expect(error).toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: false, cause });
    expect(error).toMatchObject({ message: expect.stringContaining(`${code} no`) });
  });

  test.each([
    "NOPERM this user has no permissions to run the 'eval' command",
    "ERR The user executing the script can't run this command or subcommand script: f_1, on @user_script:1.",
    "ERR ACL failure in script: User a has no permissions to run the 'set' command script: on @user_script:1.",
  ])("says where to read about rights: %s", async (words) => {
    const { driver, ask, askFor } = setUp();
    await ask();
    void driver.next(answerWith(new ServerReplyError(words)));
    expect(await askFor(0)).toMatchObject({ message: expect.stringContaining("docs/guide/servers.md") });
  });

  test("and is refused when it is sent again has an unknown outcome: the first may have arrived", async () => {
    const { driver, ask, askFor } = setUp();
    await ask();
    void driver.next(rejectAtOnce);
    void driver.next(answerWith(new ServerReplyError("NOAUTH no")));
    expect(await askFor(100)).toMatchObject({ outcomeUnknown: true });
  });

  test("and is refused at once, has an unknown outcome if its client has sent it before on another connection [own-40]", async () => {
    const { driver, ask, askFor } = setUp();
    await ask();
    void driver.next({
      name: "refused after a reconnect",
      meet: () => {
        driver.reset();
        return Promise.reject(new ServerReplyError("OOM no"));
      },
    });
    expect(await askFor(0)).toMatchObject({ outcomeUnknown: true });
  });

  test("keeps the process alive until it is sent again or given up", async () => {
    const { clock, driver, ask, askFor } = setUp();
    await ask();
    const schedule = vi.spyOn(clock, "schedule");
    void driver.next(rejectAtOnce);
    await askFor(20);
    expect(schedule.mock.calls.filter(([delayMs]) => delayMs === 20)).toEqual([
      [20, expect.any(Function), true],
    ]);
  });

  test("while there is no connection says why, as the Redis client has told", async () => {
    const { driver, ask, askFor } = setUp();
    await ask();
    const outage = Object.assign(new Error(""), { code: "ECONNREFUSED" });
    Object.assign(driver, { outage });
    void driver.next(neverDeliver);
    const error = await askFor(TIMEOUT_MS);
    expect(error).toMatchObject({ cause: outage, outcomeUnknown: true });
    expect(error).toMatchObject({
      message: expect.stringMatching(/: can not be reached \(ECONNREFUSED\), tried for 3000 ms$/),
    });
    const refusal = new ServerReplyError("NOAUTH no");
    void driver.next(answerWith(refusal));
    expect(await askFor(0)).toMatchObject({ cause: refusal });
  });

  test("is not sent again for somebody who does not want it any more", async () => {
    const { driver, ask, askFor } = setUp();
    await ask();
    void driver.next(rejectAtOnce);
    expect(await askFor(TIMEOUT_MS, { cancelled: true })).toBeInstanceOf(UnavailableError);
    expect(driver.names.filter((name) => name === "lock-inspect")).toHaveLength(2);
  });
});

describe("a command without an answer", () => {
  test("is given up after the timeout, with a message that says so, and its driver is told", async () => {
    const { clock, driver, ask, askFor } = setUp();
    await ask();
    const given = driver.next(neverDeliver);
    const error = await askFor(TIMEOUT_MS);
    expect(error).toMatchObject({ outcomeUnknown: true });
    expect(error).toMatchObject({
      message: expect.stringContaining("did not answer within 3000 ms (lock-inspect)"),
    });
    expect((await given).ticket.givenUp).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  test("is given up earlier for somebody who has less time", async () => {
    const { driver, ask, askFor } = setUp();
    await ask();
    void driver.next(neverDeliver);
    const error = await askFor(500, { timeoutMs: 500 });
    expect(error).toMatchObject({ message: expect.stringContaining("did not answer within 500 ms") });
  });

  test("leaves its late answer to nobody", async () => {
    const { driver, ask, askFor } = setUp();
    await ask();
    const late = deliverLate();
    void driver.next(late);
    expect(await askFor(TIMEOUT_MS)).toBeInstanceOf(UnavailableError);
    await late.arrive();
    expect(await askFor(0)).toMatchObject({ repeated: false, reply: { type: "none" } });
  });

  test("but a timer is no cost of one that is answered", async () => {
    const { clock, ask } = setUp();
    for (let i = 0; i < 100; i++) await ask();
    await clock.advance(TIMEOUT_MS);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("the end", () => {
  test("rejects what is under way, in a pause between two tries and to come, and gives up its tickets", async () => {
    const { clock, driver, commands, ask } = setUp();
    await ask();
    const given = driver.next(neverDeliver);
    const unanswered = ask().catch((error: unknown) => error);
    void driver.next(rejectAtOnce);
    const pausing = ask().catch((error: unknown) => error);
    await clock.advance(10);
    commands.stop();
    commands.stop();
    for (const ended of [unanswered, pausing]) expect(await ended).toBeInstanceOf(ClientClosedError);
    expect((await given).ticket.givenUp).toBe(true);
    await expect(ask()).rejects.toBeInstanceOf(ClientClosedError);
    await expect(commands.pause(10)).rejects.toBeInstanceOf(ClientClosedError);
    expect(clock.pendingTimers).toBe(0);
  });

  test("of the driver is told at once, and that the command was not sent", async () => {
    const { driver, askFor } = setUp();
    for (const script of ["server-probe", "lock-inspect"]) {
      void driver.next(answerWith(new DriverClosedError("its client has ended")), script);
      expect(await askFor(0)).toMatchObject({
        code: "ERR_HOLDFAST_UNAVAILABLE",
        message: expect.stringContaining("its client has ended"),
        outcomeUnknown: false,
      });
    }
  });

  test("of the driver under a command leaves its outcome unknown", async () => {
    const { driver, ask, askFor } = setUp();
    await ask();
    void driver.next(rejectAtOnce);
    void driver.next(answerWith(new DriverClosedError()));
    expect(await askFor(20)).toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true });
  });

  test("can be waited for: nothing is under way, nor about to be sent again", async () => {
    const { clock, driver, commands, ask } = setUp();
    await commands.idle();
    await ask();
    void driver.next(rejectAtOnce);
    void driver.next(rejectAtOnce);
    const order: string[] = [];
    const answered = ask().then(() => order.push("answered"));
    /** As the client waits: between two tries there is a moment in which nothing is under way. */
    const quiet = async () => {
      do {
        await commands.idle();
        await new Promise<void>((resolve) => clock.schedule(0, resolve));
      } while (commands.busy);
      order.push("quiet");
    };
    const done = quiet();
    await clock.advance(1_000);
    await Promise.all([answered, done]);
    expect(order).toEqual(["answered", "quiet"]);
  });
});
