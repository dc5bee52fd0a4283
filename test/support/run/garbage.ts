import { afterEach, beforeEach } from "vitest";
import { environment, replaceEnvironment } from "../../../src/environment.js";
import { until } from "./until.js";

/**
 * For the tests of a file: no lease is given up because the test keeps it nowhere. Otherwise that depends on when garbage is collected. All
 * are told as garbage after each test, and after the hooks that are registered later.
 */
export function forgetNothing(): void {
  const tells: (() => void)[] = [];
  let putBack: () => void;
  beforeEach(() => {
    putBack = replaceEnvironment({ ...environment, whenForgotten: (_, tell) => void tells.push(tell) });
  });
  afterEach(() => {
    for (const tell of tells) tell();
    tells.length = 0;
    putBack();
  });
}

/** Collects garbage until that has shown. */
export async function untilCollected(shown: () => boolean): Promise<void> {
  await until(() => {
    if (globalThis.gc === undefined) throw new Error("this test needs --expose-gc");
    globalThis.gc();
    return shown();
  });
}

/**
 * Collects garbage until something that was forgotten before is gone, so that everything else of its age is: twice, as a
 * lease is watched only once a collection has met it.
 */
export async function collectAll(): Promise<void> {
  for (let rounds = 0; rounds < 2; rounds++) {
    const forgotten = (() => new WeakRef({}))();
    await untilCollected(() => forgotten.deref() === undefined);
    // Whoever asked to be told of it is told in later turns.
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
  }
}
