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
  "lock: lock()": [4, 144, 44, 11],
  "lock: unlock()": [4, 92, 35, 5],
  "lock: tryLock() that is refused": [4, 112, 32, 8],
  "lock: lock() of another client, until it sleeps": [12, 149, 43, 11],
  "lock: unlock(), message, entry of the other client": [8, 182, 52, 12],
  "lock: lock() of the same client, until it sleeps": [5, 138, 43, 11],
  "lock: unlock() that hands over, entry of the next": [10, 171, 47, 12],
  "lock with a chosen id: lock()": [4, 163, 47, 12],
  "lock with a chosen id: unlock()": [11, 102, 36, 4],
  "non-reentrant lock: lock()": [4, 144, 44, 11],
  "non-reentrant lock: unlock()": [4, 92, 35, 5],
  "spin lock: lock()": [4, 146, 45, 12],
  "spin lock: unlock()": [4, 90, 33, 5],
  "fenced lock: lock()": [4, 151, 45, 11],
  "fenced lock: unlock()": [4, 90, 33, 5],
  "fair lock: lock()": [4, 146, 44, 11],
  "fair lock: unlock()": [4, 101, 34, 5],
  "read lock: lock()": [4, 154, 45, 11],
  "read lock: unlock()": [11, 101, 33, 4],
  "write lock: lock()": [4, 152, 45, 11],
  "write lock: unlock()": [4, 99, 34, 5],
  "multi lock of two: lock()": [14, 157, 42, 12],
  "multi lock of two: unlock()": [13, 113, 35, 7],
  "red lock of three: lock()": [14, 178, 49, 15],
  "red lock of three: unlock()": [22, 108, 35, 7],
  "lock: using()": [11, 215, 55, 15],
  "lock: using() in using()": [32, 267, 57, 16],
  "semaphore: acquire()": [3, 122, 31, 6],
  "semaphore: tryAcquire() that is refused": [3, 103, 28, 6],
  "semaphore: acquire() of another client, until it sleeps": [10, 134, 36, 6],
  "semaphore: message, entry of the other client": [3, 106, 32, 6],
  "semaphore: release()": [8, 51, 18, 3],
  "semaphore: using()": [19, 145, 34, 6],
  "leased permit: acquire()": [3, 142, 38, 9],
  "leased permit: tryAcquire() that is refused": [3, 110, 31, 8],
  "leased permit: acquire() of another client, until it sleeps": [10, 141, 39, 8],
  "leased permit: message, entry of the other client": [3, 122, 39, 9],
  "leased permit: release()": [12, 71, 25, 4],
  "leased permit: using()": [18, 192, 45, 10],
  "latch: await() of an open one": [10, 80, 22, 3],
  "latch: await() of another client, until it sleeps": [24, 97, 27, 3],
  "latch: message, entry of the other client": [10, 72, 23, 3],
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
