import { describe, expect, test } from "vitest";
import { heardOn } from "../../src/finding/channel-source.js";
import { FleetIndex } from "../../src/finding/fleet-index.js";
import { type Findings, listLock } from "../../src/finding/list-lock.js";
import type { PresentHold } from "../../src/presence/claims.js";
import type { ClientPresence } from "../../src/presence/fleet.js";

const [ONE, TWO, THREE] = ["0a", "0b", "0c"].map((start) => `${start}1c9d1e-6f0a-8001-9d8e-0123456789ab`) as [
  string,
  string,
  string,
];

function client(id: string, told: Partial<ClientPresence>): ClientPresence {
  const nothing = { stats: [], acquired: 0, lost: [], more: { holds: 0, waits: 0, stats: 0 } };
  const meta = { app: "", host: null, pid: null, startedMs: null, lib: "", runtime: "", labels: {} };
  return {
    id,
    state: "there",
    lastSeenMs: 0,
    everyMs: 5_000,
    ...meta,
    ...nothing,
    holds: [],
    waits: [],
    ...told,
  };
}

function hold(kind: string, threadId: number, more: Partial<PresentHold> = {}): PresentHold {
  const flags = { renewed: false, handedOff: false, capped: false, note: null, permanent: false, ids: [] };
  return { key: "a", kind, threadId, count: 1, ageMs: threadId, ...flags, ...more };
}

type Fields = Findings["record"]["fields"];

function list(fields: Fields, clients: readonly ClientPresence[], queue: readonly string[] = []) {
  return listIn(fleetOf(clients), fields, queue);
}

function fleetOf(clients: readonly ClientPresence[]) {
  const fleet = new FleetIndex();
  for (const each of clients) fleet.add(each);
  return fleet;
}

function listIn(
  fleet: Findings["fleet"],
  fields: Fields,
  queue: readonly string[],
  waitingClients: readonly string[] = [],
  token: string | null = null,
) {
  const type = Object.keys(fields).length === 0 ? "none" : "hash";
  const more = { holders: 0, waiting: 0 };
  const stored = { type, ttlMs: 1, fields, queue, waitingClients, token };
  const record = { ...stored, waitsFor: "lock" as const, listeners: null, permits: null, more };
  return listLock({
    key: "a",
    name: "a",
    record,
    fleet,
    heard: undefined,
    sources: ["presence"],
    counting: false,
  });
}

