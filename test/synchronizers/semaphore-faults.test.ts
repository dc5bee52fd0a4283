import { afterEach, describe, expect, test } from "vitest";
import type { Semaphore } from "../../src/index.js";
import { scriptedClient } from "../support/drivers/scripted-client.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { deliverTwice, loseReply, rejectAtOnce, swallowReply } from "../support/faults/call-faults.js";
import { until } from "../support/run/until.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { PERMITS_CHANNEL } from "../support/worlds/permits.js";

/** A call and what it comes to, however its command and its answer fare on their way. */
interface Deed {
  readonly deed: string;
  /** What is available before; undefined without a semaphore. */
  readonly before: number | undefined;
  act(semaphore: Semaphore): Promise<unknown>;
  readonly answer: unknown;
  readonly after: string | null;
  readonly messages: readonly string[];
}

const deeds: readonly Deed[] = [
  {
    deed: "permits that are set",
    before: undefined,
    act: (own) => own.trySetPermits(5),
    answer: true,
    after: "5",
    messages: ["5"],
  },
  {
    deed: "permits that were set before",
    before: 3,
    act: (own) => own.trySetPermits(5),
    answer: false,
    after: "3",
    messages: [],
  },
  {
    deed: "permits acquired",
    before: 5,
    act: (own) => own.acquire(2),
    answer: undefined,
    after: "3",
    messages: [],
  },
  {
    deed: "permits tried for",
    before: 5,
    act: (own) => own.tryAcquire(2),
    answer: true,
    after: "3",
    messages: [],
  },
  {
    deed: "permits refused [wire-S10]",
    before: 1,
    act: (own) => own.tryAcquire(2),
    answer: false,
    after: "1",
    messages: [],
  },
  {
    deed: "permits released",
    before: 5,
    act: (own) => own.release(2),
    answer: undefined,
    after: "7",
    messages: ["7"],
  },
  {
    deed: "permits released where nobody has set any",
    before: undefined,
    act: (own) => own.release(2),
    answer: undefined,
    after: "2",
    messages: ["2"],
  },
  {
    deed: "permits released by releaseIfExists",
    before: 5,
    act: (own) => own.releaseIfExists(2),
    answer: true,
    after: "7",
    messages: ["7"],
  },
  {
    deed: "permits without a semaphore to release them to",
    before: undefined,
    act: (own) => own.releaseIfExists(2),
    answer: false,
    after: null,
    messages: [],
  },
  {
    deed: "permits added [wire-S25]",
    before: 5,
    act: (own) => own.addPermits(3),
    answer: undefined,
    after: "8",
    messages: ["8"],
  },
  {
    deed: "permits taken away [wire-S25]",
    before: 5,
    act: (own) => own.addPermits(-7),
    answer: undefined,
    after: "-2",
    messages: [],
  },
  {
    deed: "permits drained [wire-S25]",
    before: 5,
    act: (own) => own.drainPermits(),
    answer: 5,
    after: "0",
    messages: [],
  },
  {
    deed: "a semaphore deleted",
    before: 5,
    act: (own) => own.delete(),
    answer: true,
    after: null,
    messages: [],
  },
];

/** A command timeout for a test that lets it run out. */
const SHORT_MS = 500;

const faults: readonly CallFault[] = [loseReply, deliverTwice, rejectAtOnce];

describe.each(backends)("on $name", (backend) => {
  const server = openedFor(backend);
  afterEach(() => server().raw("DEL", "s"));

  /** What is not answered is taken back as soon as the time for the command is over. */
  async function scripted(before?: number, commandTimeoutMs = 3_000) {
    const { client, driver } = scriptedClient(server(), { commandTimeoutMs });
    await client.getSemaphore("acquaintance").availablePermits();
    if (before !== undefined) await server().raw("SET", "s", before);
    driver.calls.length = 0;
    return { client, driver, semaphore: client.getSemaphore("s") };
  }

  describe.each(faults)("a call that meets the fault: $name", (fault) => {
    test.each(deeds)(
      `has its effect once: $deed (${fault.name}) [R9]`,
      async ({ before, act, answer, after, messages }) => {
        const { semaphore, driver } = await scripted(before);
        const heard = await server().listen(PERMITS_CHANNEL);
        void driver.next(fault);
        expect(await act(semaphore)).toEqual(answer);
        expect(driver.calls[0]?.fault).toBe(fault.name);
        expect(await server().raw("GET", "s")).toBe(after);
        await server().raw("PUBLISH", PERMITS_CHANNEL, "end");
        await until(() => heard.at(-1) === "end");
        expect(heard.slice(0, -1)).toEqual(messages);
      },
    );
  });

  test("a call whose answer is lost twice has its effect once [R9]", async () => {
    const { semaphore, driver } = await scripted(5);
    void driver.next(loseReply);
    void driver.next(loseReply);
    await semaphore.acquire(2);
    void driver.next(loseReply);
    void driver.next(loseReply);
    await semaphore.release();
    expect(await server().raw("GET", "s")).toBe("4");
    expect(driver.calls).toHaveLength(6);
  });

  test("a call is done once in the middle of many others of its client [R9]", async () => {
    const { semaphore, driver } = await scripted(100);
    const calls = Array.from({ length: 60 }, async (_, i) => {
      if (i % 5 === 0) void driver.next(i % 2 === 0 ? loseReply : deliverTwice);
      if (i % 3 === 0) await semaphore.acquire(2);
      else if (i % 3 === 1) await semaphore.release();
      else await semaphore.addPermits(3);
    });
    await Promise.all(calls);
    expect(await server().raw("GET", "s")).toBe(String(100 - 20 * 2 + 20 + 20 * 3));
  });

  test("permits are given back once that a cancelled call may have taken", async () => {
    const { semaphore, driver } = await scripted(5, SHORT_MS);
    const heard = await server().listen(PERMITS_CHANNEL);
    const leaving = new AbortController();
    const met = driver.next(swallowReply);
    const cancelled = semaphore.acquire(2, { signal: leaving.signal });
    await met;
    await until(async () => (await server().raw("GET", "s")) === "3");
    leaving.abort("gone");
    await expect(cancelled).rejects.toBe("gone");
    await until(() => heard.length > 0);
    expect(await server().raw("GET", "s")).toBe("5");
    expect(heard).toEqual(["5"]);
  });
});
