import { describe, expect, test } from "vitest";
import type { ClientPresence, Fleet, ListedHolder, ListedLock } from "../../src/index.js";
import { Looks } from "../../src/watch/looks.js";

const A = "00000000-0000-8000-8000-00000000000a";
const B = "00000000-0000-8000-8000-00000000000b";

function client(id: string, told: Partial<ClientPresence> = {}): ClientPresence {
  const more = { holds: 0, waits: 0, stats: 0 };
  const meta = {
    app: "billing",
    host: "web-7",
    pid: Number.parseInt(id.slice(-1), 16),
    startedMs: 0,
    lib: "holdfast",
    runtime: "node",
    labels: {},
  };
  const live = { holds: [], waits: [], stats: [], acquired: 0, lost: [], more };
  return { id, state: "there", lastSeenMs: 1_000, everyMs: 5_000, ...meta, ...live, ...told };
}

function fleet(...clients: ClientPresence[]): Fleet {
  return { atMs: 0, group: "default", clients, truncated: false };
}

function holder(by: ClientPresence | null, told: Partial<ListedHolder> = {}): ListedHolder {
  const { id = "4e7e0b1c-0000-4000-8000-000000000000", app = "", host = null, pid = null } = by ?? {};
  const { state = "there", lastSeenMs = 0, labels = {} } = by ?? {};
  const ref = by === null ? null : { id, app, host, pid, state, lastSeenMs, labels };
  const known = { holder: `${id}:1`, count: 1, sinceMs: null, renewed: true, note: null };
  return { ...known, by: by === null ? "jvm" : "holdfast", client: ref, ...told };
}

function lock(key: string, holders: readonly ListedHolder[], told: Partial<ListedLock> = {}): ListedLock {
  const more = { holders: 0, waiting: 0 };
  return {
    key,
    name: key,
    kind: "lock",
    ttlMs: 30_000,
    token: null,
    sources: ["presence"],
    holders,
    waiting: [],
    more,
    ...told,
  };
}

const waiter = { holder: null, client: null, forMs: 5, note: null };

describe("what has changed between two looks", () => {
  test("is nothing at the first look", () => {
    const seen = new Looks().seen([lock("a", [holder(client(A))])], fleet(client(A)), 0);
    expect([seen.changes, seen.locks.map(({ key, flags }) => [key, flags])]).toEqual([[], [["a", []]]]);
  });

  test("is what was taken, freed, handed over, and waited for", () => {
    const looks = new Looks();
    const [a, b] = [holder(client(A)), holder(client(B))];
    const group = fleet(client(A), client(B));
    looks.seen([lock("passed", [a]), lock("freed", [a]), lock("left", [a]), lock("wanted", [a])], group, 0);
    const { changes } = looks.seen(
      [
        lock("passed", [b]),
        lock("freed", [], { waiting: [waiter] }),
        lock("taken", [b]),
        lock("wanted", [a], { waiting: [waiter] }),
      ],
      group,
      2_000,
    );
    const told = changes.map(({ type, key, holders, before, waiting }) => [
      type,
      key,
      holders.length,
      before.length,
      waiting,
    ]);
    expect(told).toEqual([
      ["handed-over", "passed", 1, 1, 0],
      ["freed", "freed", 0, 1, 1],
      ["taken", "taken", 1, 0, 0],
      ["queue", "wanted", 1, 1, 1],
      ["freed", "left", 0, 1, 0],
    ]);
    expect(
      looks.seen([lock("passed", [b])], group, 4_000).changes.map(({ type, key }) => [type, key]),
    ).toEqual([
      ["freed", "taken"],
      ["freed", "wanted"],
    ]);
  });

  test("is each loss that a client tells of, once [X8]", () => {
    const looks = new Looks();
    const lost = (agoMs: number, lastSeenMs = 0) =>
      client(A, { lastSeenMs, lost: [{ key: "a", reason: "unreachable", agoMs }] });
    looks.seen([], fleet(client(A)), 0);
    const told = (seen: ClientPresence, nowMs: number) =>
      looks
        .seen([], fleet(seen), nowMs)
        .changes.map(({ type, key, reason, client }) => [type, key, reason, client]);
    expect(told(lost(2_300, 2_000), 4_000)).toEqual([["lost", "a", "unreachable", A]]);
    expect(told(lost(4_300, 4_000), 6_000)).toEqual([]);
    // It has told anew, and that took a while.
    expect(told(lost(5_000), 8_000)).toEqual([]);
    expect(told(lost(100), 12_000)).toEqual([["lost", "a", "unreachable", A]]);
  });
});

