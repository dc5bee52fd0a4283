import type { Lease } from "../../../src/lease.js";
import type { LockOptions } from "../../../src/options.js";
import { between, oneIn, pick } from "../draw.js";
import type { Asked, Caller } from "./caller.js";
import { afterMicrotasks } from "./client-steps.js";
import { familyOf } from "./families.js";
import type { Shared } from "./family.js";
import { type Door, type LockName, membersOf, openDoor } from "./lock-names.js";
import { abortsAfter, enter, leave, nested } from "./lock-steps.js";

/** Steps as in any other schedule. */
export async function usualSteps(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  for (let left = between(stream, 2, 5); left > 0; left -= 1) {
    await caller.pause(pick(stream, [1, 0, 10, 100]));
    await familyOf(shared).step(caller, shared);
  }
}

/** Stands in a queue again and again, for leases that are over as soon as an answer is late; often under one id. */
export async function queueForMoments(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  const door = doorOf(caller, shared);
  const id = door.isReentrant && oneIn(stream, 2) ? ownId(caller) : undefined;
  for (let left = between(stream, id === undefined ? 3 : 6, id === undefined ? 6 : 12); left > 0; left -= 1) {
    await caller.pause(pick(stream, [0, 0, 0, 5]));
    const mayWait = id === undefined ? !oneIn(stream, 6) : oneIn(stream, 4);
    const waitMs = mayWait ? undefined : pick(stream, [30, 10, 100]);
    const leaseMs = pick(stream, [60, 60, 150, undefined, undefined]);
    await hold(caller, door, { threadId: id, waitMs, leaseMs }, pick(stream, [5, 20, 50, 150, 400]));
  }
}

/** Enters what it holds again, on its own path. */
export async function enterAgain(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  for (let left = between(stream, 3, 6); left > 0; left -= 1) {
    await caller.pause(pick(stream, [1, 0, 20, 100]));
    await nested(caller, doorOf(caller, shared));
  }
}

/** Asks, and gives up at any moment. */
export async function askAndGiveUp(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  for (let left = between(stream, 3, 6); left > 0; left -= 1) {
    const door = doorOf(caller, shared);
    await caller.pause(pick(stream, [1, 0, 20, 300]));
    const signal = oneIn(stream, 2) ? abortsAfter(caller, pick(stream, [1, 0, 5, 30, 200])) : undefined;
    const waitMs = oneIn(stream, 2) ? pick(stream, [0, 10, 100, 1_000]) : undefined;
    const leaseMs = oneIn(stream, 4) ? 10_000 : undefined;
    await hold(caller, door, { signal, waitMs, leaseMs }, pick(stream, [1, 0, 20, 80]));
  }
}

/** Locks among other tasks of the process, with signals that abort when one of those calls. */
export async function abortAmongEachOther(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  for (let left = between(stream, 4, 8); left > 0; left -= 1) {
    const door = doorOf(caller, shared);
    await caller.pause(pick(stream, [0, 0, 1, 5]));
    const signal = oneIn(stream, 2) ? abortsAtCall(caller) : undefined;
    await hold(caller, door, { signal }, pick(stream, [1, 0, 2, 5]));
  }
}

/** For so long the tasks of the near process keep the lock among themselves. */
const BUSY_MS = 5_000;
/** In decision 029 a far waiter's first wait is 1.2 s at the longest. One that was lucky once may have to wait for ten seconds after that. */
const FIRST_WAIT_MS = 3_000;

/** The near process has the lock nearly all the time. The far one wants it, and gets it. */
export async function busyOrFar(caller: Caller, shared: Shared): Promise<void> {
  const { stream, scene, member, name } = caller;
  const door = doorOf(caller, shared);
  if (member.process.name === "p0") {
    const endUs = scene.nowUs() + BUSY_MS * 1_000;
    while (scene.nowUs() < endUs) await hold(caller, door, {}, 50);
    return;
  }
  if (!name.endsWith(".0")) return;
  await caller.pause(pick(stream, [300, 50, 1_000]));
  const startUs = scene.nowUs();
  await hold(caller, door, {}, 2);
  const waitedMs = (scene.nowUs() - startUs) / 1_000;
  if (waitedMs <= FIRST_WAIT_MS) return;
  scene.checker.fail("progress", `${name}: had to wait for ${waitedMs} ms beside others that came again`);
}

