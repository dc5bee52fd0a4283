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
  "lock: lock()": [4, 166, 49, 11],
  "lock: unlock()": [4, 113, 40, 5],
  "lock: tryLock() that is refused": [4, 133, 37, 8],
  "lock: lock() of another client, until it sleeps": [12, 162, 45, 11],
  "lock: unlock(), message, entry of the other client": [8, 200, 54, 12],
  "lock: lock() of the same client, until it sleeps": [5, 153, 45, 11],
  "lock: unlock() that hands over, entry of the next": [10, 182, 49, 12],
  "lock with a chosen id: lock()": [4, 185, 52, 12],
  "lock with a chosen id: unlock()": [11, 123, 41, 4],
  "non-reentrant lock: lock()": [4, 166, 49, 11],
  "non-reentrant lock: unlock()": [4, 113, 40, 5],
  "spin lock: lock()": [4, 168, 50, 12],
  "spin lock: unlock()": [4, 111, 38, 5],
  "fenced lock: lock()": [4, 172, 50, 11],
  "fenced lock: unlock()": [4, 111, 38, 5],
  "fair lock: lock()": [4, 165, 49, 11],
  "fair lock: unlock()": [4, 119, 39, 5],
  "read lock: lock()": [4, 174, 50, 11],
  "read lock: unlock()": [11, 120, 38, 4],
  "write lock: lock()": [4, 172, 50, 11],
  "write lock: unlock()": [4, 118, 39, 5],
  "multi lock of two: lock()": [14, 174, 47, 12],
  "multi lock of two: unlock()": [13, 135, 40, 7],
  "red lock of three: lock()": [14, 196, 52, 15],
  "red lock of three: unlock()": [22, 129, 40, 7],
  "lock: using()": [11, 238, 60, 15],
  "lock: using() in using()": [32, 290, 62, 16],
  "semaphore: acquire()": [3, 138, 36, 6],
  "semaphore: tryAcquire() that is refused": [3, 119, 33, 6],
  "semaphore: acquire() of another client, until it sleeps": [10, 144, 38, 6],
  "semaphore: message, entry of the other client": [3, 118, 34, 6],
  "semaphore: release()": [8, 67, 23, 3],
  "semaphore: using()": [19, 161, 39, 6],
  "leased permit: acquire()": [3, 158, 43, 9],
  "leased permit: tryAcquire() that is refused": [3, 126, 36, 8],
  "leased permit: acquire() of another client, until it sleeps": [10, 151, 41, 8],
  "leased permit: message, entry of the other client": [3, 134, 41, 9],
  "leased permit: release()": [12, 87, 30, 4],
  "leased permit: using()": [18, 208, 50, 10],
  "latch: await() of an open one": [10, 95, 27, 3],
  "latch: await() of another client, until it sleeps": [24, 106, 29, 3],
  "latch: message, entry of the other client": [10, 83, 25, 3],
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
