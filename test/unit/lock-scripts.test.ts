import { beforeEach, describe, expect, test } from "vitest";
import { lockForceUnlock } from "../../src/protocol/force-unlock-scripts.js";
import type { AcquireAnswer, AcquireItem, Release, ReleaseAnswer } from "../../src/protocol/lock-calls.js";
import {
  lockAcquire,
  lockConfirm,
  lockKeep,
  lockRelease,
  lockRenew,
  lockSucceed,
} from "../../src/protocol/lock-scripts.js";
import { fencingTokenKey } from "../../src/protocol/names.js";
import { ScriptServer } from "../support/servers/script-server.js";

const NEVER = Number.MAX_SAFE_INTEGER;
const NO_LIMIT = 0;
const LONG_AGO = 1;
const CHANNEL = "channel";
const TOKEN = fencingTokenKey("a");
const LEASE_MS = 5_000;

let server: ScriptServer;
beforeEach(() => {
  server = new ScriptServer(CHANNEL);
});

function holds(key: string, holder: string, count: number | string = 1, ttlMs = 60_000): void {
  server.raw("HSET", key, holder, count);
  server.raw("PEXPIRE", key, ttlMs);
}

function stored(key: string): readonly unknown[] {
  return [server.raw("HGETALL", key), server.raw("PTTL", key)];
}

const NOTHING = [[], -2];

function acquisitionOf(keys: readonly string[], options: Partial<AcquireItem> = {}): readonly AcquireItem[] {
  const lock = { holder: "me", leaseMs: LEASE_MS, heldCount: 0, kin: "", waits: false, fenced: false };
  return keys.map((key) => ({ key, ...lock, channel: CHANNEL, ...options }));
}

function acquire(
  keys: readonly string[],
  options: Partial<AcquireItem> = {},
  call: { readonly together?: boolean; readonly notAfterMs?: number } = {},
): readonly AcquireAnswer[] {
  return server.run(lockAcquire, { notAfterMs: NEVER, ...call, locks: acquisitionOf(keys, options) });
}

function releaseOf(keys: readonly string[], options: Partial<Release> = {}): readonly Release[] {
  const counts = { heldCount: 1, keptCount: 0, ttlMs: LEASE_MS, keptMs: [] };
  return keys.map((key) => ({ key, holder: "me", ...counts, channel: CHANNEL, ...options }));
}

function release(
  keys: readonly string[],
  options: Partial<Release> = {},
  notAfterMs = NO_LIMIT,
): readonly ReleaseAnswer[] {
  return server.run(lockRelease, { notAfterMs, locks: releaseOf(keys, options) });
}

const held = { status: "held" };
const lost = { status: "lost" };
const late = { status: "late" };
const absent = { status: "absent" };
const released = { status: "released" };
/** The lock falls sooner than before: only the first of two like it finds that. */
const sooner = { ...released, sooner: true };

describe("locks that are wanted together", () => {
  test("are all taken, or none", () => {
    holds("b", "another");
    expect(acquire(["a", "b", "c"], {}, { together: true })).toEqual([
      { status: "free" },
      { status: "busy", ttlMs: 60_000, holder: "another" },
      { status: "free" },
    ]);
    expect([stored("a"), stored("c")]).toEqual([NOTHING, NOTHING]);
    server.raw("DEL", "b");
    expect(acquire(["a", "b"], {}, { together: true })).toEqual([held, held]);
    expect(stored("b")).toEqual([["me", "1"], LEASE_MS]);
  });

  test("are none taken when the last of them is not to be had", () => {
    holds("b", "another");
    expect(acquire(["a", "b"], {}, { together: true })).toMatchObject([
      { status: "free" },
      { status: "busy", holder: "another" },
    ]);
    expect(stored("a")).toEqual(NOTHING);
  });
});

