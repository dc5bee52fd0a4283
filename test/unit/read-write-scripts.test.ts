import { beforeEach, describe, expect, test } from "vitest";
import type { AcquireAnswer, AcquireItem } from "../../src/protocol/lock-calls.js";
import { waitingWriterKey } from "../../src/protocol/names.js";
import { MARK_MS, readAcquire, readRelease, writeAcquire } from "../../src/protocol/read-write-scripts.js";
import { ScriptServer } from "../support/servers/script-server.js";

const NEVER = Number.MAX_SAFE_INTEGER;
const LONG_AGO = 1;
const WRITER = "me:write";
const MARK = waitingWriterKey("a");

let server: ScriptServer;
beforeEach(() => {
  server = new ScriptServer("channel");
});

interface Call {
  readonly fair?: boolean;
  readonly together?: boolean;
  readonly notAfterMs?: number;
}

function acquisitions(
  keys: readonly string[],
  holder: string,
  options: Partial<AcquireItem>,
): readonly AcquireItem[] {
  const lock = { holder, leaseMs: 5_000, heldCount: 0, kin: "", waits: true, fenced: false };
  return keys.map((key) => ({ key, ...lock, channel: "channel", ...options }));
}

function write(
  keys: readonly string[],
  options: Partial<AcquireItem> = {},
  { fair = true, notAfterMs = NEVER, together = false }: Call = {},
): readonly AcquireAnswer[] {
  const locks = acquisitions(keys, WRITER, options);
  return server.run(writeAcquire(fair), { notAfterMs, together, locks });
}

function read(
  keys: readonly string[],
  options: Partial<AcquireItem> = {},
  { fair = true, notAfterMs = NEVER, together = false }: Call = {},
): readonly AcquireAnswer[] {
  const locks = acquisitions(keys, "me", options);
  return server.run(readAcquire(fair), { notAfterMs, together, locks });
}

const someoneReads = (key: string) => {
  const locks = acquisitions([key], "another", {});
  server.run(readAcquire(true), { notAfterMs: NEVER, locks });
};

const mark = () => [server.raw("GET", MARK), server.raw("PTTL", MARK)];
const NO_MARK = [null, -2];

describe("the mark of a writer that waits", () => {
  test("is made for one that is refused and waits, in a fair lock, and goes when it enters", () => {
    someoneReads("a");
    expect(write(["a"])).toMatchObject([{ status: "busy", holder: "another" }]);
    expect(mark()).toEqual([WRITER, MARK_MS]);
    server.raw("DEL", "a");
    expect(write(["a"])).toEqual([{ status: "held" }]);
    expect(mark()).toEqual(NO_MARK);
  });

  test("is not made for any other", () => {
    expect(write(["a"], {}, { notAfterMs: LONG_AGO })).toEqual([{ status: "late" }]);
    expect(write(["a"], { heldCount: 1 })).toEqual([{ status: "lost" }]);
    someoneReads("a");
    expect(write(["a"], { waits: false })).toMatchObject([{ status: "busy" }]);
    expect(write(["a"], {}, { fair: false })).toMatchObject([{ status: "busy" }]);
    expect(mark()).toEqual(NO_MARK);
  });

  test("keeps new readers out of a fair lock, and out of no other", () => {
    server.raw("SET", MARK, WRITER, "PX", 3_000);
    expect(read(["a"])).toEqual([{ status: "busy", ttlMs: 3_000, holder: WRITER }]);
    expect(read(["a"], {}, { fair: false })).toEqual([{ status: "held" }]);
    // One who reads already enters once more.
    expect(read(["a"], { heldCount: 1 })).toEqual([{ status: "held" }]);
  });

  test("stays when another writer enters", () => {
    server.raw("SET", MARK, "another:write", "PX", 3_000);
    expect(write(["a"])).toEqual([{ status: "held" }]);
    expect(mark()).toEqual(["another:write", 3_000]);
  });
});

describe("a writer's lock that it also reads", () => {
  function releaseInnerRead(ttlMs: number): number {
    expect(write(["a"])).toEqual([{ status: "held" }]);
    for (const heldCount of [0, 1]) {
      expect(read(["a"], { heldCount, kin: WRITER })).toEqual([{ status: "held" }]);
    }
    server.raw("PEXPIRE", "a", ttlMs);
    const counts = { heldCount: 2, keptCount: 1, ttlMs: 5_000, keptMs: [5_000] };
    const locks = [{ key: "a", holder: "me", ...counts, channel: "channel" }];
    expect(server.run(readRelease, { notAfterMs: 0, locks })).toEqual([{ status: "released" }]);
    return Number(server.raw("PTTL", "a"));
  }

  test("lives on for as long as the read that stays, and never for a shorter time", () => {
    expect(releaseInnerRead(1_000)).toBe(5_000);
    server.raw("DEL", "a");
    expect(releaseInnerRead(60_000)).toBe(60_000);
  });
});

describe("a reader that leaves others behind", () => {
  const leave = () => {
    const counts = { heldCount: 1, keptCount: 0, ttlMs: 1, keptMs: [] };
    const locks = [{ key: "a", holder: "me", ...counts, channel: "channel" }];
    return server.run(readRelease, { notAfterMs: 0, locks });
  };

  test.each([
    ["tells waiters of a lock that falls in half the time [own-97]", 10_000, ["0"]],
    ["does not wake them each time that one of many readers leaves", 9_499, []],
  ])("%s", async (_, leaseMs, heard) => {
    someoneReads("a");
    expect(read(["a"], { leaseMs })).toEqual([{ status: "held" }]);
    expect(leave()).toEqual([{ status: "released" }]);
    expect([server.raw("PTTL", "a"), await server.heard()]).toEqual([5_000, heard]);
  });
});

describe("locks that are wanted together are all taken, or none", () => {
  test.each([
    ["to write", write],
    ["to read", read],
  ])("%s", (_, acquire) => {
    server.raw("HSET", "b", "mode", "write", "another:write", 1);
    server.raw("PEXPIRE", "b", 60_000);
    const [free, held] = [{ status: "free" }, { status: "held" }];
    const busy = { status: "busy", ttlMs: 60_000, holder: "another:write" };
    expect(acquire(["a", "b", "c"], {}, { together: true })).toEqual([free, busy, free]);
    expect(acquire(["a", "b"], {}, { together: true })).toEqual([free, busy]);
    expect([server.raw("EXISTS", "a"), server.raw("EXISTS", "c")]).toEqual([0, 0]);
    server.raw("DEL", "b");
    expect(acquire(["a", "b"], {}, { together: true })).toEqual([held, held]);
  });
});