describe("a lock of a client that is gone", () => {
  const gone = client(A, { state: "gone", lastSeenMs: 20_000 });
  const well = [client(B), client("00000000-0000-8000-8000-00000000000c")];
  const held = (ttlMs: number, holders = [holder(gone)]) => [lock("a", holders, { ttlMs })];
  const flagsOf = ({ locks }: ReturnType<Looks["seen"]>) => locks[0]?.flags;

  test("is stale once its TTL was seen to fall for longer than a watchdog needs to raise it", () => {
    const looks = new Looks();
    const group = fleet(gone, ...well);
    expect(flagsOf(looks.seen(held(29_000), group, 0))).toEqual([]);
    expect(flagsOf(looks.seen(held(24_000), group, 5_000))).toEqual([]);
    const seen = looks.seen(held(18_000), group, 11_000);
    expect([flagsOf(seen), seen.changes.map(({ type }) => type)]).toEqual([["stale"], ["stale"]]);
    const later = looks.seen(held(16_000), group, 13_000);
    expect([flagsOf(later), later.changes]).toEqual([["stale"], []]);
  });

  test("is not while the TTL is raised, for then its holder lives, and only its presence is lost", () => {
    const looks = new Looks();
    const group = fleet(gone, ...well);
    looks.seen(held(29_000), group, 0);
    looks.seen(held(29_500), group, 10_000);
    expect(flagsOf(looks.seen(held(19_500), group, 20_000))).toEqual([]);
    expect(flagsOf(looks.seen(held(18_000), group, 21_500))).toEqual(["stale"]);
  });

  test("is not when another has it by then, a JVM has a part in it, or a client that is there", () => {
    for (const holders of [
      [holder(gone, { holder: `${A}:2` })],
      [holder(gone), holder(null)],
      [holder(gone), holder(client(B))],
    ]) {
      const looks = new Looks();
      const isNew = holders.length === 1;
      looks.seen(held(29_000, isNew ? undefined : holders), fleet(gone, ...well), 0);
      expect(flagsOf(looks.seen(held(17_000, holders), fleet(gone, ...well), 12_000))).toEqual([]);
    }
  });

  test("is not when most of its group fell silent at once: then presence itself has failed", () => {
    const others = ["1", "2"].map((end) =>
      client(`00000000-0000-8000-8000-00000000000${end}`, { state: "gone", lastSeenMs: 25_000 }),
    );
    for (const [clients, isUnwell] of [
      [[gone, ...others, ...well], true],
      [[gone, ...others.map((other) => ({ ...other, lastSeenMs: 600_000 })), ...well], false],
      [[gone], false],
      // Of one process.
      [[gone, ...others.map((other) => ({ ...other, pid: gone.pid }))], false],
    ] as const) {
      const looks = new Looks();
      looks.seen(held(29_000), fleet(...clients), 0);
      const seen = looks.seen(held(17_000), fleet(...clients), 12_000);
      expect([seen.presenceIsUnwell, flagsOf(seen)]).toEqual([isUnwell, isUnwell ? [] : ["stale"]]);
    }
  });
});

describe("the flags of a held lock", () => {
  test("say that it never falls, that nothing renews it, and that its holder may have it for so long only", () => {
    const flags = { renewed: true, handedOff: false, permanent: false };
    const hold = { kind: "lock", count: 1, ageMs: 9, ...flags, note: null, ids: [] };
    const capped = client(A, { holds: [{ ...hold, key: "capped", threadId: 1, capped: true }] });
    const { locks } = new Looks().seen(
      [
        lock("endless", [holder(null, { renewed: null })], { ttlMs: -1 }),
        lock("fixed", [holder(client(B), { renewed: false })]),
        lock("capped", [holder(capped)]),
        lock("waited", [], { ttlMs: -2, waiting: [waiter] }),
        lock("permits", [holder(client(B))], { kind: "permit-expirable-semaphore", ttlMs: -1 }),
      ],
      fleet(capped, client(B)),
      0,
    );
    expect(locks.map(({ key, flags }) => [key, flags])).toEqual([
      ["endless", ["no-ttl"]],
      ["fixed", ["fixed"]],
      ["capped", ["max-hold"]],
      ["waited", []],
      ["permits", []],
    ]);
  });
});