describe("a lock that was found", () => {
  test("tells a thread's write hold from its read hold", () => {
    const holds = [hold("read-lock", 7, { ageMs: 1 }), hold("write-lock", 7, { ageMs: 2 })];
    const listed = list({ mode: "write", [`${ONE}:7:write`]: "1", [`${ONE}:7`]: "1" }, [
      client(ONE, { holds }),
    ]);
    expect(listed?.holders.map(({ holder, sinceMs }) => [holder, sinceMs])).toEqual([
      [`${ONE}:7:write`, 2],
      [`${ONE}:7`, 1],
    ]);
  });

  test("knows the hold that was handed on, of which Redis has the holder before, and no other", () => {
    const since = (holds: readonly PresentHold[]) =>
      list({ [`${ONE}:7`]: "1" }, [client(ONE, { holds })])?.holders[0]?.sinceMs;
    expect(since([hold("lock", 9, { handedOff: true })])).toBe(9);
    expect(since([hold("lock", 9)])).toBeNull();
    expect(since([hold("lock", 8, { handedOff: true }), hold("lock", 9, { handedOff: true })])).toBeNull();
  });

  test("has the longest wait first, and is used while one that waits is there", () => {
    const wait = (ageMs: number) => ({ key: "a", kind: "lock", ageMs, note: null });
    const waiting = [client(ONE, { waits: [wait(5)] }), client(TWO, { waits: [wait(7), wait(3)] })];
    expect(list({}, waiting)?.waiting.map(({ forMs }) => forMs)).toEqual([7, 5, 3]);
    expect(list({}, [client(ONE, { waits: [wait(5)], state: "gone" })])).toBeUndefined();
  });

  test("has the longest waits of a client for those of its waiters that stand in the queue", () => {
    const wait = (ageMs: number) => ({ key: "a", kind: "fair-lock", ageMs, note: null });
    const waiting = [client(ONE, { waits: [wait(5), wait(9), wait(1)] }), client(TWO, { waits: [wait(7)] })];
    const queue = [`${ONE}:3`, `${TWO}:1`, `${ONE}:4`, `${TWO}:2`];
    const listed = list({}, waiting, queue);
    expect(listed?.waiting.map(({ holder, forMs }) => [holder, forMs])).toEqual([
      [`${ONE}:3`, 9],
      [`${TWO}:1`, 7],
      [`${ONE}:4`, 5],
      [`${TWO}:2`, null],
      [null, 1],
    ]);
  });

  test("has each client of the queue of a plain lock once, with its longest wait, and then its other calls", () => {
    const wait = (ageMs: number) => ({ key: "a", kind: "lock", ageMs, note: `${ageMs}` });
    const waiting = [client(ONE, { waits: [wait(5), wait(9), wait(1)] }), client(TWO, { waits: [wait(7)] })];
    const listed = listIn(fleetOf(waiting), { [`${THREE}:1`]: "1" }, [], [TWO, THREE, ONE]);
    expect(listed?.kind).toBe("lock");
    expect(
      listed?.waiting.map(({ holder, client, forMs, note }) => [holder, client?.id, forMs, note]),
    ).toEqual([
      [TWO, TWO, 7, "7"],
      [THREE, undefined, null, null],
      [ONE, ONE, 9, "9"],
      [null, ONE, 5, "5"],
      [null, ONE, 1, "1"],
    ]);
  });

  test("is used while clients stand in its queue, also where it is free, and never taken for a fair lock", () => {
    expect(listIn(fleetOf([]), {}, [], [ONE])).toMatchObject({
      kind: "lock",
      holders: [],
      waiting: [{ holder: ONE }],
    });
    expect(listIn(fleetOf([]), {}, [], [ONE], "7")).toMatchObject({ kind: "fenced-lock", waiting: [{}] });
    const told = client(ONE, { waits: [{ key: "a", kind: "fenced-lock", ageMs: 1, note: null }] });
    expect(listIn(fleetOf([told]), {}, [], [ONE])).toMatchObject({
      kind: "fenced-lock",
      waiting: [{ forMs: 1 }],
    });
    expect(listIn(fleetOf([]), {}, [], [])).toBeUndefined();
  });

  test("with a thousand holders and waiters looks at what is told of each a few times, and not once for each other", () => {
    const count = 1_000;
    let looks = 0;
    const idOf = (at: number) => `${String(at).padStart(8, "0")}${ONE.slice(8)}`;
    const told = <T extends object>(at: number, of: T) => {
      const ref = {
        id: idOf(at),
        app: "",
        host: null,
        pid: null,
        state: "there",
        lastSeenMs: 0,
        labels: {},
      } as const;
      return Object.defineProperty({ ...of, client: ref }, "client", {
        get: () => {
          looks += 1;
          return ref;
        },
      });
    };
    const numbers = Array.from({ length: count }, (_, at) => at);
    const holds = numbers.map((at) => told(at, hold("read-lock", at)));
    const waits = numbers.map((at) => told(at, { key: "a", kind: "read-lock", ageMs: at, note: null }));
    const fields = Object.fromEntries(numbers.map((at) => [`${idOf(at)}:${at}`, "1"]));
    const queue = numbers.map((at) => `${idOf(at)}:${count + at}`);
    const listed = listIn({ client: () => null, told: () => ({ holds, waits }) }, fields, queue);
    expect(listed?.holders.map(({ sinceMs }) => sinceMs)).toEqual(numbers);
    expect(listed?.waiting.map(({ forMs }) => forMs)).toEqual(numbers);
    expect(looks).toBeLessThanOrEqual(6 * count);
  });

  test("has the listeners of all its channels, at all masters", () => {
    const [lock, pair] = ["redisson_lock__channel:{a}", "redisson_rwlock:{a}"];
    const heard = heardOn([
      { channel: lock, listeners: 2 },
      { channel: pair, listeners: 1 },
      { channel: lock, listeners: 4 },
    ]);
    expect(heard.get("a")).toEqual({ listeners: 7, of: "lock" });
  });

  test.each([
    ["redisson_lock__channel:{a}", ""],
    ["redisson_sc:{a}", ":2"],
  ])("counts no connection twice that listens to a channel of its client and to %s", (ofAll, permits) => {
    const clients = [1, 2, 3].map((at) => ({
      channel: `${ofAll}:${at}${ONE.slice(1)}${permits}`,
      listeners: 1,
    }));
    const count = (all: number) =>
      heardOn([{ channel: ofAll, listeners: all }, ...clients]).get("a")?.listeners;
    expect([count(0), count(2), count(5)]).toEqual([3, 3, 5]);
  });
});
