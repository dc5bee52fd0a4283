import { afterEach, describe, expect, test } from "vitest";
import { InvalidNameError, WrongTypeError } from "../../src/errors.js";
import type { Semaphore } from "../../src/index.js";
import { watchLeaks } from "../support/run/leaks.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { fakeTime } from "../support/worlds/fake-time.js";

/** As JavaScript would pass it: whatever, unchecked by a compiler. */
function whatever<T>(value: unknown): T {
  return value as T;
}

async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}

type Bad = readonly [what: string, value: unknown, error: typeof TypeError];

const badNumbers: readonly Bad[] = [
  ["NaN", Number.NaN, RangeError],
  ["a fraction", 1.5, RangeError],
  ["infinite", Number.POSITIVE_INFINITY, RangeError],
  ["more than 2147483647", 2 ** 31, RangeError],
  ["2^53", 2 ** 53, RangeError],
  ["a string", "1", TypeError],
  ["a bigint", 1n, TypeError],
  ["a boolean", true, TypeError],
];
const badPermits: readonly Bad[] = [...badNumbers, ["negative", -1, RangeError]];
const badDurations: readonly Bad[] = [
  ["negative", -1, RangeError],
  ["a fraction", 0.5, RangeError],
  ["NaN", Number.NaN, RangeError],
  ["infinite", Number.POSITIVE_INFINITY, RangeError],
  ["longer than ten years", 10 * 366 * 24 * 3_600_000, RangeError],
  ["a string", "1000", TypeError],
  ["null", null, TypeError],
];

describe("a bad argument is refused before anything is sent", () => {
  watchLeaks();
  const open = fakeTime();

  async function expectRefusals(
    error: typeof TypeError,
    named: string,
    calls: (semaphore: Semaphore) => readonly (() => unknown)[],
  ): Promise<void> {
    const { holdfast, driver } = open();
    for (const call of calls(holdfast.getSemaphore("s"))) {
      const refusal = await errorOf(call);
      expect(refusal).toBeInstanceOf(error);
      expect((refusal as Error).message).toContain(named);
    }
    expect(driver.names).toEqual([]);
  }

  // An object in the place of the permits is taken for options.
  test.each(badPermits)("permits: %s", (_, value, error) =>
    expectRefusals(error, "permits", (own) => [
      () => own.trySetPermits(whatever(value)),
      () => own.acquire(whatever(value), {}),
      () => own.tryAcquire(whatever(value), {}),
      () => own.using(whatever(value), {}, () => "never"),
      () => own.using(whatever(value), () => "never"),
      () => own.release(whatever(value)),
      () => own.releaseIfExists(whatever(value)),
    ]),
  );

  test.each([...badNumbers, ["less than -2147483647", -(2 ** 31), RangeError] as const])(
    "permits to add: %s",
    (_, value, error) => expectRefusals(error, "permits", (own) => [() => own.addPermits(whatever(value))]),
  );

  test("permits: null", () =>
    expectRefusals(TypeError, "must be", (own) => [
      () => own.trySetPermits(whatever(null)),
      () => own.acquire(whatever(null)),
      () => own.acquire(whatever(null), {}),
      () => own.tryAcquire(whatever(null), {}),
      () => own.using(whatever(null), () => "never"),
      () => own.release(whatever(null)),
      () => own.releaseIfExists(whatever(null)),
      () => own.addPermits(whatever(null)),
    ]));

  test("permits that are missing", () =>
    expectRefusals(TypeError, "permits", (own) => [
      () => own.trySetPermits(whatever(undefined)),
      () => own.addPermits(whatever(undefined)),
    ]));

  // To wait for ever is no mistake.
  test.each(badDurations.filter(([what]) => what !== "infinite"))("waitMs: %s", (_, value, error) =>
    expectRefusals(error, "waitMs", (own) => {
      const options = whatever<object>({ waitMs: value });
      return [
        () => own.acquire(options),
        () => own.acquire(2, options),
        () => own.tryAcquire(options),
        () => own.tryAcquire(0, options),
        () => own.using(options, () => "never"),
        () => own.using(2, options, () => "never"),
      ];
    }),
  );

  test.each([...badDurations, ["zero", 0, RangeError] as const])("ttlMs: %s", (_, value, error) =>
    expectRefusals(error, "ttlMs", (own) => [() => own.trySetPermits(1, whatever({ ttlMs: value }))]),
  );

  test.each<[string, unknown, string]>([
    ["no object", 5_000, "options"],
    ["null", null, "options"],
    ["a signal that is none", { signal: { aborted: false } }, "signal must be"],
    ["an option of locks", { leaseMs: 1_000 }, "leaseMs"],
    ["an option of permits that expire", { watchdog: true }, "watchdog"],
    ["a misspelt option", { waitms: 1 }, "waitms"],
  ])("options: %s", (_, options, named) =>
    expectRefusals(TypeError, named, (own) => [
      () => own.acquire(1, whatever(options)),
      () => own.tryAcquire(1, whatever(options)),
      () => own.using(1, whatever(options), () => "never"),
    ]),
  );

  test("settings of trySetPermits: a misspelt one, null", async () => {
    await expectRefusals(TypeError, "ttl", (own) => [() => own.trySetPermits(1, whatever({ ttl: 1_000 }))]);
    await expectRefusals(TypeError, "settings", (own) => [() => own.trySetPermits(1, whatever(null))]);
  });

  test("using without a function", () =>
    expectRefusals(TypeError, "using needs a function", (own) => [
      () => own.using(whatever(undefined)),
      () => own.using(whatever(2)),
      () => own.using(2, whatever({})),
      () => own.using(2, {}, whatever("body")),
    ]));

  test("names that no semaphore can have", () => {
    const { holdfast } = open();
    expect(() => holdfast.getSemaphore("")).toThrow(InvalidNameError);
    expect(() => holdfast.getSemaphore(whatever(7))).toThrow(InvalidNameError);
  });
});

