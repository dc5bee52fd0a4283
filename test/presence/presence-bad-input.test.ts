import { expect, test } from "vitest";
import { Holdfast, type HoldfastOptions } from "../../src/index.js";
import { MemoryServer, memoryDriver } from "../../src/memory/index.js";

type Wrong = readonly [presence: unknown, error: new (...args: never[]) => Error, words: string];

const wrong: readonly Wrong[] = [
  ["yes", TypeError, "presence must be an object"],
  [null, TypeError, "presence must be an object"],
  [{ callSites: true }, TypeError, 'no setting "callSites" of presence'],
  [{ every: 5 }, TypeError, "Did you mean everyMs?"],
  [{ app: 5 }, TypeError, "presence.app must be a string, got 5"],
  [{ app: "x".repeat(65) }, RangeError, "presence.app must have at most 64 characters, got 65"],
  [{ host: true }, TypeError, "presence.host must be false or left out, got true"],
  [{ host: "machine" }, TypeError, "presence.host must be false or left out"],
  [{ labels: "eu" }, TypeError, "presence.labels must be an object"],
  [{ labels: { region: 5 } }, TypeError, "presence.labels.region must be a string"],
  [
    { labels: { region: "x".repeat(129) } },
    RangeError,
    "presence.labels.region must have at most 128 characters",
  ],
  [
    { labels: { ["k".repeat(33)]: "x" } },
    RangeError,
    "a key of presence.labels must have at most 32 characters",
  ],
  [
    { labels: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`l${at}`, ""])) },
    RangeError,
    "presence.labels must be a whole number from 0 to 16, got 17",
  ],
  [{ group: 5 }, TypeError, "presence.group must be a string"],
  [{ group: "" }, RangeError, "presence.group must be 1 to 64 letters"],
  [{ group: "a{b}" }, RangeError, "presence.group must be 1 to 64 letters"],
  [{ group: "x".repeat(65) }, RangeError, "presence.group must be 1 to 64 letters"],
  [{ everyMs: "5s" }, TypeError, "presence.everyMs must be a number"],
  [{ everyMs: 999 }, RangeError, "presence.everyMs must be a whole number from 1000 to 60000, got 999"],
  [{ everyMs: 60_001 }, RangeError, "got 60001"],
  [{ everyMs: 1_000.5 }, RangeError, "got 1000.5"],
  [{ redact: "*" }, TypeError, "presence.redact must be a function"],
];

test.each(wrong)("presence %j is refused at the door", (presence, error, words) => {
  const make = () => new Holdfast(memoryDriver(), { presence } as HoldfastOptions);
  expect(make).toThrow(error);
  expect(make).toThrow(words);
});

test.each<Wrong>([
  [{ group: "a b" }, RangeError, "group must be 1 to 64 letters"],
  [{ group: 5 }, TypeError, "group must be a string"],
  [{ signal: 5 }, TypeError, "signal must be an AbortSignal"],
  [{ groups: "a" }, TypeError, "Did you mean group?"],
  [null, TypeError, "options must be an object"],
])("fleet(%j) is refused, and asks nothing", async (options, error, words) => {
  const server = new MemoryServer();
  server.evaluate = () => {
    throw new Error("it asks");
  };
  const holdfast = new Holdfast(memoryDriver(server));
  const reading = holdfast.fleet(options as never);
  await expect(reading).rejects.toThrow(error);
  await expect(reading).rejects.toThrow(words);
  await holdfast.close();
});
