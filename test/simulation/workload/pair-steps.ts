import type { Lease } from "../../../src/lease.js";
import { between, oneIn, pick } from "../draw.js";
import type { Asked, Caller } from "./caller.js";
import type { Shared } from "./family.js";
import { type Door, type LockName, openDoor } from "./lock-names.js";
import { enter, forceNow, leave } from "./lock-steps.js";

/** A hold of one half of a pair. */
interface Entry {
  readonly door: Door;
  readonly lease: Lease;
  readonly asked: Asked;
}

/** Under an id of its own: enters both halves of a pair, each with a lease of its own, and leaves them in any order. */
export async function bothHalves(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  for (let left = between(stream, 2, 4); left > 0; left -= 1) {
    await caller.pause(pick(stream, [0, 1, 20, 100]));
    if (oneIn(stream, 8)) await forceNow(caller, doorOf(caller, shared, oneIn(stream, 2) ? "write" : "read"));
    else await stay(caller, shared);
  }
}

async function stay(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  const entries: Entry[] = [];
  for (let left = between(stream, 2, 4); left > 0; left -= 1) {
    // Who only reads is not to write.
    const mayWrite = entries.length === 0 || entries.some(({ door }) => door.mode === "exclusive");
    const half = mayWrite && oneIn(stream, 2) ? "write" : "read";
    const entry = await enterHalf(caller, doorOf(caller, shared, half), entries);
    if (entry === undefined) break;
    entries.push(entry);
    await caller.pause(pick(stream, [0, 1, 5, 50, 300]));
  }
  while (entries.length > 0) {
    const [entry] = entries.splice(stream.choose(entries.length), 1);
    if (entry !== undefined) await leaveHalf(caller, entry);
    await caller.pause(pick(stream, [0, 5, 50, 300]));
  }
}

async function enterHalf(caller: Caller, door: Door, around: readonly Entry[]): Promise<Entry | undefined> {
  const { stream } = caller;
  const leaseMs = pick(stream, [undefined, undefined, 150, 400, 2_000]);
  const waitMs = oneIn(stream, 3) ? pick(stream, [100, 0, 1_000]) : undefined;
  const half = door.mode === "shared" ? " (read)" : "";
  const asked: Asked = {
    what: `lock ${door.kind} "${door.name}"${half}, hold ${around.length + 1}, leaseMs ${leaseMs}, waitMs ${waitMs}`,
    names: door.members,
    waitMs: waitMs ?? Number.POSITIVE_INFINITY,
    leaseMs,
    around: around.map((entry) => entry.asked),
    isAlone: true,
    reads: door.mode === "shared",
    sharesId: true,
  };
  const threadId = 10 + Number(caller.name.split(".")[1]);
  const became = await caller.call(asked, () => door.lock.lock({ leaseMs, waitMs, threadId }));
  if (!became.ok) return undefined;
  enter(caller, door, became.value, { leaseMs });
  return { door, lease: became.value, asked };
}

async function leaveHalf(caller: Caller, { lease, asked }: Entry): Promise<void> {
  const mayBeOver = leave(caller, lease);
  await caller.call({ ...asked, what: `unlock of ${asked.what}`, isAlone: false, mayBeOver }, () =>
    lease.unlock(),
  );
}

function doorOf({ member }: Caller, shared: Shared, half: "read" | "write"): Door {
  return openDoor(member, shared as LockName, half);
}
