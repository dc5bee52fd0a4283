import type { ClientPresence, Fleet, LockState } from "holdfast";
import { describe, expect, it } from "vitest";
import { holdersIn } from "../src/exec/tell-holders.js";

const OWN = "aaaaaaaa-0000-8000-8000-000000000000";
const OTHER = "bbbbbbbb-0000-8000-8000-000000000000";
const JVM = "cccccccc-0000-4000-8000-000000000000";

const free: LockState = {
  name: "deploy",
  key: "deploy",
  kind: "none",
  holders: [],
  holdCounts: {},
  ttlMs: -2,
  queue: [],
  waitingClients: [],
  waitingClientCount: 0,
  token: null,
  ownHolders: [],
  kept: false,
};
const held = (...holders: readonly string[]): LockState => ({
  ...free,
  kind: "lock",
  holders,
  ttlMs: 22_400,
});

function fleet(client: Partial<ClientPresence> = {}): Fleet {
  const hold = {
    key: "deploy",
    kind: "lock",
    threadId: 7,
    count: 1,
    ageMs: 41_000,
    renewed: true,
    handedOff: false,
    capped: false,
    permanent: false,
    ids: [],
  };
  return {
    atMs: 0,
    group: "default",
    truncated: false,
    clients: [
      {
        id: OTHER,
        app: "deploy.sh",
        host: "runner-2",
        pid: 88,
        state: "there",
        lastSeenMs: 1_000,
        everyMs: 5_000,
        startedMs: 0,
        lib: "",
        runtime: "",
        labels: {},
        holds: [{ ...hold, note: "release 42" }],
        waits: [],
        stats: [],
        acquired: 0,
        lost: [],
        more: { holds: 0, waits: 0, stats: 0 },
        ...client,
      },
    ],
  };
}

describe("the line about those that have a lock", () => {
  it.each<[string, LockState, Fleet, string]>([
    [
      "one that presence knows",
      held(`${OTHER}:7`),
      fleet(),
      'held by deploy.sh@runner-2 pid 88 since 41 s ("release 42"), lease 22 s',
    ],
    [
      "one that is gone",
      held(`${OTHER}:7`),
      fleet({ state: "gone", lastSeenMs: 40_000, holds: [] }),
      "held by deploy.sh@runner-2 pid 88 (gone 40 s), lease 22 s",
    ],
    [
      "one without a machine",
      held(`${OTHER}:7`),
      fleet({ host: null, pid: null, holds: [] }),
      "held by deploy.sh, lease 22 s",
    ],
    ["a JVM", held(`${JVM}:57`), fleet(), "held by JVM cccc…:57, lease 22 s"],
    [
      "one without presence, and others",
      held(`${OWN}:1:write`, `${OTHER}:7`),
      fleet(),
      "held by unknown aaaa…:1 and 1 more, lease 22 s",
    ],
    ["one without an end", { ...held(`${JVM}:57`), ttlMs: -1 }, fleet(), "held by JVM cccc…:57, no TTL"],
    ["none", free, fleet(), "free at this moment"],
    [
      "none: kept",
      { ...held(`${OTHER}:0`), kept: true },
      fleet(),
      "kept for deploy.sh@runner-2 pid 88, lease 22 s",
    ],
    [
      "a queue",
      { ...held(`${JVM}:57`), queue: [`${JVM}:58`, `${OTHER}:8`, `${OWN}:1`] },
      fleet(),
      "held by JVM cccc…:57, lease 22 s; 2 before it in the queue",
    ],
    [
      "a queue of clients",
      { ...held(`${JVM}:57`), waitingClients: [OTHER, OWN], waitingClientCount: 2 },
      fleet(),
      "held by JVM cccc…:57, lease 22 s; 1 before it in the queue",
    ],
  ])("%s", (_, state, clients, line) => {
    expect(holdersIn(state, clients, OWN)).toBe(line);
  });

  it("shows names that would move the cursor as text, and a note that says no more than the program's name not", () => {
    const [client] = fleet().clients;
    const holds = client?.holds.map((hold) => ({ ...hold, note: "\u001b[2J" })) ?? [];
    expect(holdersIn(held(`${OTHER}:7`), fleet({ app: "\u202eevil", holds }), OWN)).toBe(
      'held by \\u{202e}evil@runner-2 pid 88 since 41 s ("\\u{1b}[2J"), lease 22 s',
    );
    const same = holds.map((hold) => ({ ...hold, note: "deploy.sh" }));
    expect(holdersIn(held(`${OTHER}:7`), fleet({ holds: same }), OWN)).toBe(
      "held by deploy.sh@runner-2 pid 88 since 41 s, lease 22 s",
    );
  });
});
