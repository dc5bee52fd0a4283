import { expect, test } from "vitest";
import type { ClientPresence, Fleet, ListedLock } from "../../src/index.js";
import { Picture } from "../../src/inspector/picture.js";
import { View } from "../../src/inspector/view.js";
import { FakeClock } from "../../src/memory/index.js";
import { Looks } from "../../src/watch/looks.js";
import { storedClientId } from "../support/worlds/stored-fleet.js";

const LOCKS = 500;
const CLIENTS = 100;
const POINT_MS = 10_000;

/** A fleet in which each lock passes on between two looks, and all clients but the first 30 come and go. */
function fleetAt(look: number, atMs: number): { found: ListedLock[]; fleet: Fleet } {
  const more = { holds: 0, waits: 0, stats: 0 };
  const clients = Array.from({ length: CLIENTS }, (_, nth): ClientPresence => {
    const id = storedClientId(nth < 30 ? nth : nth + look * CLIENTS);
    const meta = {
      app: "billing",
      host: `web-${nth}`,
      pid: nth,
      startedMs: 0,
      lib: "",
      runtime: "",
      labels: {},
    };
    const lost = [{ key: `order:${nth}`, reason: "stolen", agoMs: look % 2 === 0 ? 1 : 5_001 }];
    const isGone = nth < 30 && (look + nth) % 7 === 0;
    const state = isGone ? "gone" : "there";
    return {
      id,
      state,
      lastSeenMs: 100,
      everyMs: 5_000,
      ...meta,
      holds: [],
      waits: [],
      stats: [],
      acquired: 1,
      lost,
      more,
    };
  });
  const found = Array.from({ length: LOCKS }, (_, nth): ListedLock => {
    const { id, app, host, pid, state, lastSeenMs, labels } = clients[
      (nth + look) % CLIENTS
    ] as ClientPresence;
    const client = { id, app, host, pid, state, lastSeenMs, labels };
    const key = `order:${nth + (nth > LOCKS / 2 ? look * LOCKS : 0)}`;
    const holder = {
      holder: `${id}:${look}`,
      count: 1,
      by: "holdfast",
      client,
      sinceMs: 5,
      renewed: true,
      note: null,
    } as const;
    return {
      ...{ key, name: key, kind: "lock", ttlMs: 30_000, token: null, sources: ["presence"] as const },
      ...{
        holders: [holder],
        waiting: [{ holder: null, client, forMs: 5, note: null }],
        more: { holders: 0, waiting: 0 },
      },
    };
  });
  return { found, fleet: { atMs, group: "default", clients, truncated: false } };
}

function heapBytes(): number {
  for (let times = 0; times < 3; times += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

test("what is remembered of locks and clients that change all the time does not grow", {
  timeout: 300_000,
}, async () => {
  expect(globalThis.gc).toBeTypeOf("function");
  const clock = new FakeClock();
  const picture = new Picture(clock, 10);
  const looks = new Looks();
  const view = new View(picture, { match: null, sort: "waiting", only: [] });
  let look = 0;
  const pass = async (times: number) => {
    for (let nth = 0; nth < times; nth += 1) {
      look += 1;
      await clock.advance(POINT_MS);
      const { found, fleet } = fleetAt(look, clock.wallMs());
      const seen = looks.seen(found, fleet, clock.monotonicMs());
      picture.seen({ atMs: fleet.atMs, fleet, ...seen });
      view.changes();
    }
  };
  await pass(70);
  expect([picture.events.all.length, picture.history.points.length]).toEqual([500, 60]);
  const before = heapBytes();
  await pass(200);
  expect(heapBytes() - before).toBeLessThan(1_000_000);
  expect(picture.changes.of(`order:${LOCKS - 1 + look * LOCKS}`)).toHaveLength(1);
});
