import { describe, expect, test } from "vitest";
import { ClientClosedError, InvalidNameError } from "../../src/errors.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type PermitExpirableSemaphore, permitTime } from "../support/worlds/permit-time.js";

watchLeaks();
const open = permitTime();
const ID = "0123456789abcdef0123456789abcdef";

type Call = (of: PermitExpirableSemaphore) => unknown;

/** What no type would let through. */
const wrong = (value: unknown) => value as never;

const typeErrors: readonly (readonly [string, Call])[] = [
  ["permits that are no number", (of) => of.acquire(wrong("1"))],
  ["permits that are null", (of) => of.tryAcquire(wrong(null))],
  ["a total that is no number", (of) => of.setPermits(wrong("3"))],
  ["a first total that is no number", (of) => of.trySetPermits(wrong(undefined))],
  ["added permits that are no number", (of) => of.addPermits(wrong("3"))],
  ["a lease that the watchdog is to renew", (of) => of.acquire({ watchdog: true, leaseMs: 1_000 })],
  ["the longest time to hold without the watchdog", (of) => of.acquire({ maxHoldMs: 1_000 })],
  ["the longest time to hold a fixed lease", (of) => of.acquire({ leaseMs: 500, maxHoldMs: 1_000 })],
  ["a watchdog that is neither true nor false", (of) => of.acquire({ watchdog: wrong("yes") })],
  ["an option that there is not", (of) => of.tryAcquire(1, wrong({ lease: 1_000 }))],
  ["a signal that is none", (of) => of.acquire({ signal: wrong({}) })],
  ["a lease that is no number", (of) => of.acquire({ leaseMs: wrong("1000") })],
  ["an option of a setting that there is not", (of) => of.trySetPermits(1, wrong({ ttl: 5 }))],
  ["an id that is no text", (of) => of.tryRelease(wrong(7))],
  ["a list with something else in it", (of) => of.release(wrong([ID, null]))],
  ["an id whose lease is asked for that is no text", (of) => of.getLeaseTime(wrong(undefined))],
  ["a new lease that is no number", (of) => of.updateLeaseTime(ID, wrong("1000"))],
  ["a body that is none", (of) => of.using(wrong("body"))],
  ["no body", (of) => of.using(wrong(1), wrong({}))],
];

const rangeErrors: readonly (readonly [string, Call])[] = [
  ["no permits", (of) => of.acquire(0)],
  ["less than no permits", (of) => of.tryAcquire(-1)],
  ["a part of a permit", (of) => of.acquire(1.5)],
  ["more permits than one call may take", (of) => of.acquire(1_001)],
  ["permits that are not a number", (of) => of.using(Number.NaN, () => undefined)],
  ["a negative total", (of) => of.setPermits(-1)],
  ["a greater total than Java's", (of) => of.trySetPermits(2 ** 31)],
  ["a part of a permit to add", (of) => of.addPermits(0.5)],
  ["more to add than there may be", (of) => of.addPermits(2 ** 31)],
  ["no lease at all", (of) => of.acquire({ leaseMs: 0 })],
  ["a negative wait", (of) => of.tryAcquire({ waitMs: -1 })],
  ["no time to hold", (of) => of.acquire({ watchdog: true, maxHoldMs: 0 })],
  ["no time to live", (of) => of.trySetPermits(1, { ttlMs: 0 })],
  ["a new lease of nothing", (of) => of.updateLeaseTime(ID, 0)],
  ["a new lease in fractions", (of) => of.updateLeaseTime(ID, 1.5)],
];

const malformedIds: readonly (readonly [string, Call])[] = [
  "",
  "xyz",
  `${ID}0`,
  ID.slice(1),
  `${ID.slice(1)}g`,
].flatMap((id) => [
  [`release("${id}")`, (of: PermitExpirableSemaphore) => of.release(id)] as const,
  [`tryRelease with "${id}" in a list`, (of: PermitExpirableSemaphore) => of.tryRelease([ID, id])] as const,
  [`updateLeaseTime("${id}")`, (of: PermitExpirableSemaphore) => of.updateLeaseTime(id, 1_000)] as const,
  [`getLeaseTime("${id}")`, (of: PermitExpirableSemaphore) => of.getLeaseTime(id)] as const,
]);

describe("is refused at the door, and nothing is sent", () => {
  async function refusal(call: Call): Promise<unknown> {
    const { semaphore, driver } = open();
    const answer = await (async () => call(semaphore))().then(
      (value) => ({ value }),
      (error: unknown) => error,
    );
    expect(driver.names).toEqual([]);
    return answer;
  }

  test.each(typeErrors)("with a TypeError: %s", async (_, call) => {
    expect(await refusal(call)).toBeInstanceOf(TypeError);
  });

  test.each(rangeErrors)("with a RangeError: %s", async (_, call) => {
    expect(await refusal(call)).toBeInstanceOf(RangeError);
  });

  test.each(malformedIds)("what can be no id: %s", async (_, call) => {
    expect(await refusal(call)).toSatisfy(
      (error) => error instanceof TypeError || error instanceof RangeError,
    );
  });

  test("with an InvalidNameError: a name that is none", () => {
    const { holdfast } = open();
    for (const name of ["", undefined, 7]) {
      expect(() => holdfast.getPermitExpirableSemaphore(wrong(name))).toThrow(InvalidNameError);
    }
  });
});

test("every call of a closed client is rejected with ClientClosedError, and nothing is sent", async () => {
  const { connect } = open();
  const { holdfast, driver } = connect();
  const semaphore = holdfast.getPermitExpirableSemaphore("a");
  await holdfast.close();
  const calls: readonly Call[] = [
    (of) => of.trySetPermits(1),
    (of) => of.setPermits(1),
    (of) => of.addPermits(1),
    (of) => of.acquire(),
    (of) => of.tryAcquire(),
    (of) => of.using(() => "never"),
    (of) => of.release(ID),
    (of) => of.tryRelease(ID),
    (of) => of.availablePermits(),
    (of) => of.acquiredPermits(),
    (of) => of.getPermits(),
    (of) => of.updateLeaseTime(ID, 1_000),
    (of) => of.getLeaseTime(ID),
    (of) => of.delete(),
  ];
  for (const call of calls)
    await expect((async () => call(semaphore))()).rejects.toBeInstanceOf(ClientClosedError);
  expect(driver.names).toEqual([]);
});
