import type { ClientRef, ListedHolder } from "holdfast";
import type { WatchedLock } from "holdfast/watch";
import { describe, expect, test } from "vitest";
import { exactName } from "../src/find/exact-name.js";
import { listColumns } from "../src/ls/list-columns.js";
import { type ListOptions, listSettings } from "../src/ls/list-options.js";
import { select } from "../src/ls/selection.js";
import { tellSearch, tellSources } from "../src/ls/tell-search.js";

const client = (app: string, more: Partial<ClientRef> = {}): ClientRef => ({
  id: `319b0b1c-0000-8001-8000-${app.padStart(12, "0")}`,
  app,
  host: "web-7",
  pid: 7,
  state: "there",
  lastSeenMs: 0,
  labels: { region: "eu" },
  ...more,
});

const holder = (of: ClientRef | null, more: Partial<ListedHolder> = {}): ListedHolder => ({
  holder: `${of?.id ?? "4e7e0b1c-0000-4000-8000-000000000000"}:57`,
  count: 1,
  by: of === null ? "jvm" : "holdfast",
  client: of,
  sinceMs: null,
  renewed: null,
  note: null,
  ...more,
});

const lock = (name: string, more: Partial<WatchedLock> = {}): WatchedLock => ({
  key: name,
  name,
  kind: "lock",
  ttlMs: 28_000,
  token: null,
  sources: ["presence"],
  holders: [holder(client("api"), { sinceMs: 41_000 })],
  waiting: [],
  more: { holders: 0, waiting: 0 },
  listeners: 0,
  flags: [],
  ...more,
});

const cells = (of: WatchedLock) => listColumns.map(({ text }) => text(of));

describe("a row of ls", () => {
  test("tells name, kind, holder, age, lease, waiters and flags", () => {
    const waiting = [12_000, 3_000].map((forMs) => ({
      holder: null,
      client: client("b"),
      forMs,
      note: null,
    }));
    expect(cells(lock("order:42", { waiting, flags: ["stale", "fixed"] }))).toEqual([
      "order:42",
      "lock",
      "api@web-7 pid 7",
      "41 s",
      "28 s",
      "2, longest 12 s",
      "stale fixed",
    ]);
  });

  test("names of several holders the one that has had it longest", () => {
    const holders = [
      holder(client("a"), { sinceMs: 1_000 }),
      holder(client("b"), { sinceMs: 9_000, count: 2 }),
      holder(null),
    ];
    const [, , by, since] = cells(lock("a", { holders, more: { holders: 5, waiting: 0 } }));
    expect([by, since]).toEqual(["b@web-7 pid 7 ×2 and 7 more", "9 s"]);
  });

  test.each<[string, Partial<WatchedLock>, readonly string[]]>([
    [
      "a JVM's",
      { holders: [holder(null)], kind: "fair-lock" },
      ["fair", "JVM 4e7e…:57", "-", "28 s", "-", ""],
    ],
    [
      "one without a TTL",
      { ttlMs: -1, flags: ["no-ttl"] },
      ["lock", "api@web-7 pid 7", "41 s", "no end", "-", "no-ttl"],
    ],
    [
      "a semaphore, which never ends",
      { ttlMs: -1, kind: "semaphore" },
      ["semaphore", "api@web-7 pid 7", "41 s", "-", "-", ""],
    ],
    [
      "one that JVMs wait for",
      { listeners: 2 },
      ["lock", "api@web-7 pid 7", "41 s", "28 s", "2 listening", ""],
    ],
    [
      "a free one with a queue",
      {
        holders: [],
        ttlMs: -2,
        kind: "fair-lock",
        waiting: [{ holder: "x:1", client: null, forMs: null, note: null }],
      },
      ["fair", "-", "-", "-", "1 in the queue", ""],
    ],
    [
      "one that is kept",
      { holders: [holder(client("api"), { holder: `${client("api").id}:0` })] },
      ["lock", "kept for api@web-7 pid 7", "-", "28 s", "-", "kept"],
    ],
  ])("of %s", (_, of, expected) => {
    expect(cells(lock("a", of)).slice(1)).toEqual(expected);
  });
});

const settings = (options: Partial<ListOptions> = {}, pattern?: string) =>
  listSettings({ sort: "age", ...options }, pattern);
const names = (locks: readonly WatchedLock[], options: Partial<ListOptions> = {}) =>
  select(locks, settings(options)).locks.map(({ name }) => name);
const aged = (name: string, sinceMs: number | null, more: Partial<WatchedLock> = {}) =>
  lock(name, { holders: [holder(client(name), { sinceMs })], ...more });
const waits = (count: number) =>
  Array.from({ length: count }, () => ({ holder: null, client: client("w"), forMs: 1, note: null }));

