import { describe, expect, test } from "vitest";
import type { HoldfastOptions } from "../../src/client-options.js";
import type { CloseOptions } from "../../src/close-options.js";
import { ClientClosedError } from "../../src/errors.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { deliverLate, neverDeliver, rejectAtOnce, swallowReply } from "../support/faults/call-faults.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, type FakeTimeClient, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const COMMAND_MS = 500;
const GRACE_MS = 1_000;
const HOUR_MS = 3_600_000;
/** After that a command is repeated whose connection was lost. */
const RETRY_MS = 20;
const RELEASE = { releaseHeld: true };

/** What a client has under way when Redis goes away and it closes. */
interface State {
  readonly has: string;
  readonly options?: HoldfastOptions;
  begin(client: FakeTimeClient, time: FakeTime): Promise<unknown>;
  /** What is begun once Redis is away. Default: nothing. */
  next?(client: FakeTimeClient): Promise<unknown>;
  readonly close?: CloseOptions;
  /** How long that takes. */
  readonly tookMs: number;
}

const nothing = async () => undefined;
const body = ({ holdfast }: FakeTimeClient) =>
  holdfast.getLock("a").using({ leaseMs: HOUR_MS }, () => gate().opened);
const foreign = ({ server }: FakeTime) => {
  server.command("HSET", "a", "somebody", "1");
  server.command("PEXPIRE", "a", "60000");
};

const states: readonly State[] = [
  { has: "nothing", begin: nothing, tookMs: 0 },
  { has: "a lock", begin: ({ holdfast }) => holdfast.getLock("a").lock(), tookMs: 0 },
  {
    has: "a lock that is released",
    begin: ({ holdfast }) => holdfast.getLock("a").lock(),
    close: RELEASE,
    tookMs: COMMAND_MS,
  },
  {
    has: "a call that waits",
    begin: async ({ holdfast }, time) => {
      foreign(time);
      void watched(holdfast.getLock("a").lock());
    },
    // Its client leaves the lock's queue.
    tookMs: COMMAND_MS,
  },
  {
    has: "a call in a fair queue",
    begin: async ({ holdfast }, time) => {
      foreign(time);
      void watched(holdfast.getFairLock("a").lock());
    },
    tookMs: COMMAND_MS,
  },
  {
    has: "an acquisition under way",
    begin: nothing,
    next: ({ holdfast }) => holdfast.getLock("a").lock(),
    tookMs: COMMAND_MS,
  },
  {
    has: "a release under way",
    begin: nothing,
    next: async ({ holdfast }) => holdfast.getSemaphore("s").release(),
    tookMs: COMMAND_MS,
  },
  {
    has: "a running body",
    begin: async (client) => void watched(body(client)),
    close: { graceMs: GRACE_MS },
    tookMs: GRACE_MS,
  },
  {
    has: "a running body that is released",
    begin: async (client) => void watched(body(client)),
    close: { graceMs: GRACE_MS, ...RELEASE },
    tookMs: GRACE_MS + COMMAND_MS,
  },
  {
    has: "presence",
    options: { presence: true },
    begin: (_, { clock }) => clock.advance(20_000),
    tookMs: COMMAND_MS,
  },
  {
    has: "permits of a semaphore in a body",
    begin: async ({ holdfast }) => {
      await holdfast.getSemaphore("s").trySetPermits(1, { ttlMs: 60_000 });
      void watched(holdfast.getSemaphore("s").using(() => gate().opened));
    },
    close: RELEASE,
    tookMs: COMMAND_MS,
  },
  {
    has: "leased permits",
    begin: async ({ holdfast }) => {
      await holdfast.getPermitExpirableSemaphore("s").trySetPermits(1, { ttlMs: 60_000 });
      await holdfast.getPermitExpirableSemaphore("s").acquire({ watchdog: true });
    },
    close: RELEASE,
    tookMs: COMMAND_MS,
  },
];

/** The call takes its time to the server. */
const deliverAfter = ({ clock }: FakeTime, ms: number): CallFault => ({
  name: "slow",
  meet: (deliver) => new Promise((resolve) => void clock.schedule(ms, () => resolve(deliver()))),
});

/** @returns how long closing takes, by the clock */
async function timeOf(
  { clock }: FakeTime,
  { holdfast }: FakeTimeClient,
  options?: CloseOptions,
): Promise<number> {
  const startMs = clock.monotonicMs();
  const took = watched(holdfast.close(options).then(() => clock.monotonicMs() - startMs));
  await clock.advance(GRACE_MS + 10 * COMMAND_MS);
  if (took.outcome === undefined || !("value" in took.outcome)) throw new Error("it did not close");
  return took.outcome.value;
}

describe("closing takes graceMs and one command timeout at most when Redis does not answer", () => {
  describe.each([neverDeliver, rejectAtOnce])("($name)", (fault) => {
    test.each(states)("with $has: $tookMs ms [own-100]", async ({ options, begin, next, close, tookMs }) => {
      const time = open();
      const client = time.connect({ commandTimeoutMs: COMMAND_MS, ...options });
      await client.holdfast.getLock("a").isLocked();
      await begin(client, time);
      await time.clock.advance(0);
      for (let i = 0; i < 1_000; i++) void client.driver.next(fault);
      if (next !== undefined) void watched(next(client));
      await time.clock.advance(0);
      expect(await timeOf(time, client, close)).toBeLessThanOrEqual(tookMs);
      time.server.flush();
    });
  });
});