describe("a lock", () => {
  test("that is free is taken with its lease, each of several by itself", () => {
    holds("b", "another");
    const busy = { status: "busy", ttlMs: 60_000, holder: "another" };
    expect(acquire(["a", "b", "c"])).toEqual([held, busy, held]);
    for (const key of ["a", "c"]) expect(stored(key)).toEqual([["me", "1"], LEASE_MS]);
  });

  test.each([false, true])("that somebody has is told with its TTL and its holder (fenced: %s)", (fenced) => {
    holds("a", "another");
    expect(acquire(["a"], { fenced })).toEqual([{ status: "busy", ttlMs: 60_000, holder: "another" }]);
    server.raw("PERSIST", "a");
    expect(acquire(["a"], { fenced })).toEqual([{ status: "busy", ttlMs: -1, holder: "another" }]);
    expect(server.raw("EXISTS", TOKEN)).toBe(0);
  });

  test("is not entered once more by one who has lost it, nor taken by a late command", () => {
    expect(acquire(["a"], { heldCount: 1 })).toEqual([lost]);
    expect(acquire(["a"], {}, { notAfterMs: LONG_AGO })).toEqual([late]);
    expect(acquire(["a"], { fenced: true }, { notAfterMs: LONG_AGO })).toEqual([late]);
    expect(stored("a")).toEqual(NOTHING);
  });

  test.each([
    ["1", { status: "miscounted", holdCount: "1" }, "1"],
    ["2", held, "3"],
    ["3", held, "3"],
    ["4", { status: "miscounted", holdCount: "4" }, "4"],
  ])("is entered by one who had it twice when %s is stored: %o", (count, answer, after) => {
    holds("a", "me", count);
    expect(acquire(["a"], { heldCount: 2 })).toEqual([answer]);
    expect(server.raw("HGET", "a", "me")).toBe(after);
  });

  test("is refused by a full server", () => {
    server.full(true);
    const refused = { status: "refused", message: expect.stringContaining("OOM") };
    expect(acquire(["a"])).toEqual([refused]);
    expect(acquire(["a"], { fenced: true })).toEqual([refused]);
    server.full(false);
    server.raw("SET", TOKEN, "7");
    server.full(true);
    expect(acquire(["a"], { fenced: true })).toEqual([refused]);
    expect(stored("a")).toEqual(NOTHING);
  });
});

describe("an answer is one number, as a list costs more,", () => {
  const taken = (keys: readonly string[], options?: Partial<AcquireItem>) =>
    server.answer(lockAcquire, { notAfterMs: NEVER, locks: acquisitionOf(keys, options) });
  const freed = (keys: readonly string[], notAfterMs = NO_LIMIT) =>
    server.answer(lockRelease, { notAfterMs, locks: releaseOf(keys) });

  test("the server's time, when all locks were free and none has a counter", () => {
    const nowMs = server.clock.wallMs();
    expect(taken(["a"])).toBe(nowMs);
    expect(taken(["b", "c"])).toBe(nowMs);
    expect(taken(["d", "a"], { holder: "another" })).toEqual([nowMs, "held", ["busy", LEASE_MS, "me"]]);
    expect(taken(["e"], { fenced: true })).toEqual([nowMs, ["held", "1"]]);
    expect(taken(["b", "f"])).toEqual([nowMs, "held", "held"]);
  });

  test("how many heard of each, when all were freed and no time was asked for", () => {
    const nowMs = server.clock.wallMs();
    for (const key of ["a", "b", "c", "d", "e"]) holds(key, "me");
    expect(freed(["a"])).toBe(1);
    expect(freed(["b", "c"])).toBe(1);
    expect(freed(["d", "a", "e"])).toEqual([0, 1, "absent", 1]);
    holds("a", "me");
    expect(freed(["a"], NEVER)).toEqual([nowMs, 1]);
    holds("a", "me");
    holds("b", "me");
    const [here, ...elsewhere] = releaseOf(["a", "b"]);
    const locks = [here, ...elsewhere.map((lock) => ({ ...lock, channel: "nobody listens" }))];
    expect(server.answer(lockRelease, { notAfterMs: NO_LIMIT, locks: locks as Release[] })).toEqual([
      0, 1, 0,
    ]);
  });

  test("the server's time, when the lock was handed to the next one", () => {
    holds("a", "me");
    const next = { notAfterMs: NEVER, key: "a", leaseMs: LEASE_MS, successor: "next", predecessors: ["me"] };
    expect(server.answer(lockSucceed, next)).toBe(server.clock.wallMs());
    server.raw("DEL", "a");
    expect(server.answer(lockSucceed, next)).toEqual([server.clock.wallMs(), "lost"]);
  });
});

