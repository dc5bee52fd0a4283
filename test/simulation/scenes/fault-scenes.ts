import type { LockKindName } from "../workload/lock-names.js";
import type { ResendRules } from "../world/command-link.js";
import type { FaultName } from "./deeds.js";
import { aborting, locking, PLAIN } from "./lock-scenes.js";
import type { SceneDefinition } from "./scene.js";

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

const KINDS = ["lock", "fair", "read-write", "fair read-write", "fenced"] as const;

export const FAULT_SCENES: readonly SceneDefinition[] = [
  ...KINDS.map((kind) => struck(kind, "cut")),
  ...KINDS.map((kind) =>
    struck(kind, "cut", { name: `${kind}: two lock, cut, and nothing is sent again`, rules: NEVER_AGAIN }),
  ),
  ...KINDS.map((kind) => struck(kind, "message lost")),
  ...KINDS.map((kind) => struck(kind, "messages cut")),
  ...KINDS.map((kind) => struck(kind, "kill")),
  struck("lock", "cut", {
    name: "lock: one locks, one aborts, cut",
    processes: [[locking("lock")], [aborting("lock")]],
  }),
  struck("lock", "cut", {
    name: "lock: one locks, cut twice",
    processes: [[locking("lock")]],
    bound: { ...PLAIN, faults: 2, sorts: ["cut"] },
  }),
];
