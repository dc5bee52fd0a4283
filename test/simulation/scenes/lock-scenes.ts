import type { LockKindName } from "../workload/lock-names.js";
import type { Bound, SceneDefinition } from "./scene.js";

const PLAIN: Bound = { overtakes: 0, faults: 0, sorts: [] };

function twoLock(kind: LockKindName): SceneDefinition {
  return {
    name: `${kind}: two lock and unlock`,
    kind,
    processes: [
      [(player) => player.lockAndUnlock(player.door(kind))],
      [(player) => player.lockAndUnlock(player.door(kind))],
    ],
    bound: PLAIN,
  };
}

export const LOCK_SCENES: readonly SceneDefinition[] = [twoLock("lock")];