describe("the counter of a fenced lock", () => {
  test("never ends", () => {
    server.raw("SET", TOKEN, "7", "PX", 1_000);
    expect(acquire(["a"], { fenced: true })).toEqual([{ status: "held", token: 8n }]);
    expect(server.raw("PTTL", TOKEN)).toBe(-1);
  });

  test("that is something else, be it text for a number, is told", () => {
    server.raw("HSET", TOKEN, "field", "value");
    expect(acquire(["a"], { fenced: true })).toEqual([{ status: "wrong-type", type: "hash" }]);
    server.raw("DEL", TOKEN);
    server.raw("SET", TOKEN, "text");
    expect(acquire(["a"], { fenced: true })).toEqual([{ status: "wrong-type", type: "string" }]);
    expect(stored("a")).toEqual(NOTHING);
  });
});

describe("a release", () => {
  test("of the last hold tells how many heard of it", async () => {
    holds("a", "me");
    expect(release(["a", "b"])).toEqual([{ status: "released", heard: 1 }, absent]);
    expect(stored("a")).toEqual(NOTHING);
    expect(await server.heard()).toEqual(["0"]);
  });

  test.each([false, true])(
    "of an inner hold leaves the others as long as they last (the server is full: %s)",
    (isFull) => {
      holds("a", "me", 3);
      server.full(isFull);
      const inner = { heldCount: 3, keptCount: 2 };
      for (const expected of [sooner, released]) expect(release(["a"], inner)).toEqual([expected]);
      expect(stored("a")).toEqual([["me", "2"], LEASE_MS]);
      expect(release(["b"], inner)).toEqual([absent]);
    },
  );

  test.each([
    ["sooner is told, once [own-97]", LEASE_MS + 100, sooner, ["0"]],
    ["hardly sooner is told to nobody", LEASE_MS + 99, released, []],
    ["later is told to nobody", LEASE_MS - 1_000, released, []],
  ])("of an inner hold after which the lock falls %s", async (_, ttlMs, first, heard) => {
    holds("a", "me", 3, ttlMs);
    const inner = { heldCount: 3, keptCount: 2 };
    for (const expected of [first, released]) expect(release(["a"], inner)).toEqual([expected]);
    expect(await server.heard()).toEqual(heard);
  });

  test("that is late changes nothing", () => {
    holds("a", "me", 2);
    expect(release(["a"], {}, LONG_AGO)).toEqual([late]);
    expect(release(["a"], { heldCount: 2, keptCount: 1 }, LONG_AGO)).toEqual([late]);
    expect(stored("a")).toEqual([["me", "2"], 60_000]);
    expect(release(["a"], {}, NEVER)).toEqual([{ status: "released", heard: 1 }]);
  });

  test("of something else tells so, and keeps no other from being freed", () => {
    server.raw("SET", "a", "text");
    holds("b", "me");
    const wrong = { status: "wrong-type", type: "string" };
    expect(release(["a", "b"])).toEqual([wrong, { status: "released", heard: 1 }]);
    expect(release(["a"], { heldCount: 2, keptCount: 1 })).toEqual([wrong]);
    expect(server.raw("GET", "a")).toBe("text");
  });
});

describe("a release that keeps the lock", () => {
  const ME = "client:7";
  const KEPT = ["client:0", "1"];
  const keep = (keys: readonly string[], notAfterMs = NO_LIMIT) =>
    server.run(lockKeep, { notAfterMs, locks: releaseOf(keys, { holder: ME, keepForMs: 500 }) });

  test.each([false, true])(
    "leaves a field of no thread, and tells that the lock falls sooner, once (the server is full: %s) [own-97]",
    async (isFull) => {
      holds("a", ME, 3);
      server.full(isFull);
      for (const first of [sooner, released]) expect(keep(["a", "b"])).toEqual([first, absent]);
      expect(stored("a")).toEqual([KEPT, 500]);
      expect(await server.heard()).toEqual(["0"]);
    },
  );

  test.each([
    ["no sooner", 500],
    ["hardly sooner", 599],
  ])("after which the lock falls %s tells nobody", async (_, ttlMs) => {
    holds("a", ME, 1, ttlMs);
    expect(keep(["a"])).toEqual([released]);
    expect([stored("a"), await server.heard()]).toEqual([[KEPT, 500], []]);
  });

  test("of a lock that had no TTL tells that it has one [own-97]", async () => {
    server.raw("HSET", "a", ME, 1);
    expect(keep(["a"])).toEqual([sooner]);
    expect([stored("a"), await server.heard()]).toEqual([[KEPT, 500], ["0"]]);
  });

  test("that is repeated answers the same, and prolongs nothing", () => {
    holds("a", "client:0", 1, 100);
    expect(keep(["a"])).toEqual([released]);
    expect(stored("a")).toEqual([KEPT, 100]);
  });

  test("that comes when the key has ended, or another one has it, makes nothing", () => {
    holds("a", "client:8");
    expect(keep(["a", "b"])).toEqual([absent, absent]);
    expect([stored("a"), stored("b")]).toEqual([[["client:8", "1"], 60_000], NOTHING]);
  });

  test("that is late changes nothing", () => {
    holds("a", ME);
    expect(keep(["a"], LONG_AGO)).toEqual([late]);
    expect(stored("a")).toEqual([[ME, "1"], 60_000]);
    expect(keep(["a"], NEVER)).toEqual([sooner]);
  });

  test("of something else tells so", () => {
    server.raw("SET", "a", "text");
    expect(keep(["a"])).toEqual([{ status: "wrong-type", type: "string" }]);
  });
});

