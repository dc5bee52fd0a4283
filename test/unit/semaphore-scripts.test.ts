import { beforeEach, describe, expect, test } from "vitest";
import { countLook, latchCountDown } from "../../src/protocol/count-scripts.js";
import { countTrySet } from "../../src/protocol/later-count-scripts.js";
import { savedPermitsKey } from "../../src/protocol/names.js";
import type { PermitWish } from "../../src/protocol/permit-calls.js";
import { semaphoreAcquire, semaphoreAdd, semaphoreCancel } from "../../src/protocol/semaphore-scripts.js";
import { ScriptServer } from "../support/servers/script-server.js";
import { newRequest, short } from "../support/worlds/count-requests.js";

const COUNT = "s";
const CHANNEL = "channel";
const SAVED = savedPermitsKey(COUNT);
const UNKNOWN = -1;
const MOST = 2 ** 31 - 1;

let server: ScriptServer;

beforeEach(() => {
  server = new ScriptServer(CHANNEL);
});

function wish(permits: number, options: Partial<PermitWish> = {}): PermitWish {
  const lot = { permits, ids: [], leaseMs: 0 };
  return {
    count: COUNT,
    request: newRequest(),
    channel: CHANNEL,
    owner: "me",
    saveMs: 0,
    ...lot,
    ...options,
  };
}

const acquire = (...wanted: Parameters<typeof wish>) => server.run(semaphoreAcquire, wish(...wanted));
const add = (permits: number) => server.run(semaphoreAdd, { ...wish(permits), mustExist: false, most: MOST });
const stored = () => server.raw("GET", COUNT);
const saveUp = (owner: string) =>
  server.raw("SET", SAVED, `${owner}:2:${server.clock.wallMs()}`, "PX", 3_000);

describe("one who wants more permits than there are", () => {
  test("is told whether there is a semaphore, and when the saving for another ends", () => {
    expect(acquire(1)).toEqual(short(0, UNKNOWN, 0, 0));
    server.raw("SET", COUNT, 2);
    expect(acquire(3)).toEqual(short(2, UNKNOWN, 0, 1));
    saveUp("another");
    expect(acquire(1)).toEqual(short(2, 3_000, 0, 1));
  });

  test("has permits saved up, and is not told of the end of that", () => {
    server.raw("SET", COUNT, 1);
    for (const _ of ["first", "again"]) {
      expect(acquire(2, { saveMs: 3_000 })).toEqual(short(1, UNKNOWN, 1, 1));
    }
  });

  test("tells the others of what is there when it has none saved up any more", async () => {
    server.raw("SET", COUNT, 1);
    acquire(2);
    expect(await server.heard()).toEqual([]);
    saveUp("me");
    acquire(2);
    expect(await server.heard()).toEqual(["1"]);
  });

  test("has none saved up any more once it got them", () => {
    server.raw("SET", COUNT, 2);
    saveUp("me");
    expect(acquire(2)).toEqual({ status: "granted", available: 0 });
    expect(server.raw("GET", SAVED)).toBe(`-:0:${server.clock.wallMs()}`);
  });
});

describe("a wish for permits that is taken back", () => {
  test("tells the others of what was granted or saved up for it, and of nothing else", async () => {
    server.raw("SET", COUNT, 2);
    server.run(semaphoreCancel, wish(1));
    expect(await server.heard()).toEqual([]);
    const granted = wish(1);
    server.run(semaphoreAcquire, granted);
    server.run(semaphoreCancel, granted);
    expect(await server.heard()).toEqual(["2"]);
    saveUp("me");
    server.run(semaphoreCancel, wish(1));
    expect(await server.heard()).toEqual(["2"]);
  });

  test("gives back what was granted on a full server, and what was saved up", async () => {
    server.raw("SET", COUNT, 2);
    const granted = wish(1);
    server.run(semaphoreAcquire, granted);
    server.full(true);
    expect(server.run(semaphoreCancel, granted)).toEqual({ status: "cancelled" });
    expect(await server.heard()).toEqual(["2"]);
    saveUpOnFullServer();
    server.run(semaphoreCancel, wish(1));
    expect(server.raw("GET", SAVED)).toBe(`-:0:${server.clock.wallMs()}`);
  });

  function saveUpOnFullServer(): void {
    server.full(false);
    saveUp("me");
    server.full(true);
  }
});

describe("a number", () => {
  /** The test listens. */
  const ADDED = { status: "added", waiting: 1 };
  const COUNTED = { status: "counted" };

  test("has a bound, which it may reach", () => {
    server.raw("SET", COUNT, MOST - 1);
    expect([add(1), stored()]).toEqual([ADDED, String(MOST)]);
    expect(add(1)).toEqual({ status: "too-many", available: MOST });
    expect([add(-1), stored()]).toEqual([ADDED, String(MOST - 1)]);
  });

  test("is told and raised on a full server", async () => {
    server.raw("SET", COUNT, 2);
    server.full(true);
    const set = { count: COUNT, request: newRequest(), value: 5, ttlMs: 0, channel: CHANNEL, message: "" };
    expect(server.run(countTrySet, set)).toEqual({ status: "kept" });
    expect([add(1), stored()]).toEqual([ADDED, "3"]);
    expect(await server.heard()).toEqual(["3"]);
  });

  test("is none that a double can not tell from the next", () => {
    server.raw("SET", COUNT, String(2n ** 53n - 1n));
    expect(server.run(countLook, { count: COUNT })).toEqual({
      status: "count",
      value: Number.MAX_SAFE_INTEGER,
    });
    server.raw("SET", COUNT, String(2n ** 53n));
    expect(server.run(countLook, { count: COUNT })).toEqual({
      why: "wrong-type",
      type: "string",
    });
  });

  test("of a latch opens it at 0, which is told once", async () => {
    const countDown = () =>
      server.run(latchCountDown, { count: COUNT, request: newRequest(), channel: CHANNEL });
    server.raw("SET", COUNT, 2);
    expect([countDown(), stored()]).toEqual([COUNTED, "1"]);
    expect(await server.heard()).toEqual([]);
    expect([countDown(), stored()]).toEqual([COUNTED, null]);
    expect(await server.heard()).toEqual(["0"]);
    expect([countDown(), stored()]).toEqual([COUNTED, null]);
    expect(await server.heard()).toEqual([]);
  });
});
