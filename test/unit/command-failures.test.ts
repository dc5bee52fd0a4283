import { expect, test } from "vitest";
import { DriverClosedError } from "../../src/driver/driver.js";
import type { UnavailableError } from "../../src/errors.js";
import { memoryDriver } from "../../src/memory/index.js";
import { CommandFailures, isOver } from "../../src/runtime/command-failures.js";

test("a Redis client that has ended is over, also when its connection was reset before", () => {
  const outage = new Error("read ECONNRESET");
  const failures = new CommandFailures(Object.create(memoryDriver(), { outage: { value: outage } }));
  const error = failures.final(
    new DriverClosedError(),
    { doubtful: 0, isOpen: true },
    {},
  ) as UnavailableError;
  expect([error.cause, isOver(error)]).toEqual([outage, true]);
});
