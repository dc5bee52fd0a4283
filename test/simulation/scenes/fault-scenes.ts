import type { LockKindName } from "../workload/lock-names.js";
import type { ResendRules } from "../world/command-link.js";
import type { FaultName } from "./deeds.js";
import { forcing, locking, PLAIN, underId } from "./lock-scenes.js";
import type { SceneDefinition, Task } from "./scene.js";

const NEVER_AGAIN: ResendRules = { resends: false, queues: true };

function struck(kind: LockKindName, sort: FaultName, more: Partial<SceneDefinition> = {}): SceneDefinition {
  return {
    name: `${kind}: two lock, ${sort}`,
    kind,
    processes: [[locking(kind)], [locking(kind)]],
    bound: { ...PLAIN, faults: 1, sorts: [sort] },
    ...more,
  };
}

function alone(kind: LockKindName, more: Partial<SceneDefinition> = {}): SceneDefinition {
  return struck(kind, "cut", { name: `${kind}: one locks, cut`, processes: [[locking(kind)]], ...more });
}

/** One stay after the other: what was sent for the first may arrive in the second. */
function twice(task: Task): Task {
  return async (player) => {
    await task(player);
    await task(player);
  };
}

const KINDS = ["lock", "fair", "read-write", "fair read-write", "fenced"] as const;

export const FAULT_SCENES: readonly SceneDefinition[] = [
  struck("lock", "late copy", {
    name: "lock: one locks, one frees it by force, late copy",
    processes: [[locking("lock")], [forcing("lock")]],
  }),
  struck("lock", "cut"),
  struck("fair", "cut"),
  struck("lock", "cut", { name: "lock: two lock, cut, and nothing is sent again", rules: NEVER_AGAIN }),
  struck("fair", "cut", { name: "fair: two lock, cut, and nothing is sent again", rules: NEVER_AGAIN }),
  ...([...KINDS, "spin", "multi"] as const).map((kind) => alone(kind)),
  ...([...KINDS, "multi"] as const).map((kind) =>
    alone(kind, { name: `${kind}: one locks, cut, and nothing is sent again`, rules: NEVER_AGAIN }),
  ),
  ...KINDS.map((kind) => struck(kind, "message lost")),
  ...KINDS.map((kind) => struck(kind, "kill")),
  alone("lock", {
    name: "lock: one locks a chosen id, and again, cut",
    processes: [[twice(underId("lock", 7))]],
    bound: { overtakes: 1, faults: 1, sorts: ["cut"] },
  }),
  alone("lock", { name: "lock: one locks, cut twice", bound: { ...PLAIN, faults: 2, sorts: ["cut"] } }),
];
