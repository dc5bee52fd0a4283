import type { LockOptions } from "../../../src/options.js";
import { between, oneIn, pick } from "../draw.js";
import { begins } from "./bodies.js";
import type { Asked, Caller } from "./caller.js";
import type { Shared } from "./family.js";
import { type Door, type LockName, membersOf, openDoor } from "./lock-names.js";
import { enter, forceNow, forget, leave } from "./lock-steps.js";

/** Enters what it has again and again, for parts of a lease and for more than one, so that releases and renewals meet. */
export async function stayOn(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  for (let left = between(stream, 2, 4); left > 0; left -= 1) {
    await caller.pause(pick(stream, [1, 0, 20, 100]));
    const door = openDoor(caller.member, shared as LockName, oneIn(stream, 4) ? "write" : "read");
    await enterDeeper(caller, door, door.isReentrant ? between(stream, 1, 3) : 1);
  }
}

async function enterDeeper(caller: Caller, door: Door, depth: number, outer?: Asked): Promise<void> {
  const { stream, member } = caller;
  const { watchdogMs } = member.plan.options;
  const asked = askedFor(door, `using, ${depth} deep`, outer === undefined ? [] : [outer]);
  await caller.call(asked, () =>
    door.lock.using(async (lease) => {
      begins(caller, door, lease);
      enter(caller, door, lease);
      const ms = pick(stream, [20, 1, watchdogMs / 6, watchdogMs / 3, watchdogMs * 1.2]);
      await caller.pause(ms);
      if (depth > 1) await enterDeeper(caller, door, depth - 1, asked);
      await caller.pause(pick(stream, [0, 5, watchdogMs / 6, watchdogMs / 3]));
      leave(caller, lease);
    }),
  );
}

/** Has a lock for longer than one of its leases lasts, whatever befalls the renewals. */
export async function outliveLeases(caller: Caller, shared: Shared): Promise<void> {
  const { stream, member } = caller;
  const { watchdogMs } = member.plan.options;
  for (let left = between(stream, 1, 3); left > 0; left -= 1) {
    await caller.pause(pick(stream, [1, 0, 100]));
    const door = openDoor(member, shared as LockName, oneIn(stream, 2) ? "write" : "read");
    const asked = askedFor(door, "lock");
    const became = await caller.call({ ...asked, isAlone: true }, () => door.lock.lock());
    if (!became.ok) continue;
    enter(caller, door, became.value);
    await caller.pause(watchdogMs * pick(stream, [1.5, 2.5, 0.5]));
    const mayBeOver = leave(caller, became.value);
    await caller.call({ ...asked, what: "unlock", mayBeOver }, () => became.value.unlock());
  }
}

/** Has several locks as one, or frees one of them by force. What it is told to have lost it does not give back. */
export async function losePartOfSeveral(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  const whole = shared as LockName;
  for (let left = between(stream, 2, 4); left > 0; left -= 1) {
    await caller.pause(pick(stream, [1, 0, 50, 300]));
    const part: LockName = { kind: "lock", name: pick(stream, membersOf(whole.name)) };
    if (oneIn(stream, 4)) await forceNow(caller, openDoor(caller.member, part, "write"));
    else await keepIfLost(caller, openDoor(caller.member, oneIn(stream, 3) ? part : whole, "write"));
  }
}

async function keepIfLost(caller: Caller, door: Door): Promise<void> {
  const { stream, member } = caller;
  const { watchdogMs } = member.plan.options;
  const asked = askedFor(door, "lock");
  const became = await caller.call({ ...asked, isAlone: true }, () => door.lock.lock());
  if (!became.ok) return;
  enter(caller, door, became.value);
  await caller.pause(pick(stream, [20, 100, watchdogMs / 2, watchdogMs * 1.5]));
  const isLost = became.value.state === "lost";
  const mayBeOver = leave(caller, became.value, !isLost);
  if (isLost) caller.say("has lost its lease, and does not give it back");
  else await caller.call({ ...asked, what: "unlock", mayBeOver }, () => became.value.unlock());
}