test("closing takes two command timeouts at most when Redis answers, in which what lost an answer is cleaned up [own-100]", async () => {
  const time = open();
  const client = time.connect({ commandTimeoutMs: COMMAND_MS });
  await client.holdfast.getLock("a").isLocked();
  void client.driver.next(swallowReply, "lock-acquire");
  const taking = watched(client.holdfast.getLock("a").lock({ leaseMs: HOUR_MS }));
  await time.clock.advance(0);
  expect(time.fields("a")).not.toEqual({});
  const tookMs = await timeOf(time, client);
  expect(taking.outcome).toEqual({ error: expect.any(ClientClosedError) });
  expect(tookMs).toBeGreaterThan(COMMAND_MS);
  expect(tookMs).toBeLessThanOrEqual(2 * COMMAND_MS);
  expect(time.fields("a")).toEqual({});
});

/** A client whose last clean-up is sent just before closing has taken one command timeout, and meets a fault. */
async function closingBefore(fault: (time: FakeTime) => CallFault) {
  const time = open();
  const client = time.connect({ commandTimeoutMs: COMMAND_MS });
  await client.holdfast.getLock("a").isLocked();
  const late = deliverLate({ told: true });
  void client.driver.next(late, "lock-acquire");
  const taking = client.holdfast.getLock("a").lock({ leaseMs: HOUR_MS });
  await time.clock.advance(RETRY_MS);
  await (await taking).unlock();
  await late.arrive();
  expect(time.fields("a")).not.toEqual({});
  // By then no copy of the acquisition can take the lock any more, but for what is on its way.
  void client.driver.next(fault(time), "lock-release");
  const tookMs = await timeOf(time, client);
  expect(tookMs).toBeGreaterThan(COMMAND_MS);
  expect(tookMs).toBeLessThanOrEqual(2 * COMMAND_MS);
  return time;
}

test("closing waits for the last clean-up also where that is sent just before one command timeout is over [own-109]", async () => {
  const { fields } = await closingBefore((time) => deliverAfter(time, 2 * RETRY_MS));
  expect(fields("a")).toEqual({});
});

test("closing takes two command timeouts at most where nothing answers that last clean-up", async () => {
  const { server, fields } = await closingBefore(() => neverDeliver);
  expect(fields("a")).not.toEqual({});
  server.flush();
});

describe("the signal of a client that closes", () => {
  const closed = { aborted: true, reason: expect.any(ClientClosedError) };

  test("aborts when close begins, in a body that has its grace before it", async () => {
    const time = open();
    const client = time.connect().holdfast;
    const { closing } = client;
    const seen: unknown[] = [];
    const work = watched(
      client.getLock("a").using(async (lease) => {
        await new Promise((resolve) => closing.addEventListener("abort", resolve, { once: true }));
        seen.push(lease.state, lease.signal.aborted);
        await (await client.getLock("b").lock()).unlock();
        return "ended";
      }),
    );
    await time.clock.advance(0);
    expect(closing.aborted).toBe(false);
    const close = watched(client.close({ graceMs: 10_000 }));
    expect(closing).toMatchObject(closed);
    await time.clock.advance(0);
    expect([seen, work.outcome, close.outcome]).toEqual([
      ["held", false],
      { value: "ended" },
      { value: undefined },
    ]);
  });

  test("aborts once, with one reason, where the grace ends as well", async () => {
    const time = open();
    const client = time.connect().holdfast;
    const reasons: unknown[] = [];
    client.closing.addEventListener("abort", () => reasons.push(client.closing.reason));
    void watched(client.getLock("a").using(() => gate().opened));
    await time.clock.advance(0);
    const close = watched(client.close({ graceMs: 1_000 }));
    await time.clock.advance(1_000);
    expect([reasons, close.outcome]).toEqual([[expect.any(ClientClosedError)], { value: undefined }]);
    expect(client.closing.reason).toBe(reasons[0]);
    await time.clock.advance(60_000);
  });

  test.each<[string, CloseOptions]>([
    ["has begun", { graceMs: 1_000 }],
    ["is over", {}],
  ])("is aborted already where it is read once closing %s", async (_, options) => {
    const time = open();
    const client = time.connect().holdfast;
    void watched(client.getLock("a").using(() => gate().opened));
    await time.clock.advance(0);
    const close = watched(client.close(options));
    await time.clock.advance(0);
    expect(close.outcome === undefined).toBe(options.graceMs !== undefined);
    expect(client.closing).toMatchObject(closed);
    expect(client.closing).toBe(client.closing);
    await time.clock.advance(60_000);
  });

  test("ends what a body waits for together with the signal of its lease", async () => {
    const time = open();
    const client = time.connect().holdfast;
    const work = watched(
      client.getLock("a").using(async (lease) => {
        const signal = AbortSignal.any([lease.signal, client.closing]);
        await new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        );
      }),
    );
    await time.clock.advance(0);
    const close = watched(client.close({ graceMs: 10_000 }));
    await time.clock.advance(0);
    expect([work.outcome, close.outcome]).toEqual([
      { error: expect.any(ClientClosedError) },
      { value: undefined },
    ]);
  });
});
