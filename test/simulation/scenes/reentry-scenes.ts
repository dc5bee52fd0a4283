import type { Lease } from "../../../src/lease.js";
import type { LockOptions } from "../../../src/options.js";
import type { ResendRules } from "../world/command-link.js";
import { PLAIN } from "./lock-scenes.js";
import type { Player } from "./player.js";
import type { SceneDefinition, Task } from "./scene.js";

const NEVER_AGAIN: ResendRules = { resends: false, queues: true };
/** Several holds of one thread. */
const ID = { threadId: 7 };

function lockAs(player: Player, half: "read" | "write", options: LockOptions): Promise<Lease | undefined> {
  return player.lock(player.door("read-write", half), options, { sharesId: true });
}

/** Reads twice, for longer the second time, and another thread comes and goes; then somebody wants to write. */
const readingTwice: Task = async (player) => {
  const [read, write] = [player.door("read-write", "read"), player.door("read-write", "write")];
  const brief = await lockAs(player, "read", { ...ID, leaseMs: 300 });
  const long = await lockAs(player, "read", { ...ID, leaseMs: 60_000 });
  if (brief === undefined || long === undefined) return;
  await player.unlock(read, brief);
  const other = await lockAs(player, "read", { threadId: 8 });
  if (other !== undefined) await player.unlock(read, other);
  await player.pause(400);
  const writing = await lockAs(player, "write", { threadId: 9, waitMs: 0 });
  if (writing !== undefined) await player.unlock(write, writing);
  await player.unlock(read, long);
};

/**
 * Gives back a hold, and while that is on its way two more, which one command takes away. When a lost answer to that is asked for once
 * more, the hold that is left has run out.
 */
const leavingTogether: Task = async (player) => {
  const door = player.door("read-write");
  const outer = await lockAs(player, "write", { ...ID, leaseMs: 1_000 });
  const inner: Lease[] = [];
  while (inner.length < 3) {
    const lease = await lockAs(player, "write", ID);
    if (lease === undefined) return;
    inner.push(lease);
  }
  await player.pause(985);
  await Promise.all(inner.map((lease) => player.unlock(door, lease)));
  await player.pause(10);
  if (outer !== undefined) await player.unlock(door, outer);
};

/** Gives back an inner hold, and the outer one as soon as that is lost, be the other release answered or not. */
const leavingWhatIsLost: Task = async (player) => {
  const door = player.door("lock");
  const shared = { sharesId: true };
  const outer = await player.lock(door, { ...ID, maxHoldMs: 500 }, shared);
  const inner = await player.lock(door, ID, shared);
  const leaving = inner === undefined ? undefined : player.unlock(door, inner);
  if (outer !== undefined) {
    await aborted(outer.signal);
    await player.unlock(door, outer);
  }
  await leaving;
};

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Several holds of one thread, of which one ends in another way than the others. */
export const REENTRY_SCENES: readonly SceneDefinition[] = [
  {
    name: "read-write: one reads twice, a second thread reads, a third one would write, cut",
    kind: "read-write",
    processes: [[readingTwice]],
    bound: { ...PLAIN, faults: 1, sorts: ["cut"] },
    promptMs: 400,
  },
  {
    name: "read-write: one gives three holds back, and the last one ends, cut, and nothing is sent again",
    kind: "read-write",
    processes: [[leavingTogether]],
    bound: { ...PLAIN, faults: 1, sorts: ["cut"] },
    rules: NEVER_AGAIN,
    promptMs: 1_000,
  },
  {
    name: "lock: one gives an inner hold back while the outer one is lost",
    kind: "lock",
    processes: [[leavingWhatIsLost]],
    bound: { ...PLAIN, overtakes: 1 },
    promptMs: 500,
  },
];
