import { until } from "./until.js";

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
