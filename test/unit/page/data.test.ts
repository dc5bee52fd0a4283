import { describe, expect, it } from "vitest";
import { Arrangement, type SortBy } from "../../../page/src/data/arrangement.js";
import { EventStreamReader } from "../../../page/src/data/event-stream.js";
import type { SeenLock } from "../../../page/src/data/store.js";
import type { LockRow } from "../../../src/inspector/format.js";

describe("rows", () => {
  const seen = (name: string, waits: number, sinceMs: number | null = null): [string, SeenLock] => {
    const waiting = Array.from({ length: waits }, () => ({
      holder: null,
      client: null,
      forMs: 1,
      note: null,
    }));
    const holders = [
      { holder: name, count: 1, by: "holdfast", client: null, sinceMs, renewed: true, note: null },
    ];
    const row = { key: name, name, waiting, holders, more: { holders: 0, waiting: 0 } } as unknown as LockRow;
    return [name, { row, toldMs: 1_000, fullMs: 30_000 }];
  };

  function arranging() {
    const arrangement = new Arrangement();
    const names = (locks: [string, SeenLock][], { by = "waiting", inUse = false, nowMs = 0 }: How = {}) =>
      arrangement
        .arrange(new Map(locks), by, inUse, nowMs)
        .map(({ lock, isFreed }) => lock.row.name + (isFreed ? " freed" : ""));
    return { arrangement, names };
  }

  interface How {
    readonly by?: SortBy;
    readonly inUse?: boolean;
    readonly nowMs?: number;
  }

  it("come as they are asked for", () => {
    const { names } = arranging();
    const locks = [seen("b", 0, 9), seen("a", 0, 90), seen("c", 2), seen("d", 0)];
    expect(names(locks)).toEqual(["c", "a", "b", "d"]);
    expect(names(locks, { by: "name" })).toEqual(["a", "b", "c", "d"]);
    expect(names(locks, { by: "age" })).toEqual(["a", "b", "c", "d"]);
  });

  it("keep their places for ten seconds, while new ones find theirs", () => {
    const { names } = arranging();
    names([seen("a", 3), seen("b", 1)]);
    const later = [seen("b", 9), seen("a", 3), seen("c", 4)];
    expect(names(later, { nowMs: 9_000 })).toEqual(["c", "a", "b"]);
    expect(names(later, { nowMs: 10_000 })).toEqual(["b", "c", "a"]);
  });

  it("neither move nor go while they are in use", () => {
    const { names } = arranging();
    names([seen("a", 3), seen("b", 1), seen("c", 0)]);
    const later = [seen("c", 9), seen("a", 3), seen("d", 5)];
    expect(names(later, { inUse: true, nowMs: 99_000 })).toEqual(["a", "b freed", "c", "d"]);
    expect(names(later, { nowMs: 99_000 })).toEqual(["c", "d", "a"]);
  });

  it("are not told to be freed when the filter lets them through no more", () => {
    const { arrangement } = arranging();
    const all = new Map([seen("a", 3), seen("b", 1)]);
    arrangement.arrange(all, "waiting", true, 0);
    const waited = new Map([seen("a", 3)]);
    const flags = (inUse: boolean, there = all) =>
      arrangement
        .arrange(waited, "waiting", inUse, 1, there)
        .map(({ lock, isFreed }) => [lock.row.name, isFreed]);
    expect(flags(true)).toEqual([
      ["a", false],
      ["b", false],
    ]);
    expect(flags(true, waited)).toEqual([
      ["a", false],
      ["b", true],
    ]);
    expect(flags(false)).toEqual([["a", false]]);
  });

  it("are sorted anew when that is wanted", () => {
    const { arrangement, names } = arranging();
    names([seen("a", 3), seen("b", 1)]);
    arrangement.reset();
    expect(names([seen("a", 3), seen("b", 9)], { inUse: true, nowMs: 1 })).toEqual(["b", "a"]);
  });
});

describe("a feed", () => {
  const text = "event: snapshot\ndata: {\ndata: }\n\n: ping\n\nevent: change\r\ndata:ü😀\r\n\r\ndata\n\n";
  const messages = [
    { event: "snapshot", data: "{\n}" },
    { event: "change", data: "ü😀" },
    { event: "message", data: "" },
  ];

  it.each([1, 2, 3, 7, 1_000])("is read in pieces of %d bytes", (size) => {
    const bytes = new TextEncoder().encode(text);
    const reader = new EventStreamReader();
    const read = [];
    for (let at = 0; at < bytes.length; at += size) read.push(...reader.read(bytes.subarray(at, at + size)));
    expect(read).toEqual(messages);
  });
});
