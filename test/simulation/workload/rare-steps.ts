import { between, oneIn, pick } from "../draw.js";
import type { Asked, Caller } from "./caller.js";
import { clientStep } from "./client-steps.js";
import { familyOf } from "./families.js";
import type { Shared } from "./family.js";
import { fleetStep } from "./fleet-steps.js";
import { mayExtend } from "./lease-ends.js";
import { type Door, type LockName, openDoor } from "./lock-names.js";
import { abortsAfter, enter, leave } from "./lock-steps.js";
import { hold, usualSteps } from "./mix-steps.js";
import { several, visitOf } from "./permit-steps.js";

/** Takes a lock by a fixed lease which is set anew, or runs out: then the first of those who wait asks by itself. */
export async function extendOrLapse(caller: Caller, shared: Shared): Promise<void> {
  const { stream, member } = caller;
  const { commandTimeoutMs } = member.plan.options;
  for (let left = between(stream, 2, 5); left > 0; left -= 1) {
    await caller.pause(pick(stream, [0, 1, 20]));
    const door = openDoor(member, shared as LockName, "write");
    const leaseMs = pick(stream, [150, 300, commandTimeoutMs / 2]);
    const asked = askedFor(door, leaseMs);
    const became = await caller.call({ ...asked, isAlone: true }, () => door.lock.lock({ leaseMs }));
    if (!became.ok) continue;
    enter(caller, door, became.value, { leaseMs });
    if (oneIn(stream, 2)) await caller.pause(leaseMs * 1.5);
    else await mayExtend(caller, became.value, asked);
    await giveBack(caller, asked, became.value);
  }
}

/** For so long, so that what is not given back is missed. */
const LONG_MS = 50_000;

/** Is handed a lock whose lease is nearly over, for long, loses it before Redis has answered, and gives it back all the same. */
export async function loseAndGiveBack(caller: Caller, shared: Shared): Promise<void> {
  const { stream, member } = caller;
  const { watchdogMs } = member.plan.options;
  for (let left = between(stream, 3, 6); left > 0; left -= 1) {
    await caller.pause(pick(stream, [0, 1, 5]));
    const door = openDoor(member, shared as LockName, "write");
    const leaseMs = pick(stream, [undefined, watchdogMs, LONG_MS]);
    const asked = askedFor(door, leaseMs);
    const became = await caller.call({ ...asked, isAlone: true }, () => door.lock.lock({ leaseMs }));
    if (!became.ok) continue;
    enter(caller, door, became.value, { leaseMs });
    await caller.pause(watchdogMs * pick(stream, [0.01, 0.1, 1.1, 0.4]));
    await giveBack(caller, asked, became.value);
  }
}

/** Reads beside others for long, and writes now and then. */
export async function readBesideReaders(caller: Caller, shared: Shared): Promise<void> {
  const { stream, member } = caller;
  for (let left = between(stream, 2, 4); left > 0; left -= 1) {
    await caller.pause(pick(stream, [0, 1, 20, 200]));
    const door = openDoor(member, shared as LockName, oneIn(stream, 4) ? "write" : "read");
    const ms = door.mode === "shared" ? pick(stream, [1_500, 50, 4_000]) : pick(stream, [50, 5, 300]);
    await hold(caller, door, {}, ms);
  }
}

/** Names permits of several leases at once, again and again. */
export async function severalLeases(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  const visit = await visitOf(caller, shared.name);
  for (let left = between(stream, 2, 4); left > 0; left -= 1) {
    await caller.pause(pick(stream, [0, 1, 20]));
    await several(visit);
  }
}

/** Steps as in any other schedule, close upon each other; a pause lets the channels of a client close. */
export async function manySteps(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  for (let left = between(stream, 4, 10); left > 0; left -= 1) {
    await caller.pause(pick(stream, [0, 0, 1, 5, 50, 12_000]));
    await familyOf(shared).step(caller, shared);
  }
}

/** Steps as in any other schedule, for several beats. */
export async function stepsAmidBeats(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  for (let left = between(stream, 4, 8); left > 0; left -= 1) {
    await caller.pause(pick(stream, [300, 20, 1_000]));
    await familyOf(shared).step(caller, shared);
    if (oneIn(stream, 4)) await fleetStep(caller);
  }
}

/** Steps as in any other schedule, while one task closes the client. */
export async function stepsUntilClosed(caller: Caller, shared: Shared): Promise<void> {
  const { stream, name } = caller;
  if (name.endsWith(".0")) {
    await caller.pause(pick(stream, [20, 5, 100, 400]));
    await clientStep(caller);
  } else await usualSteps(caller, shared);
}

function askedFor(door: Door, leaseMs: number | undefined): Asked {
  return {
    what: `lock ${door.kind} "${door.name}", leaseMs ${leaseMs}`,
    names: door.members,
    waitMs: Number.POSITIVE_INFINITY,
    leaseMs,
  };
}

async function giveBack(caller: Caller, asked: Asked, lease: Parameters<typeof leave>[1]): Promise<void> {
  const mayBeOver = leave(caller, lease);
  await caller.call({ ...asked, what: "unlock", mayBeOver }, () => lease.unlock());
}

/** Has a lock again and again that others want as well, for a moment each; some calls give up, and a pause lets the channels of a client close. */
export function takeTurns(caller: Caller, shared: Shared): Promise<void> {
  return takeTurnsAs(caller, () => shared as LockName);
}

/** The same, by a spin lock of that name as often as not. */
export function takeTurnsOrSpin(caller: Caller, { kind, name }: Shared): Promise<void> {
  const { stream } = caller;
  return takeTurnsAs(caller, () => ({ kind: oneIn(stream, 2) ? "spin" : kind, name }) as LockName);
}

async function takeTurnsAs(caller: Caller, nextLock: () => LockName): Promise<void> {
  const { stream, member } = caller;
  for (let left = between(stream, 4, 10); left > 0; left -= 1) {
    const door = openDoor(member, nextLock(), "write");
    await caller.pause(pick(stream, [0, 0, 1, 5, 50, 12_000]));
    const signal = oneIn(stream, 4) ? abortsAfter(caller, pick(stream, [0, 1, 5, 30])) : undefined;
    const waitMs = oneIn(stream, 4) ? pick(stream, [5, 20, 100, 0]) : undefined;
    const leaseMs = oneIn(stream, 8) ? 100 : undefined;
    await hold(caller, door, { signal, waitMs, leaseMs }, pick(stream, [2, 0, 5, 20, 150]));
  }
}
