import { fairAcquire, fairRefresh, fairRelease } from "../../../src/protocol/fair-scripts.js";
import { findChannels, findHashes, lockInspectMany } from "../../../src/protocol/finding-scripts.js";
import {
  anyForceUnlock,
  fairForceUnlock,
  lockForceUnlock,
  readForceUnlock,
  writeForceUnlock,
} from "../../../src/protocol/force-unlock-scripts.js";
import { lockInspect } from "../../../src/protocol/inspect-scripts.js";
import type { AcquireItem, Release } from "../../../src/protocol/lock-calls.js";
import {
  lockAcquire,
  lockConfirm,
  lockKeep,
  lockRelease,
  lockRenew,
  lockSucceed,
  serverProbe,
} from "../../../src/protocol/lock-scripts.js";
import {
  fairAliveKey,
  fairQueueKey,
  fairTimeoutsKey,
  fencingTokenKey,
  nextField,
  permitLeasesKey,
  readHoldKey,
  WRITE_ENDING,
  waitingKey,
  waitingWriterKey,
  writersQueueKey,
} from "../../../src/protocol/names.js";
import {
  readAcquire,
  readRelease,
  readRenew,
  writeAcquire,
  writeRelease,
} from "../../../src/protocol/read-write-scripts.js";
import type { ScriptName } from "../all-scripts.js";
import { inMs, type Scenario, scenario } from "./scenario.js";

const KEY = "order:7";
const [QUEUE, TIMEOUTS, ALIVE] = [fairQueueKey(KEY), fairTimeoutsKey(KEY), fairAliveKey(KEY)];
const [TOKEN, MARK, LEASES] = [fencingTokenKey(KEY), waitingWriterKey(KEY), permitLeasesKey(KEY)];
const OURS = "c0000000-0000-8001-8000-000000000000";
const FRIEND = "d0000000-0000-8001-8000-000000000000";
const [ME, OTHER, THIRD] = [`${OURS}:1`, `${OURS}:2`, `${OURS}:3`];
const [MY_WRITE, JVM] = [`${ME}:write`, "c0000000-0000-4000-8000-000000000000:9"];
const LEASE_MS = 60_000;
const NEVER_MS = Number.MAX_SAFE_INTEGER;
const channel = "channel";

type Found = Scenario["found"];

function wish(changes: Partial<AcquireItem> = {}): AcquireItem {
  const base = {
    key: KEY,
    holder: ME,
    leaseMs: LEASE_MS,
    heldCount: 0,
    kin: "",
    waits: false,
    fenced: false,
  };
  return { ...base, channel, ...changes };
}

const acquire = (...locks: Partial<AcquireItem>[]) => ({ notAfterMs: NEVER_MS, locks: locks.map(wish) });

function release(changes: Partial<Release> = {}): { notAfterMs: number; locks: readonly Release[] } {
  const base = { key: KEY, holder: ME, heldCount: 1, keptCount: 0, ttlMs: LEASE_MS, keptMs: [], channel };
  return { notAfterMs: NEVER_MS, locks: [{ ...base, ...changes }] };
}

const held = (holder: string, count = 1, key = KEY): Found => [
  ["HSET", key, holder, count],
  ["PEXPIRE", key, 30_000],
];
const reading = (...holders: readonly string[]): Found => [
  ["HSET", KEY, "mode", "read"],
  ...holders.flatMap(
    (holder): Found => [
      ["HSET", KEY, holder, 1],
      ["SET", readHoldKey(KEY, holder, 1), "1", "PX", 40_000],
    ],
  ),
  ["PEXPIRE", KEY, 40_000],
];
const writing = (count = 1): Found => [
  ["HSET", KEY, "mode", "write", MY_WRITE, count],
  ["PEXPIRE", KEY, 30_000],
];
/** They stand in the queue, each with a sign of life until then. */
const queued = (aliveMs: number, ...waiters: readonly string[]): Found =>
  waiters.flatMap(
    (waiter): Found => [
      ["RPUSH", QUEUE, waiter],
      ["ZADD", TIMEOUTS, inMs(400_000), waiter],
      ...(waiter === JVM ? [] : [["ZADD", ALIVE, inMs(aliveMs), waiter] as const]),
      ["PEXPIRE", QUEUE, 86_400_000],
      ["PEXPIRE", TIMEOUTS, 86_400_000],
      ["PEXPIRE", ALIVE, 60_000],
    ],
  );
