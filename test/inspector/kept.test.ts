import { expect, test } from "vitest";
import { KeptChanges } from "../../src/inspector/kept-changes.js";
import { KeptEvents } from "../../src/inspector/kept-events.js";

test("500 events are remembered, the latest, and no text in them is endless", () => {
  const events = new KeptEvents();
  for (let nth = 1; nth <= 520; nth += 1)
    events.add({ atMs: nth, type: "lost", key: "k".repeat(10_000), reason: "stolen" });
  expect([events.all.length, events.all[0]?.id, events.all.at(-1)?.id]).toEqual([500, 21, 520]);
  expect(events.all.every(({ key = "" }) => key.length === 400)).toBe(true);
});

test("of the 1 000 locks that have changed last the ten latest changes are remembered, the newest first", () => {
  const changes = new KeptChanges();
  const change = { type: "taken", name: "name", holders: [], before: [], waiting: 0 } as const;
  for (let nth = 0; nth < 1_500; nth += 1) changes.add({ ...change, key: `k${nth}` }, nth);
  for (let nth = 0; nth < 12; nth += 1) changes.add({ ...change, key: "k600" }, 10_000 + nth);
  expect(changes.of("k499")).toEqual([]);
  expect(changes.of("k500").map(({ text }) => text)).toEqual(["taken by nothing"]);
  expect(changes.of("k600").map(({ atMs }) => atMs)).toEqual(
    Array.from({ length: 10 }, (_, at) => 10_011 - at),
  );
  for (let nth = 0; nth < 999; nth += 1) changes.add({ ...change, key: `m${nth}` }, nth);
  expect([changes.nameOf("k600"), changes.nameOf("k1499")]).toEqual(["name", undefined]);
});
