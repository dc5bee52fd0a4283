import { beforeAll, describe, expect, test } from "vitest";
import type { PathCosts } from "../support/programs/path-costs.js";
import { spawnProgram } from "../support/worlds/child.js";

/**
 * What a call crosses between its caller and the driver: promises, functions, files, and those of the files that decide. A change
 * of the engine is to lower them, or to say why not.
 */
const walks: Readonly<
  Record<string, readonly [promises: number, functions: number, files: number, deciding: number]>
> = {
  "lock: lock()": [4, 114, 43, 9],
  "lock: unlock()": [4, 84, 33, 5],
  "lock: tryLock() that is refused": [4, 98, 33, 8],
  "lock: lock() of another client, until it sleeps": [19, 155, 46, 11],
  "lock: unlock(), message, entry of the other client": [8, 175, 52, 10],
  "lock: lock() of the same client, until it sleeps": [5, 141, 45, 11],
  "lock: unlock() that hands over, entry of the next": [10, 161, 47, 10],
  "lock with a chosen id: lock()": [4, 133, 46, 10],
  "lock with a chosen id: unlock()": [4, 93, 34, 4],
  "non-reentrant lock: lock()": [4, 114, 43, 9],
  "non-reentrant lock: unlock()": [4, 84, 33, 5],
  "spin lock: lock()": [4, 116, 44, 10],
  "spin lock: unlock()": [4, 84, 33, 5],
  "fenced lock: lock()": [4, 121, 44, 9],
  "fenced lock: unlock()": [4, 84, 33, 5],
  "fair lock: lock()": [4, 122, 44, 9],
  "fair lock: unlock()": [4, 94, 35, 5],
  "read lock: lock()": [4, 123, 44, 9],
  "read lock: unlock()": [4, 92, 33, 4],
  "write lock: lock()": [4, 121, 44, 9],
  "write lock: unlock()": [4, 91, 34, 5],
  "multi lock of two: lock()": [14, 146, 43, 12],
  "multi lock of two: unlock()": [13, 106, 34, 7],
  "red lock of three: lock()": [14, 157, 47, 14],
  "red lock of three: unlock()": [22, 101, 34, 7],
  "lock: using()": [11, 189, 53, 13],
  "lock: using() in using()": [25, 231, 56, 14],
  "semaphore: acquire()": [3, 114, 32, 6],
  "semaphore: tryAcquire() that is refused": [3, 103, 28, 6],
  "semaphore: release() that nobody hears": [8, 51, 17, 3],
  "semaphore: using() that nobody hears": [19, 137, 34, 6],
  "semaphore: acquire() of another client, until it sleeps": [10, 140, 39, 6],
  "semaphore: message, entry of the other client": [3, 107, 34, 6],
  // From now on its releases look into the queue.
  "semaphore: release()": [8, 53, 19, 3],
  // As one that knows of others.
  "semaphore: using()": [19, 148, 36, 7],
  "leased permit: using() that nobody hears": [18, 182, 45, 10],
  "leased permit: acquire()": [3, 134, 39, 9],
  "leased permit: tryAcquire() that is refused": [3, 110, 31, 8],
  "leased permit: acquire() of another client, until it sleeps": [10, 147, 42, 8],
  "leased permit: message, entry of the other client": [3, 123, 41, 9],
  "leased permit: release()": [12, 72, 26, 4],
  "leased permit: using()": [18, 193, 47, 11],
  "latch: await() of an open one": [10, 71, 22, 3],
  "latch: await() of another client, until it sleeps": [24, 104, 30, 3],
  "latch: message, entry of the other client": [10, 72, 24, 3],
};

const counted = new Map<string, PathCosts>();
/** With presence. */
const present = new Map<string, PathCosts>();

async function count(presence: boolean, counts: Map<string, PathCosts>): Promise<void> {
  const program = spawnProgram("path-costs", { named: false, presence });
  expect(await program.exited).toEqual({ code: 0, signal: null });
  for (const { name, costs } of program.events) counts.set(String(name), costs as PathCosts);
}

beforeAll(() => Promise.all([count(false, counted), count(true, present)]));

/**
 * How many functions more a call crosses that had to wait, or was refused, as presence counts it, and calls of plain semaphores, whose
 * permits it counts. No other call crosses any.
 */
const counting: Readonly<Record<string, number>> = {
  "semaphore: acquire()": 1,
  "semaphore: release()": 2,
  "semaphore: release() that nobody hears": 2,
  "semaphore: using()": 3,
  "semaphore: using() that nobody hears": 3,
  "lock: tryLock() that is refused": 3,
  "lock: unlock(), message, entry of the other client": 3,
  "lock: unlock() that hands over, entry of the next": 3,
  "semaphore: tryAcquire() that is refused": 3,
  "semaphore: message, entry of the other client": 3,
  "leased permit: tryAcquire() that is refused": 3,
  "leased permit: message, entry of the other client": 2,
};

/** It is counted as a wait and as permits that were taken: in two files. Any other call in one. */
const countedTwice = "semaphore: message, entry of the other client";
/** A release that is counted waits for its answer first. */
const countedLater: Readonly<Record<string, number>> = {
  "semaphore: release()": 2,
  "semaphore: release() that nobody hears": 2,
  "semaphore: using()": 2,
  "semaphore: using() that nobody hears": 2,
};

describe("what a call crosses", () => {
  test.each(Object.entries(walks))(
    "is counted exactly: %s",
    (name, [promises, functions, files, deciding]) => {
      expect(counted.get(name)).toEqual({ promises, functions, files, deciding });
    },
  );

  test.each(Object.keys(walks))(
    "is the same with presence, but for what counts waits and refusals: %s",
    (name) => {
      const { functions = 0, files = 0, promises = 0, ...others } = counted.get(name) ?? {};
      const { [name]: more = 0 } = counting;
      const { [name]: later = 0 } = countedLater;
      const costs = {
        ...others,
        promises: promises + later,
        functions: functions + more,
        files: files + Math.min(more, name === countedTwice ? 2 : 1),
      };
      expect(present.get(name)).toEqual(costs);
    },
  );

  test("is known of each call that was made", () => {
    expect([...counted.keys()]).toEqual(Object.keys(walks));
  });
});