function doorOf({ member, stream }: Caller, shared: Shared): Door {
  return openDoor(member, shared as LockName, oneIn(stream, 3) ? "write" : "read");
}

function ownId(caller: Caller): number {
  return 10 + Number(caller.name.split(".")[1]);
}

/** Takes several locks at once, as one or each by itself, and gives them back at once: what is asked for together travels together. */
export async function takeSeveral(caller: Caller, shared: Shared): Promise<void> {
  const { stream, member } = caller;
  for (let left = between(stream, 3, 6); left > 0; left -= 1) {
    const doors = oneIn(stream, 2)
      ? [doorOf(caller, shared)]
      : membersOf(shared.name).map((name) => openDoor(member, { kind: "lock", name }, "write"));
    await caller.pause(pick(stream, [1, 0, 20, 300]));
    // Two tasks that each have one of the locks do not wait for each other for ever.
    const waitMs = pick(stream, [100, 10, 1_000]);
    await holdAll(caller, doors, { waitMs }, pick(stream, [1, 0, 20, 80]));
  }
}

/** Locks, stays for a while, and unlocks. */
export function hold(caller: Caller, door: Door, options: LockOptions, ms: number): Promise<void> {
  return holdAll(caller, [door], options, ms);
}

/** Has all that it is given of these locks for a while. */
async function holdAll(
  caller: Caller,
  doors: readonly Door[],
  options: LockOptions,
  ms: number,
): Promise<void> {
  const taken = await Promise.all(doors.map((door) => take(caller, door, options)));
  const held = taken.filter((each) => each !== undefined);
  if (held.length === 0) return;
  await caller.pause(ms);
  await Promise.all(held.map((each) => giveBack(caller, each)));
}

interface Taken {
  readonly asked: Asked;
  readonly lease: Lease;
}

async function take(caller: Caller, door: Door, options: LockOptions): Promise<Taken | undefined> {
  const { threadId, waitMs, leaseMs, signal } = options;
  const words = Object.entries({ threadId, waitMs, leaseMs }).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key} ${value}`],
  );
  const half = door.mode === "shared" ? " (read)" : "";
  const asked: Asked = {
    what: `lock ${door.kind} "${door.name}"${half} ${words.join(", ")}`.trimEnd(),
    names: door.members,
    waitMs: waitMs ?? Number.POSITIVE_INFINITY,
    leaseMs,
    signal: signal ?? undefined,
    isAlone: true,
    reads: door.mode === "shared",
    polls: door.kind === "spin",
    sharesId: threadId !== undefined,
  };
  const became = await caller.call(asked, () => door.lock.lock(options));
  if (!became.ok) return undefined;
  enter(caller, door, became.value, options);
  return { asked, lease: became.value };
}

async function giveBack(caller: Caller, { asked, lease }: Taken): Promise<void> {
  const mayBeOver = leave(caller, lease);
  await caller.call({ ...asked, what: "unlock", isAlone: false, mayBeOver }, () => lease.unlock());
}

/** Aborts when a task of the process has called, a few microtasks later: amid what that call does. */
function abortsAtCall(caller: Caller): AbortSignal {
  const { member, stream } = caller;
  const controller = new AbortController();
  const microtasks = stream.choose(12);
  let left = 2 + stream.choose(6);
  const called = () => {
    left -= 1;
    if (left > 0) return;
    member.whenCalled.delete(called);
    afterMicrotasks(microtasks, () => controller.abort(new Error("the caller has lost interest")));
  };
  member.whenCalled.add(called);
  caller.say(`will abort after ${left} calls and ${microtasks} microtasks`);
  return controller.signal;
}
