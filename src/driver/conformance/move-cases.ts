import { notStrictEqual, ok, strictEqual } from "node:assert";
import { systemClock } from "../../clock.js";
import { type ConformanceCase, conformanceCase, evaluate, script } from "./conformance-case.js";

const increment = script("increment", 'return redis.call("INCR", KEYS[1])');

const PAUSE_MS = 10;

/** The promises of `onMoved` and `lookForMoves`. */
export const moveCases: readonly ConformanceCase[] = [
  conformanceCase(
    "reports that a key has moved, even to a client that sends nothing to the key, and names the new server by then",
    ["move-key"],
    async (stage, harness) => {
      const driver = await stage.connect();
      const key = stage.key("counter");
      ok(driver.placeOf && driver.onMoved, "the driver does not report moves");
      strictEqual(await evaluate(driver, increment, [key]), 1);
      const before = driver.placeOf(key);
      const places: string[] = [];
      let tellsAnother = 0;
      const end = driver.onMoved(() => places.push(driver.placeOf?.(key) ?? ""));
      const endOther = driver.onMoved(() => {
        tellsAnother += 1;
      });
      endOther();
      endOther();
      await harness.moveKey?.(key);
      while (places.at(-1) === undefined || places.at(-1) === before) {
        await driver.lookForMoves?.();
        await new Promise<void>((resolve) => systemClock.schedule(PAUSE_MS, resolve, true));
      }
      notStrictEqual(driver.placeOf(key), before);
      strictEqual(await evaluate(driver, increment, [key]), 2);
      strictEqual(tellsAnother, 0, "the removed callback is not called");
      end();
    },
  ),

  conformanceCase("looks for moves without an error, even once it is closed", ["move-key"], async (stage) => {
    const driver = await stage.connect();
    await driver.lookForMoves?.();
    await driver.close();
    await driver.lookForMoves?.();
  }),
];
