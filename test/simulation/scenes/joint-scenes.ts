import { type Door, type LockKindName, membersOf, openDoor } from "../workload/lock-names.js";
import { PLAIN } from "./lock-scenes.js";
import type { Player } from "./player.js";
import { NAME, type SceneDefinition, type Task } from "./scene.js";

type Half = "read" | "write";

/** The door of one of the locks that others take together. */
function memberDoor(player: Player, kind: LockKindName, half: Half, at: 0 | 1): Door {
  return openDoor(player.member, { kind, name: membersOf(NAME)[at] }, half);
}

/** The door of two locks of a kind that are taken together. */
function jointDoor(player: Player, kind: LockKindName, half: Half): Door {
  const [one, other] = [memberDoor(player, kind, half, 0), memberDoor(player, kind, half, 1)];
  const lock = player.holdfast.getMultiLock(one.lock, other.lock);
  return { ...one, kind: "multi", name: NAME, lock, members: membersOf(NAME) };
}

function both(kind: LockKindName, half: Half = "write"): Task {
  return (player) => player.lockAndUnlock(jointDoor(player, kind, half));
}

function tryingBoth(kind: LockKindName, half: Half = "write"): Task {
  return (player) => player.lockAndUnlock(jointDoor(player, kind, half), { waitMs: 0 });
}

function second(kind: LockKindName, half: Half = "write"): Task {
  return (player) => player.lockAndUnlock(memberDoor(player, kind, half, 1));
}

/** Enters both once more under the same id, and one of them a third time. */
function againAndAgain(kind: LockKindName): Task {
  return async (player) => {
    const [joint, one] = [jointDoor(player, kind, "write"), memberDoor(player, kind, "write", 1)];
    const id = { threadId: 7 };
    const shared = { sharesId: true };
    const outer = await player.lock(joint, id, shared);
    const inner = await player.lock(joint, id, shared);
    const third = await player.lock(one, id, shared);
    for (const [door, lease] of [
      [one, third],
      [joint, inner],
      [joint, outer],
    ] as const) {
      if (lease !== undefined) await player.unlock(door, lease);
    }
  };
}

function joint(title: string, one: Task, other: Task): SceneDefinition {
  return { name: `multi: ${title}`, kind: "multi", processes: [[one], [other]], bound: PLAIN, promptMs: 100 };
}

/** Locks of the other kinds, taken together. */
export const JOINT_SCENES: readonly SceneDefinition[] = [
  ...(["fair", "read-write", "fair read-write"] as const).flatMap((kind) => [
    joint(`two calls lock two ${kind} locks`, both(kind), both(kind)),
    joint(`one call tries two ${kind} locks, one locks the second`, tryingBoth(kind), second(kind)),
    joint(`one call locks two ${kind} locks, one locks the second`, both(kind), second(kind)),
    {
      name: `multi: one call enters two ${kind} locks again and again`,
      kind: "multi",
      processes: [[againAndAgain(kind)]],
      bound: PLAIN,
    },
  ]),
  ...(["read-write", "fair read-write"] as const).flatMap((kind) => [
    joint(`two calls read two ${kind} locks`, both(kind, "read"), both(kind, "read")),
    joint(`one call reads two ${kind} locks, one writes the second`, both(kind, "read"), second(kind)),
    joint(
      `one call tries to read two ${kind} locks, one writes the second`,
      tryingBoth(kind, "read"),
      second(kind),
    ),
  ]),
];
