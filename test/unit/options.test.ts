import { afterEach, describe, expect, test } from "vitest";
import { Holdfast, type LockOptions } from "../../src/index.js";
import { memoryDriver } from "../../src/memory/index.js";

const opened: Holdfast[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((holdfast) => holdfast.close()));
});

/** As JavaScript would pass it: whatever, unchecked by a compiler. */
function whatever<T>(value: unknown): T {
  return value as T;
}

function newHoldfast(options?: unknown): Holdfast {
  const holdfast = new Holdfast(memoryDriver(), whatever(options));
  opened.push(holdfast);
  return holdfast;
}

/** The error of a call, be it thrown or the reason of a promise. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return "none";
}

async function expectTypeError(call: () => unknown, named: string): Promise<void> {
  const error = await errorOf(call);
  expect(error).toBeInstanceOf(TypeError);
  expect((error as Error).message).toContain(named);
}

/** Every call that takes options or settings, and what its message calls them. */
const takers: readonly (readonly [call: string, what: string, call: (given: unknown) => unknown])[] = [
  ["new Holdfast", "options", (given) => newHoldfast(given)],
  ["close", "options", (given) => newHoldfast().close(whatever(given))],
  ["lock", "options", (given) => newHoldfast().getLock("a").lock(whatever(given))],
  ["tryLock", "options", (given) => newHoldfast().getLock("a").tryLock(whatever(given))],
  [
    "using",
    "options",
    (given) =>
      newHoldfast()
        .getLock("a")
        .using(whatever<LockOptions>(given), () => 1),
  ],
  ["lock of a multi lock", "options", (given) => multiLock().lock(whatever(given))],
  ["tryLock of a red lock", "options", (given) => redLock().tryLock(whatever(given))],
  ["getLock", "settings", (given) => newHoldfast().getLock("a", whatever(given))],
  ["getFairLock", "settings", (given) => newHoldfast().getFairLock("a", whatever(given))],
  ["getFencedLock", "settings", (given) => newHoldfast().getFencedLock("a", whatever(given))],
  ["getSpinLock", "settings", (given) => newHoldfast().getSpinLock("a", whatever(given))],
  ["getReadWriteLock", "settings", (given) => newHoldfast().getReadWriteLock("a", whatever(given))],
  ["a constant backoff", "backoff", (given) => spinLock(given, { type: "constant" })],
  ["an exponential backoff", "backoff", (given) => spinLock(given, { type: "exponential" })],
];

function multiLock() {
  const holdfast = newHoldfast();
  return holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b"));
}

function redLock() {
  const holdfast = newHoldfast();
  return holdfast.getRedLock(holdfast.getLock("a"));
}

function spinLock(given: unknown, type: object) {
  const backoff = typeof given === "object" && given !== null ? { ...type, ...given } : given;
  return newHoldfast().getSpinLock("a", { backoff: whatever(backoff) });
}

describe("options and settings", () => {
  test.each(takers)("of %s that are no object are refused", async (_, what, call) => {
    for (const given of [null, 5_000, true, "fair"]) {
      await expectTypeError(() => call(given), `${what} must be an object`);
    }
  });

  test.each(takers)("of %s with an unknown name are refused, and the name is told", async (_, __, call) => {
    for (const name of ["wait", "ttl", "watchdogMS", "toString", "Fair"]) {
      await expectTypeError(() => call({ [name]: 5 }), `"${name}"`);
    }
    await expectTypeError(() => call({ wait: undefined }), '"wait"');
  });

  test.each(takers)("of %s may be empty", async (_, __, call) => {
    expect(await errorOf(() => call({}))).toBe("none");
  });

  test("that are true or false are nothing else", async () => {
    await expectTypeError(() => newHoldfast().getReadWriteLock("a", { fair: whatever(1) }), "fair");
    await expectTypeError(() => newHoldfast().close({ releaseHeld: whatever("yes") }), "releaseHeld");
  });

  test("that are refused by close leave the client open", async () => {
    const holdfast = newHoldfast();
    await expectTypeError(() => holdfast.close(whatever({ grace: 5 })), '"grace"');
    expect(await holdfast.getLock("a").using(() => "open")).toBe("open");
  });
});

describe("a driver", () => {
  test.each([
    ["is missing", undefined],
    ["is null", null],
    ["is a Redis client", { evalsha() {}, subscribe() {}, quit() {} }],
    ["is a string", "redis://127.0.0.1"],
  ])("that %s is refused, and what to pass is told", async (_, driver) => {
    await expectTypeError(() => new Holdfast(whatever(driver)), "new Holdfast(ioredisDriver(redis))");
  });
});

describe("a body", () => {
  test.each([
    ["asThread", undefined],
    ["outside", "text"],
  ] as const)("of %s that is no function is refused", async (method, body) => {
    await expectTypeError(() => newHoldfast()[method](whatever(body)), `${method} needs a function`);
  });
});
