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
  "lock: unlock() that hands over, entry of the next": [8, 172, 48, 11],
  "lock with a chosen id: lock()": [4, 185, 52, 12],
  "lock with a chosen id: unlock()": [11, 123, 41, 4],
  "non-reentrant lock: lock()": [4, 166, 49, 11],
  "non-reentrant lock: unlock()": [4, 113, 40, 5],
  "spin lock: lock()": [4, 168, 50, 12],
  "spin lock: unlock()": [4, 111, 38, 5],
  "fenced lock: lock()": [4, 172, 50, 11],
  "fenced lock: unlock()": [4, 111, 38, 5],
  "fair lock: lock()": [4, 166, 49, 11],
  "fair lock: unlock()": [4, 119, 39, 5],
  "read lock: lock()": [4, 174, 50, 11],
  "read lock: unlock()": [11, 120, 38, 4],
  "write lock: lock()": [4, 172, 50, 11],
  "write lock: unlock()": [4, 118, 39, 5],
  "multi lock of two: lock()": [14, 175, 48, 12],
  "multi lock of two: unlock()": [13, 135, 40, 7],
  "red lock of three: lock()": [14, 196, 52, 15],
  "red lock of three: unlock()": [22, 129, 40, 7],
  "lock: using()": [11, 238, 60, 15],
  "lock: using() in using()": [32, 290, 62, 16],
  "leased permit: acquire()": [33, 148, 41, 6],
  "leased permit: release()": [15, 84, 29, 4],
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