describe("a renewal", () => {
  test("answers for each lock by itself where one is lost", () => {
    holds("a", "me", 1, 1_000);
    holds("c", "me", 1, 60_000);
    const locks = ["a", "b", "c"].map((key) => ({ key, holder: "me", leaseMs: LEASE_MS, holdMs: [] }));
    const renewed = { status: "renewed" };
    expect(server.run(lockRenew, locks)).toEqual([renewed, lost, renewed]);
    expect([stored("a")[1], stored("c")[1]]).toEqual([LEASE_MS, 60_000]);
  });
});

describe("a succession", () => {
  const succeed = (notAfterMs = NEVER) =>
    server.run(lockSucceed, {
      notAfterMs,
      key: "a",
      leaseMs: LEASE_MS,
      successor: "next",
      predecessors: ["gone", "me"],
    });

  test("lets the next one have the lock with its own lease, and a repeat prolongs it", async () => {
    holds("a", "me", 2, 1_000);
    expect(succeed()).toEqual(held);
    expect(stored("a")).toEqual([["next", "1"], LEASE_MS]);
    await server.clock.advance(1_000);
    expect(succeed()).toEqual(held);
    expect(stored("a")).toEqual([["next", "1"], LEASE_MS]);
  });

  test("is told when it is late, and when nobody has what was to be followed", () => {
    expect(succeed()).toEqual(lost);
    holds("a", "another");
    expect(succeed()).toEqual(lost);
    holds("a", "me");
    expect(succeed(LONG_AGO)).toEqual(late);
    server.raw("DEL", "a");
    server.raw("SET", "a", "text");
    expect(succeed()).toEqual({ status: "wrong-type", type: "string" });
  });
});

describe("a question whether locks are held still", () => {
  const renewed = { status: "renewed" };
  const confirm = (...locks: readonly (readonly [key: string, holders: string[], slots: number[]])[]) =>
    server.run(
      lockConfirm,
      locks.map(([key, holders, slots]) => ({ key, holders, slots })),
    );

  test.each([false, true])("finds each of those who may have them (the server is full: %s)", (isFull) => {
    holds("a", "me");
    holds("b", "next", 2);
    server.full(isFull);
    const before = [stored("a"), stored("b")];
    const may = ["me", "other", "next"];
    expect(confirm(["a", may, []], ["missing", may, []], ["b", may, []])).toEqual([renewed, lost, renewed]);
    expect([stored("a"), stored("b")]).toEqual(before);
    expect(confirm(["a", ["other"], []])).toEqual([lost]);
  });

  test("asks for the key of each hold of a reader", () => {
    holds("a", "me", 2);
    holds("b", "me");
    const call = lockConfirm.encode([{ key: "a", holders: ["me"], slots: [1, 2] }]);
    const [, first, second] = call.keys as [string, string, string];
    server.raw("SET", first, "1");
    const ask = () => confirm(["a", ["me"], [1, 2]], ["b", ["me"], []]);
    expect(ask()).toEqual([lost, renewed]);
    server.raw("SET", second, "1");
    expect(ask()).toEqual([renewed, renewed]);
  });
});

describe("freeing by force", () => {
  test("tells those who wait", async () => {
    holds("a", "me");
    const call = { key: "a", notAfterMs: NEVER, channel: CHANNEL, seen: { me: "1" } };
    expect(server.run(lockForceUnlock, call)).toEqual({ status: "released" });
    expect(await server.heard()).toEqual(["0"]);
  });
});