describe("which locks ls lists", () => {
  const locks = [
    aged("new", 1_000, { waiting: waits(3) }),
    aged("unknown", null),
    aged("old", 90_000, { waiting: waits(1) }),
    aged("abc", null),
  ];

  test("come in the order that was asked for, those of unknown age at last", () => {
    expect(names(locks)).toEqual(["old", "new", "abc", "unknown"]);
    expect(names(locks, { sort: "waiting" })).toEqual(["new", "old", "abc", "unknown"]);
    expect(names(locks, { sort: "name" })).toEqual(["abc", "new", "old", "unknown"]);
  });

  test("are those that fit all filters", () => {
    expect(names(locks, { olderThan: "1m" })).toEqual(["old"]);
    expect(names(locks, { waiting: true })).toEqual(["old", "new"]);
    expect(names([...locks, aged("heard", 1, { listeners: 1 })], { waiting: true })).toContain("heard");
    expect(names([...locks, aged("s", 1, { flags: ["stale"] })], { stale: true })).toEqual(["s"]);
    expect(names(locks, { client: "OLD@web" })).toEqual(["old"]);
    expect(names(locks, { client: "w" })).toEqual(["old", "new", "abc", "unknown"]);
    expect(names(locks, { client: "region=eu", olderThan: "1s" })).toEqual(["old", "new"]);
    expect(names(locks, { client: "nothing" })).toEqual([]);
    const hostless = lock("hostless", { holders: [holder(client("api", { host: null }))] });
    expect(names([hostless], { client: "null" })).toEqual([]);
  });

  test("are 50 as text and all as JSON, unless it is said how many", () => {
    const many = Array.from({ length: 60 }, (_, at) => aged(`n${at}`, at));
    const count = (options: Partial<ListOptions>) => {
      const { locks: listed, more } = select(many, settings(options));
      return [listed.length, more];
    };
    expect([count({}), count({ json: true }), count({ limit: 7 }), count({ json: true, limit: 7 })]).toEqual([
      [50, 10],
      [60, 0],
      [7, 53],
      [7, 53],
    ]);
  });
});

describe("what ls says about its search", () => {
  const seen = (locks: readonly WatchedLock[], more: object = {}) => ({
    atMs: 0,
    locks,
    changes: [],
    fleet: { atMs: 0, group: "default", clients: [], truncated: false },
    presenceIsUnwell: false,
    unreadable: 0,
    ...more,
  });
  const finder = { fleet: () => Promise.reject(), locks: () => [] as never };
  const told = (
    locks: readonly WatchedLock[],
    sources: readonly ("presence" | "channels" | "scan")[],
    of = settings(),
    more = {},
  ) =>
    tellSearch(seen(locks, more), select(locks, of), {
      asked: { sources, missing: [], finder },
      settings: of,
    });

  test("is how many, where was looked, and what cannot be found there", () => {
    expect(told([lock("a")], ["presence", "channels"])).toEqual([
      "1 lock, from presence (0 clients) and channels",
      "not listed: locks without a waiter, if they are held only briefly, by a JVM, or by a client without presence; --scan finds them",
    ]);
    expect(told([], ["channels"])).toEqual([
      "no lock found in channels",
      "not listed: locks without a waiter; --scan finds them",
    ]);
    expect(told([], ["presence", "channels", "scan"])[1]).toContain("semaphores and latches");
  });

  test("is also what was left out, and when presence can not be believed", () => {
    const of = settings({ limit: 1 });
    const lines = told([lock("a"), lock("b"), lock("c")], ["presence"], of, { presenceIsUnwell: true });
    expect(lines).toContain("2 more are not shown: --limit 3");
    expect(lines.join()).toContain("presence itself has failed");
    expect(told([], ["presence"], of, { fleet: { clients: [], truncated: true } }).join()).toContain(
      "more clients than holdfast reads",
    );
  });

  test("is also how to get names for holders that have none, and how many keys no client can name [U9]", () => {
    const nameless = lock("a", { holders: [holder(null, { by: "holdfast" })] });
    const off = told([nameless, lock("b")], ["presence"]);
    expect(off.at(-1)).toMatch(
      /^1 lock is of programs without presence, which is off by default\. .*presence: true/,
    );
    const jvm = lock("a", { holders: [holder(null)] });
    expect(told([jvm], ["presence"]).join()).not.toContain("presence: true");
    expect(told([], ["scan"], undefined, { unreadable: 2 }).join("\n")).toContain(
      "2 keys whose names are not UTF-8",
    );
  });

  test("points to show where one name was asked for and not found", () => {
    expect(told([], ["presence"], settings({}, "order:42")).at(-1)).toBe(
      'holdfast show looks up "order:42" by its name',
    );
    expect(told([], ["presence"], settings({}, "order:*"))).toHaveLength(2);
  });

  test.each([
    ["order:42", "order:42"],
    ["a\\*b", "a*b"],
    ["a*", undefined],
    ["a?", undefined],
    ["a[bc]", undefined],
    ["a\\", undefined],
  ])("the pattern %j names %j alone", (pattern, name) => {
    expect(exactName(pattern)).toBe(name);
  });
});

test("a scan is told with the number of keys at which it ends", () => {
  expect(tellSources(["presence", "scan"], 2)).toBe(
    "presence (2 clients) and a scan of up to 1,000,000 keys",
  );
  expect(tellSources(["scan"], 0, 5)).toBe("a scan of up to 5 keys");
});
