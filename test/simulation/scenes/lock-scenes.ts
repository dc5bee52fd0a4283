import type { Door, LockKindName } from "../workload/lock-names.js";
import type { Player } from "./player.js";
import type { Bound, SceneDefinition, Task } from "./scene.js";

/** Nothing is lost, and no timer fires while something is on its way. */
export const PLAIN: Bound = { overtakes: 0, faults: 0, sorts: [] };
/** A timer fires once although something is on its way. */
const SLOW: Bound = { ...PLAIN, overtakes: 1 };

type Half = "read" | "write";

export function locking(kind: LockKindName, half?: Half): Task {
  return (player) => player.lockAndUnlock(player.door(kind, half));
}

function trying(kind: LockKindName, half?: Half): Task {
  return (player) => player.lockAndUnlock(player.door(kind, half), { waitMs: 0 });
}

/** Waits until somebody chooses to abort it. */
export function aborting(kind: LockKindName, half?: Half): Task {
  return (player) => player.lockAndUnlock(player.door(kind, half), { signal: player.abortSignal() });
}

function waiting(kind: LockKindName, waitMs: number): Task {
  return (player) => player.lockAndUnlock(player.door(kind), { waitMs });
}

/** In Redisson's style, under an id that others of the process may choose as well. */
export function underId(kind: LockKindName, threadId: number): Task {
  return async (player) => {
    const door = player.door(kind);
    const lease = await player.lock(door, { threadId }, { sharesId: true });
    if (lease === undefined) return;
    await player.goOn();
    await player.unlock(door, lease);
  };
}

/** Enters once more what it holds. */
function nesting(kind: LockKindName): Task {
  return async (player) => {
    const door = player.door(kind);
    const use = (what: string, body: () => Promise<void>) =>
      player.call({ what, names: door.members, waitMs: Number.POSITIVE_INFINITY }, () =>
        door.lock.using(async (lease) => {
          player.enter(door, lease);
          await body();
          player.leave(lease);
        }),
      );
    await use("using", async () => {
      await use("using, inside", () => player.goOn());
    });
  };
}

export function forcing(kind: LockKindName): Task {
  return async (player) => {
    const { lock } = player.door(kind);
    await player.call({ what: "forceUnlock", names: [], waitMs: 0 }, () => lock.forceUnlock());
  };
}

/** Locks, and closes its client while that is under way or after it. */
function closing(kind: LockKindName): Task {
  return async (player: Player) => {
    const door: Door = player.door(kind);
    void player.goOn().then(() => player.close());
    await player.lockAndUnlock(door);
  };
}

/** Writes, and goes on reading for a second. */
function downgrading(kind: LockKindName): Task {
  return async (player) => {
    const [write, read] = [player.door(kind, "write"), player.door(kind, "read")];
    const threadId = 7;
    const writing = await player.lock(write, { threadId }, { sharesId: true });
    const reading = await player.lock(read, { threadId }, { sharesId: true });
    if (writing === undefined || reading === undefined) return;
    await player.unlock(write, writing);
    await player.pause(1_000);
    await player.unlock(read, reading);
  };
}

/** One call with a short lease is followed by another of its process, which stays for longer than that lease. */
function following(kind: LockKindName): Task {
  return async (player) => {
    const door = player.door(kind);
    const first = await player.lock(door, { leaseMs: 700 });
    const second = player.lock(door);
    await player.pause(10);
    if (first !== undefined) await player.unlock(door, first);
    const lease = await second;
    if (lease === undefined) return;
    await player.pause(1_100);
    await player.unlock(door, lease);
  };
}

/** Gets in before a timer has to help. */
function joining(kind: LockKindName): Task {
  return async (player) => {
    const door = player.door(kind, "read");
    const lease = await player.lock(door, { waitMs: 500 });
    if (lease === undefined)
      player.scene.checker.fail("progress", "a reader waits although others only read");
    else await player.unlock(door, lease);
  };
}

const KINDS: readonly LockKindName[] = [
  "lock",
  "non-reentrant",
  "fair",
  "non-reentrant fair",
  "fenced",
  "spin",
  "multi",
];

/** Those of which the waiting is not ended by a message. */
const PROMPT_MS: Partial<Record<LockKindName, number>> = { spin: 100, multi: 100 };

function two(kind: LockKindName, title: string, one: Task, other: Task, more: Partial<SceneDefinition> = {}) {
  const promptMs = PROMPT_MS[kind] ?? 0;
  return { name: `${kind}: ${title}`, kind, processes: [[one], [other]], bound: PLAIN, promptMs, ...more };
}

const pairs = (["read-write", "fair read-write"] as const).flatMap((kind): SceneDefinition[] => [
  two(kind, "two readers", locking(kind, "read"), locking(kind, "read")),
  two(kind, "a reader and a writer", locking(kind, "read"), locking(kind, "write"), { isSmall: true }),
  two(kind, "two writers", locking(kind, "write"), locking(kind, "write")),
  two(kind, "a reader, and a writer that aborts", locking(kind, "read"), aborting(kind, "write")),
  two(kind, "a writer, and a reader that aborts", locking(kind, "write"), aborting(kind, "read")),
  two(kind, "a writer that goes on as a reader, and a reader", downgrading(kind), joining(kind), {
    promptMs: 1_000,
  }),
]);

export const LOCK_SCENES: readonly SceneDefinition[] = [
  ...KINDS.map((kind) => two(kind, "two lock", locking(kind), locking(kind), { isSmall: true })),
  ...KINDS.map((kind) => two(kind, "one locks, one tries", locking(kind), trying(kind))),
  ...KINDS.map((kind) => two(kind, "one locks, one aborts", locking(kind), aborting(kind))),
  ...pairs,
  { name: "red: one locks", kind: "red", processes: [[locking("red")]], bound: PLAIN },
  ...(["lock", "fair"] as const).map((kind) =>
    two(kind, "one locks, one waits 100 ms", locking(kind), waiting(kind, 100), { bound: SLOW }),
  ),
  two("lock", "one unlocks, one forces", locking("lock"), forcing("lock")),
  two("lock", "one locks, one enters twice", locking("lock"), nesting("lock")),
  two("lock", "one locks, one closes its client", locking("lock"), closing("lock"), {
    // What a closed client still has falls by its TTL.
    promptMs: 31_000,
  }),
  two("lock", "one unlocks, perhaps while it renews; one tries", locking("lock"), trying("lock"), {
    bound: SLOW,
    options: { watchdogMs: 300 },
  }),
  two(
    "lock",
    "one unlocks a chosen id, perhaps while it renews; one tries",
    underId("lock", 7),
    trying("lock"),
    {
      bound: SLOW,
      options: { watchdogMs: 300 },
    },
  ),
  {
    name: "lock: two of one id, and another process tries",
    kind: "lock",
    processes: [[underId("lock", 7), underId("lock", 7)], [trying("lock")]],
    bound: PLAIN,
  },
  {
    name: "lock: two calls of one process follow each other, slowly",
    kind: "lock",
    processes: [[following("lock")]],
    bound: { ...PLAIN, overtakes: 2 },
    options: { commandTimeoutMs: 900 },
    promptMs: 1_110,
  },
  {
    name: "lock: two of one process, of which one aborts",
    kind: "lock",
    processes: [[locking("lock"), aborting("lock")]],
    bound: PLAIN,
  },
  {
    name: "fair: two of one process, of which one aborts",
    kind: "fair",
    processes: [[locking("fair"), aborting("fair")]],
    bound: PLAIN,
  },
];