describe.each(backends)("a key that holds something else, on $name", (backend) => {
  const server = openedFor(backend);
  afterEach(() => server().raw("DEL", "s"));

  const calls: readonly (readonly [name: string, call: (own: Semaphore) => Promise<unknown>])[] = [
    ["acquire", (own) => own.acquire()],
    ["tryAcquire", (own) => own.tryAcquire()],
    ["tryAcquire with a wait", (own) => own.tryAcquire(2, { waitMs: 60_000 })],
    ["using", (own) => own.using(() => "never")],
    ["release", (own) => own.release()],
    ["releaseIfExists", (own) => own.releaseIfExists()],
    ["addPermits", (own) => own.addPermits(1)],
    ["drainPermits", (own) => own.drainPermits()],
    ["availablePermits", (own) => own.availablePermits()],
  ];

  test.each(calls)("is refused as a semaphore and left alone: %s", async (_, call) => {
    const client = server().client();
    const lease = await client.getLock("s").lock();
    await expect(call(client.getSemaphore("s"))).rejects.toMatchObject({
      constructor: WrongTypeError,
      code: "ERR_HOLDFAST_WRONG_TYPE",
      key: "s",
      type: "hash",
    });
    expect(await server().fields("s")).toEqual({ [lease.holder]: "1" });
    await lease.unlock();
  });

  test("keeps nobody else waiting in line behind the one who finds it", async () => {
    await server().raw("RPUSH", "s", "something");
    const semaphore = server().client().getSemaphore("s");
    const waiting = [1, 1, 2].map((permits) => semaphore.acquire(permits).catch((error: unknown) => error));
    for (const error of await Promise.all(waiting)) expect(error).toBeInstanceOf(WrongTypeError);
  });

  test.each(calls)("that is text without a number is refused and left alone: %s", async (_, call) => {
    await server().raw("SET", "s", "many");
    const error = await errorOf(() => call(server().client().getSemaphore("s")));
    expect(error).toMatchObject({ code: expect.stringMatching(/^ERR_HOLDFAST_/) });
    expect(await server().raw("GET", "s")).toBe("many");
  });
});
