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
  "lock: lock()": [4, 136, 47, 9],
  "lock: unlock()": [4, 105, 38, 5],
  "lock: tryLock() that is refused": [4, 116, 37, 8],
  "lock: lock() of another client, until it sleeps": [12, 146, 45, 11],
  "lock: unlock(), message, entry of the other client": [8, 175, 51, 10],
  "lock: lock() of the same client, until it sleeps": [5, 137, 45, 11],
  "lock: unlock() that hands over, entry of the next": [8, 157, 46, 9],
  "lock with a chosen id: lock()": [4, 155, 50, 10],
  "lock with a chosen id: unlock()": [11, 115, 39, 4],
  "non-reentrant lock: lock()": [4, 136, 47, 9],
  "non-reentrant lock: unlock()": [4, 105, 38, 5],
  "spin lock: lock()": [4, 138, 48, 10],
  "spin lock: unlock()": [4, 104, 37, 5],
  "fenced lock: lock()": [4, 142, 48, 9],
  "fenced lock: unlock()": [4, 104, 37, 5],
  "fair lock: lock()": [4, 141, 47, 9],
  "fair lock: unlock()": [4, 112, 38, 5],
  "read lock: lock()": [4, 143, 48, 9],
  "read lock: unlock()": [11, 113, 37, 4],
  "write lock: lock()": [4, 141, 48, 9],
  "write lock: unlock()": [4, 111, 38, 5],
  "multi lock of two: lock()": [14, 164, 47, 11],
  "multi lock of two: unlock()": [13, 128, 39, 7],
  "red lock of three: lock()": [14, 176, 50, 13],
  "red lock of three: unlock()": [22, 122, 39, 7],
  "lock: using()": [11, 207, 57, 13],
  "lock: using() in using()": [32, 261, 60, 14],
  "semaphore: acquire()": [3, 129, 36, 6],
  "semaphore: tryAcquire() that is refused": [3, 117, 33, 6],
  "semaphore: acquire() of another client, until it sleeps": [10, 138, 38, 6],
  "semaphore: message, entry of the other client": [3, 113, 34, 6],
  "semaphore: release()": [8, 67, 23, 3],
  "semaphore: using()": [19, 152, 39, 6],
  "leased permit: acquire()": [3, 149, 43, 9],
  "leased permit: tryAcquire() that is refused": [3, 124, 36, 8],
  "leased permit: acquire() of another client, until it sleeps": [10, 145, 41, 8],
  "leased permit: message, entry of the other client": [3, 129, 41, 9],
  "leased permit: release()": [12, 87, 30, 4],
  "leased permit: using()": [18, 198, 50, 10],
  "latch: await() of an open one": [10, 86, 27, 3],
  "latch: await() of another client, until it sleeps": [24, 101, 29, 3],
  "latch: message, entry of the other client": [10, 78, 25, 3],
};

const counted = new Map<string, PathCosts>();

beforeAll(async () => {
  const program = spawnProgram("path-costs", { named: false });
  expect(await program.exited).toEqual({ code: 0, signal: null });
  for (const { name, costs } of program.events) counted.set(String(name), costs as PathCosts);
});

describe("what a call crosses", () => {
  test.each(Object.entries(walks))(
    "is counted exactly: %s",
    (name, [promises, functions, files, deciding]) => {
      expect(counted.get(name)).toEqual({ promises, functions, files, deciding });
    },
  );

  test("is known of each call that was made", () => {
    expect([...counted.keys()]).toEqual(Object.keys(walks));
  });
});
