import { describe, expect, test } from "vitest";
import type { HoldfastOptions } from "../../src/client-options.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { memoryDriver } from "../../src/memory/index.js";
import type { PermitOptions } from "../../src/options.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const DAY_MS = 24 * 3_600_000;
const wrong: readonly (readonly [what: string, options: object, error: typeof TypeError, message: string])[] =
  [
    ["a watchdogMs below a second", { watchdogMs: 999 }, RangeError, "from 1000 to 86400000, got 999"],
    ["a watchdogMs over a day", { watchdogMs: DAY_MS + 1 }, RangeError, "watchdogMs must be a whole number"],
    ["an endless watchdogMs", { watchdogMs: Number.POSITIVE_INFINITY }, RangeError, "got Infinity"],
    ["a fraction", { watchdogMs: 1_000.5 }, RangeError, "watchdogMs"],
    ["a watchdogMs that is text", { watchdogMs: "1000" }, TypeError, "watchdogMs must be a number"],
    ["a watchdogMs that is null", { watchdogMs: null }, TypeError, "watchdogMs must be a number"],
    [
      "leaseMs and watchdogMs",
      { leaseMs: 1, watchdogMs: 1_000 },
      TypeError,
      "leaseMs and watchdogMs exclude",
    ],
    ["a note that is a number", { note: 42 }, TypeError, "note must be a string, got 42"],
    ["a note that is null", { note: null }, TypeError, "note must be a string, got null"],
    ["a note of 201 characters", { note: "n".repeat(201) }, RangeError, "at most 200 characters, got 201"],
    ["a misspelt option", { watchdogTimeout: 1_000 }, TypeError, "Did you mean watchdogMs?"],
  ];

describe("options of a lock", () => {
  test.each(wrong)("%s is refused before anything is sent", async (_, options, error, message) => {
    const { holdfast, driver } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    const locks: readonly Lock[] = [a, holdfast.getFairLock("c"), holdfast.getMultiLock(a, b)];
    for (const lock of locks) {
      for (const call of [() => lock.lock(options), () => lock.tryLock(options)]) {
        await expect(call()).rejects.toThrow(error);
        await expect(call()).rejects.toThrow(message);
      }
      await expect(lock.using(options, () => 1)).rejects.toThrow(message);
      await expect(lock.tryUsing(options, () => 1)).rejects.toThrow(message);
    }
    expect(driver.sent).toEqual([]);
  });

  test("at the ends of their ranges are taken, and undefined is as none", async () => {
    const { holdfast, ttlMs } = open();
    const lock = holdfast.getLock("a");
    const options = { watchdogMs: DAY_MS, maxHoldMs: 1_000, note: "n".repeat(200) };
    expect(await lock.using(options, () => ttlMs("a"))).toBe(DAY_MS);
    expect(await lock.using({ watchdogMs: 1_000, note: "" }, () => ttlMs("a"))).toBe(1_000);
    const none = { watchdogMs: undefined, note: undefined };
    expect(await lock.using({ ...none, leaseMs: 700 }, () => ttlMs("a"))).toBe(700);
  });

  test("a note changes nothing of what is sent", async () => {
    const { holdfast, driver } = open();
    const lock = holdfast.getLock("a");
    await lock.using({ note: "invoice 42" }, () => undefined);
    const args = driver.calls.map(({ call }) => call.args.join(" "));
    expect(args.filter((text) => text.includes("invoice"))).toEqual([]);
    expect(driver.sent.map(({ script }) => script)).toEqual(["server-probe", "lock-acquire", "lock-release"]);
  });
});

test.each([
  [{ note: 42 }, TypeError],
  [{ note: "n".repeat(201) }, RangeError],
  [{ watchdogMs: 1_000 }, TypeError],
] as const)("permits with %o are refused", async (options, error) => {
  const { holdfast, driver } = open();
  const semaphore = holdfast.getPermitExpirableSemaphore("a");
  await expect(semaphore.acquire(options as PermitOptions)).rejects.toThrow(error);
  await expect(semaphore.tryAcquire(options as PermitOptions)).rejects.toThrow(error);
  expect(driver.sent).toEqual([]);
});

test.each([[7], ["around"], [null], [{}], [true]])("an around that is %o is refused", (around) => {
  const options = { around } as unknown as HoldfastOptions;
  expect(() => new Holdfast(memoryDriver(), options)).toThrow(TypeError);
  expect(() => new Holdfast(memoryDriver(), options)).toThrow("around must be a function");
});