/** These clients wait for a lock without a fair queue. */
const waiting = (...clients: readonly string[]): Found => [
  ...clients.map((client, at) => ["ZADD", waitingKey(KEY), at + 1, client] as const),
  ["PEXPIRE", waitingKey(KEY), 600_000],
];
/** These wait for a write lock. */
const waitingToWrite = (...clients: readonly string[]): Found => [
  ...clients.map((client, at) => ["ZADD", writersQueueKey(KEY), at + 1, client] as const),
  ["PEXPIRE", writersQueueKey(KEY), 600_000],
];
const waits = { queued: { waitsOn: false, polls: false } } as const;
/** Nobody listens, which the server need not know. */
const looks = { way: "leaves", countsAll: false, asOf: {} } as const;
const seen = (fields: Readonly<Record<string, string>>) => ({
  key: KEY,
  notAfterMs: NEVER_MS,
  channel,
  seen: fields,
});
const confirmed = (holder: string, slots: readonly number[] = []) => [{ key: KEY, holders: [holder], slots }];
const renewed = (holder: string, holdMs: readonly number[] = []) => [
  { key: KEY, holder, leaseMs: LEASE_MS, holdMs },
];

export const lockScenarios = {
  "lock-acquire": [
    scenario("a free lock", lockAcquire, acquire({})),
    scenario("three at once", lockAcquire, acquire({}, { key: "b" }, { key: "c" })),
    scenario("one free, one taken", lockAcquire, acquire({}, { key: "b" }), held(OTHER, 1, "b")),
    scenario("a re-entry", lockAcquire, acquire({ heldCount: 1 }), held(ME)),
    scenario("a free fenced lock", lockAcquire, acquire({ fenced: true })),
    scenario("a free lock and a fenced one", lockAcquire, acquire({}, { key: "b", fenced: true })),
    scenario("a counter with a TTL", lockAcquire, acquire({ fenced: true }), [["SET", TOKEN, 7, "EX", 99]]),
    scenario("a taken lock", lockAcquire, acquire({}), held(OTHER)),
    scenario("all or none", lockAcquire, { ...acquire({}, { key: "b" }), together: true }),
    scenario("a taken lock, to wait for", lockAcquire, acquire(waits), [...held(JVM), ...waiting(FRIEND)]),
    scenario("a taken lock, to wait for alone", lockAcquire, acquire(waits), held(JVM)),
    scenario("a lock that was given to it", lockAcquire, acquire({ ...waits, fenced: true }), [
      ...held(nextField(OURS)),
      ...waiting(FRIEND),
    ]),
  ],
  "lock-release": [
    scenario("the last hold", lockRelease, { ...release(), notAfterMs: 0 }, held(ME)),
    scenario("the last hold, in time", lockRelease, release(), held(ME)),
    scenario("an inner hold", lockRelease, release({ heldCount: 2, keptCount: 1 }), held(ME, 2)),
    scenario("with others in its queue", lockRelease, release({ looks }), [
      ...held(ME),
      ...waiting(OURS, FRIEND),
    ]),
    scenario("a place in its queue", lockRelease, release({ looks, holder: nextField(OURS) }), [
      ...held(JVM),
      ...waiting(OURS, FRIEND),
    ]),
    scenario(
      "a call to the first in its queue",
      lockRelease,
      release({ looks: { ...looks, way: "calls" }, holder: "" }),
      [...held(ME), ...waiting(FRIEND)],
    ),
  ],
  "lock-keep": [scenario("a held lock", lockKeep, release({ keepForMs: 5_000 }), held(ME))],
  "lock-succeed": [
    scenario(
      "after a hand-over",
      lockSucceed,
      { notAfterMs: NEVER_MS, key: KEY, leaseMs: LEASE_MS, successor: OTHER, predecessors: [ME] },
      held(ME),
    ),
  ],
  "lock-renew": [scenario("a held lock", lockRenew, renewed(ME), held(ME))],
  "lock-confirm": [scenario("a held lock", lockConfirm, confirmed(ME), held(ME))],
  "lock-force-unlock": [
    scenario("as it was seen", lockForceUnlock, seen({ [OTHER]: "1" }), held(OTHER)),
    scenario("with a waiter", lockForceUnlock, seen({ [OTHER]: "1" }), [...held(OTHER), ...waiting(FRIEND)]),
  ],
  "lock-inspect": [
    scenario("a fair lock", lockInspect, { key: KEY, queueKey: QUEUE, tokenKey: TOKEN, leasesKey: LEASES }, [
      ...held(OTHER),
      ...queued(5_000, ME),
      ["SET", TOKEN, 7],
    ]),
    scenario(
      "a semaphore, with listeners",
      lockInspect,
      { key: KEY, queueKey: QUEUE, tokenKey: TOKEN, leasesKey: LEASES, counting: "NUMSUB", channels: ["c"] },
      [
        ["SET", KEY, 3],
        ["ZADD", LEASES, inMs(5_000), "0123456789abcdef"],
      ],
    ),
    scenario(
      "a lock for which a client waits",
      lockInspect,
      {
        key: KEY,
        queueKey: QUEUE,
        tokenKey: TOKEN,
        leasesKey: LEASES,
        waitingKeys: [waitingKey(KEY), writersQueueKey(KEY)],
      },
      [...held(OTHER), ...waiting(FRIEND)],
    ),
    scenario(
      "a semaphore for whose permits a client waits",
      lockInspect,
      {
        key: KEY,
        queueKey: QUEUE,
        tokenKey: TOKEN,
        leasesKey: LEASES,
        waitingKeys: [waitingKey(KEY), writersQueueKey(KEY)],
      },
      [["SET", KEY, 0], ...waiting(`${FRIEND}:2`)],
    ),
  ],
  "lock-inspect-many": [
    scenario("a fair lock with a counter", lockInspectMany, { locks: [KEY], withClients: false }, [
      ...held(OTHER),
      ...queued(5_000, ME),
      ["SET", TOKEN, 7],
    ]),
    scenario("more readers than are shown", lockInspectMany, { locks: [KEY], withClients: true }, [
      ["HSET", KEY, "mode", "read"],
      ["HSET", KEY, ...Array.from({ length: 1_001 }, (_, at) => [`${OURS}:${at}`, 1]).flat()],
    ]),
    scenario("a lock for which a client waits", lockInspectMany, { locks: [KEY], withClients: true }, [
      ...held(OTHER),
      ...waiting(FRIEND),
    ]),
    scenario(
      "a semaphore for whose permits a client waits",
      lockInspectMany,
      { locks: [KEY], withClients: true },
      [["SET", KEY, 0], ...waiting(`${FRIEND}:2`)],
    ),
  ],
  "fair-acquire": [
    scenario("a free lock", fairAcquire, acquire({ waits: true })),
    scenario("a taken lock", fairAcquire, acquire({ waits: true }), held(OTHER)),
    scenario("a taken lock, not to wait for", fairAcquire, acquire({}), held(OTHER)),
    scenario("behind a waiter", fairAcquire, acquire({ waits: true }), [
      ...held(OTHER),
      ...queued(5_000, THIRD),
    ]),
    scenario("asked again from the queue", fairAcquire, acquire({ waits: true }), [
      ...held(OTHER),
      ...queued(5_000, THIRD, ME),
    ]),
    scenario("its turn has come", fairAcquire, acquire({ waits: true }), queued(5_000, ME, JVM, OTHER)),
    scenario("its score was lost", fairAcquire, acquire({ waits: true }), [
      ...held(OTHER),
      ...queued(5_000, THIRD, ME),
      ["ZREM", TIMEOUTS, ME],
    ]),
    scenario("another's turn", fairAcquire, acquire({ waits: true }), queued(5_000, THIRD)),
    scenario("behind dead waiters", fairAcquire, acquire({ waits: true }), queued(-1, OTHER, THIRD)),
    scenario("a waiter without a sign of life", fairAcquire, acquire({ waits: true }), [
      ...queued(5_000, THIRD),
      ["DEL", ALIVE],
    ]),
    scenario("a re-entry", fairAcquire, acquire({ heldCount: 1 }), held(ME)),
    scenario("a lock that is no hash", fairAcquire, acquire({}), [["SET", KEY, "1"]]),
  ],
  "fair-release": [
    scenario("with nobody waiting", fairRelease, release(), held(ME)),
    scenario("with waiters", fairRelease, release(), [...held(ME), ...queued(5_000, OTHER, JVM, THIRD)]),
    scenario("to a JVM", fairRelease, release(), [...held(ME), ...queued(5_000, JVM)]),
    scenario("dead waiters before a live one", fairRelease, release(), [
      ...held(ME),
      ...queued(-1, OTHER),
      ...queued(5_000, JVM, THIRD),
    ]),
    scenario("an inner hold", fairRelease, release({ heldCount: 2, keptCount: 1 }), held(ME, 2)),
    scenario("giving up a place", fairRelease, release(), [...held(OTHER), ...queued(5_000, THIRD, ME, JVM)]),
  ],
  "fair-refresh": [
    scenario(
      "a place in the queue",
      fairRefresh,
      [{ key: KEY, channel, holders: [ME] }],
      [...held(OTHER), ...queued(5_000, ME)],
    ),
    scenario(
      "a low score",
      fairRefresh,
      [{ key: KEY, channel, holders: [ME] }],
      [...held(OTHER), ...queued(5_000, ME), ["ZADD", TIMEOUTS, inMs(1_000), ME]],
    ),
    scenario(
      "the lock is free",
      fairRefresh,
      [{ key: KEY, channel, holders: [OTHER] }],
      [...queued(5_000, ME, OTHER)],
    ),
    scenario(
      "scores were lost",
      fairRefresh,
      [{ key: KEY, channel, holders: [ME] }],
      [
        ...held(OTHER),
        ...queued(5_000, ME, THIRD),
        ["ZREM", TIMEOUTS, ME],
        ["ZADD", TIMEOUTS, inMs(9_000), JVM],
        ["ZADD", TIMEOUTS, inMs(9_000), "another"],
      ],
    ),
  ],
  "fair-force-unlock": [
    scenario("with a waiter", fairForceUnlock, seen({ [OTHER]: "1" }), [
      ...held(OTHER),
      ...queued(5_000, ME),
    ]),
    scenario("of any kind", anyForceUnlock, seen({ [OTHER]: "1" }), held(OTHER)),
  ],
  "read-acquire": [
    scenario("a free lock", readAcquire(true), acquire({})),
    scenario("beside a reader", readAcquire(true), acquire({}), reading(OTHER)),
    scenario("a re-entry", readAcquire(true), acquire({ heldCount: 1 }), reading(ME)),
    scenario("beside the own write hold", readAcquire(true), acquire({ kin: MY_WRITE }), writing()),
    scenario("a repeat", readAcquire(true), acquire({}), reading(ME)),
    scenario("taken by a writer", readAcquire(true), acquire({ holder: OTHER }), writing()),
    scenario("a writer waits", readAcquire(true), acquire({}), [
      ...reading(OTHER),
      ["SET", MARK, MY_WRITE, "PX", 4_000],
    ]),
  ],
  "read-release": [
    scenario("the last reader", readRelease, release(), reading(ME)),
    scenario("one of two readers", readRelease, release(), reading(ME, OTHER)),
    scenario("an inner hold", readRelease, release({ heldCount: 2, keptCount: 1, keptMs: [20_000] }), [
      ...reading(ME),
      ["HSET", KEY, ME, 2],
      ["SET", readHoldKey(KEY, ME, 2), "1", "PX", 40_000],
    ]),
    scenario(
      "a kept hold whose key is gone",
      readRelease,
      release({ heldCount: 2, keptCount: 1, keptMs: [20_000] }),
      [...reading(ME), ["HSET", KEY, ME, 2], ["DEL", readHoldKey(KEY, ME, 1)]],
    ),
    scenario(
      "beside the own write hold",
      readRelease,
      release({ heldCount: 2, keptCount: 1, keptMs: [LEASE_MS] }),
      [
        ...reading(ME),
        ["HSET", KEY, "mode", "write", MY_WRITE, 1, ME, 2],
        ["SET", readHoldKey(KEY, ME, 2), "1", "PX", 40_000],
        ["PEXPIRE", KEY, 30_000],
      ],
    ),
  ],
  "read-renew": [scenario("a reader", readRenew, renewed(ME, [LEASE_MS]), reading(ME))],
  "write-acquire": [
    scenario("a free lock", writeAcquire(true), acquire({ holder: MY_WRITE })),
    scenario("a re-entry", writeAcquire(true), acquire({ holder: MY_WRITE, heldCount: 1 }), writing()),
    scenario("after a wait", writeAcquire(true), acquire({ holder: MY_WRITE }), [
      ["SET", MARK, MY_WRITE, "PX", 4_000],
    ]),
    scenario(
      "behind a reader",
      writeAcquire(true),
      acquire({ holder: MY_WRITE, waits: true }),
      reading(OTHER),
    ),
    scenario("a taken lock, to wait for", writeAcquire(false), acquire({ holder: MY_WRITE, ...waits }), [
      ...reading(JVM),
      ...waitingToWrite(FRIEND),
    ]),
    scenario("a lock that was given to it", writeAcquire(false), acquire({ holder: MY_WRITE, ...waits }), [
      ["HSET", KEY, "mode", "write", nextField(OURS, WRITE_ENDING), 1],
      ["PEXPIRE", KEY, 1_500],
      ...waitingToWrite(FRIEND),
    ]),
  ],
  "write-release": [
    scenario("the last hold", writeRelease, release({ holder: MY_WRITE }), writing()),
    scenario(
      "an inner hold",
      writeRelease,
      release({ holder: MY_WRITE, heldCount: 2, keptCount: 1 }),
      writing(2),
    ),
    scenario("to the own reader", writeRelease, release({ holder: MY_WRITE }), [
      ...reading(ME),
      ["HSET", KEY, "mode", "write", MY_WRITE, 1],
    ]),
    scenario("with a client that waits", writeRelease, release({ holder: MY_WRITE, looks }), [
      ...writing(),
      ...waitingToWrite(FRIEND),
    ]),
    scenario(
      "a place in its queue",
      writeRelease,
      release({ looks, holder: nextField(OURS, WRITE_ENDING) }),
      [...writing(), ...waitingToWrite(OURS, FRIEND)],
    ),
    scenario("giving up a wait", writeRelease, release({ holder: MY_WRITE }), [
      ["SET", MARK, MY_WRITE, "PX", 4_000],
    ]),
  ],
  "read-write-force-unlock": [
    scenario("of a reader", readForceUnlock, seen({ mode: "read", [OTHER]: "1" }), reading(OTHER)),
    scenario("of a writer", writeForceUnlock, seen({ mode: "write", [MY_WRITE]: "1" }), writing()),
  ],
  "server-probe": [scenario("any server", serverProbe, { key: KEY })],
  "find-channels": [scenario("any server", findChannels, { sharded: true })],
  "find-hashes": [scenario("a lock", findHashes, { count: 100, places: [] }, held(OTHER))],
} satisfies Partial<Record<ScriptName, readonly Scenario[]>>;