function askedFor(door: Door, what: string, around: readonly Asked[] = []): Asked {
  const half = door.mode === "shared" ? " (read)" : "";
  return {
    what: `${what} ${door.kind} "${door.name}"${half}`,
    names: door.members,
    waitMs: Number.POSITIVE_INFINITY,
    reads: door.mode === "shared",
    around,
  };
}

/** For so long at least, so that whatever somebody who gave up has left behind is gone by then. */
const LONG_MS = 12_000;

/** One keeps everybody waiting for long. Of those who wait some give up at once, and others do not. */
export async function waitForLong(caller: Caller, shared: Shared): Promise<void> {
  const { stream, member, name } = caller;
  const half = oneIn(stream, 2) ? "write" : "read";
  const isLong = name === "p0.0";
  const door = openDoor(member, shared as LockName, isLong ? "write" : half);
  await caller.pause(isLong ? 0 : pick(stream, [100, 500, 2_000]));
  const waitMs = isLong || oneIn(stream, 2) ? undefined : pick(stream, [300, 30, 1_500]);
  const options: LockOptions = { waitMs };
  const asked = { ...askedFor(door, "lock"), waitMs: waitMs ?? Number.POSITIVE_INFINITY, isAlone: true };
  const became = await caller.call(asked, () => door.lock.lock(options));
  if (!became.ok) return;
  enter(caller, door, became.value);
  await caller.pause(isLong ? LONG_MS + stream.choose(3_000) : 5);
  const mayBeOver = leave(caller, became.value);
  const released = { ...asked, what: "unlock", isAlone: false, mayBeOver };
  await caller.call(released, () => became.value.unlock());
}

/** Reads beside many others, and drops a lease now and then. */
export async function dropSome(caller: Caller, shared: Shared): Promise<void> {
  const { stream, member } = caller;
  for (let left = between(stream, 4, 8); left > 0; left -= 1) {
    await caller.pause(pick(stream, [1, 0, 5, 20]));
    const door = openDoor(member, shared as LockName, oneIn(stream, 8) ? "write" : "read");
    const asked = askedFor(door, "lock");
    const became = await caller.call({ ...asked, isAlone: true }, () => door.lock.lock());
    if (!became.ok) continue;
    enter(caller, door, became.value);
    await caller.pause(pick(stream, [5, 1, 20, 50]));
    const isForgotten = oneIn(stream, 8);
    const mayBeOver = leave(caller, became.value, !isForgotten);
    if (isForgotten) forget(caller, door, became.value);
    else await caller.call({ ...asked, what: "unlock", mayBeOver }, () => became.value.unlock());
  }
}

/** Has a lock for as long as its lease lasts, which often is a fixed one, or for a part of that. */
export async function holdLong(caller: Caller, shared: Shared): Promise<void> {
  const { stream, member } = caller;
  for (let left = between(stream, 1, 3); left > 0; left -= 1) {
    await caller.pause(pick(stream, [1, 0, 300, 1_000]));
    const door = openDoor(member, shared as LockName, oneIn(stream, 3) ? "write" : "read");
    const leaseMs = oneIn(stream, 6) ? undefined : pick(stream, [10_000, 6_000, 2_000]);
    const asked = { ...askedFor(door, `lock, leaseMs ${leaseMs},`), leaseMs };
    const became = await caller.call({ ...asked, isAlone: true }, () => door.lock.lock({ leaseMs }));
    if (!became.ok) continue;
    enter(caller, door, became.value, { leaseMs });
    await caller.pause(pick(stream, [1_000, 5_000, 9_000]));
    const mayBeOver = leave(caller, became.value);
    await caller.call({ ...asked, what: "unlock", mayBeOver }, () => became.value.unlock());
  }
}
