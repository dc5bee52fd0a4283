import { LeaseLostError, NotHeldError, UnavailableError } from "../../../src/errors.js";
import type { FencedLease, Lease } from "../../../src/lease.js";
import type { LockOptions } from "../../../src/options.js";
import type { Part } from "../checker/checker.js";
import type { Stream } from "../chooser/chooser.js";
import { oneIn, pick } from "../draw.js";
import { askHolder, askLock } from "./ask-lock.js";
import { begins, isHere } from "./bodies.js";
import type { Asked, Caller } from "./caller.js";
import { shortestLeaseMs } from "./count-calls.js";
import type { Family } from "./family.js";

import { findLocks } from "./find-locks.js";

import { isKept, isKeptOrLeft, keepForMs, mayExtend } from "./lease-ends.js";

import { type Door, LOCK_KINDS, type LockName, membersOf, openDoor } from "./lock-names.js";
import type { Member } from "./member.js";
import { longestWatchdogMs } from "./plan.js";
import { readLease } from "./read-lease.js";
import { forceSeen, ping } from "./tool-steps.js";

/** The reasons for which a lease ends by itself. */
const OVER = ["expired", "unreachable", "max-hold"];
/** What makes it later between two statements of one turn. */
const BETWEEN = ["stall", "clock step"];

/** The options of one call, and how it is called in the history. */
interface Wish {
  readonly options: LockOptions;
  readonly asked: Asked;
}

const FORMS = [
  "lock",
  "lock",
  "using",
  "tryLock",
  "nested",
  "siblings",
  "as thread",
  "chosen id",
  "look",
  "force",
] as const;
type Form = (typeof FORMS)[number];

/** All locks that have one server. */
export const locks: Family = {
  kinds: LOCK_KINDS,
  heldKeys: ({ kind, name }) => (kind === "multi" ? membersOf(name) : [name]),
  async step(caller, shared) {
    const { stream, member } = caller;
    const door = openDoor(
      member,
      wholeOrMember(stream, shared as LockName),
      oneIn(stream, 3) ? "write" : "read",
    );
    await FORM_STEPS[pick(stream, FORMS)](caller, door);
  },
};

/** Somebody may want but one of the locks that others take together. */
function wholeOrMember(stream: Stream, { kind, name }: LockName): LockName {
  return kind === "multi" && oneIn(stream, 3)
    ? { kind: "lock", name: pick(stream, membersOf(name)) }
    : { kind, name };
}

const FORM_STEPS: Readonly<Record<Form, (caller: Caller, door: Door) => Promise<void>>> = {
  lock: lockAndUnlock,
  using,
  tryLock,
  nested,
  siblings,
  "as thread": asThread,
  "chosen id": chosenId,
  look,
  force,
};

async function lockAndUnlock(caller: Caller, door: Door): Promise<void> {
  const wish = wishOf(caller, door, "lock", 4);
  const became = await caller.call(wish.asked, () => door.lock.lock(wish.options));
  if (became.ok) await hold(caller, door, became.value, wish);
}

async function tryLock(caller: Caller, door: Door): Promise<void> {
  const wish = wishOf(caller, door, "tryLock", 2);
  const became = await caller.call(wish.asked, () => door.lock.tryLock(wish.options));
  if (became.ok && became.value !== null) await hold(caller, door, became.value, wish);
}

async function using(caller: Caller, door: Door): Promise<void> {
  const wish = wishOf(caller, door, "using", 4);
  await caller.call(wish.asked, () =>
    door.lock.using(wish.options, async (lease) => {
      begins(caller, door, lease);
      enter(caller, door, lease, wish.options);
      await caller.pause(holdMs(caller));
      isHere(caller, door, lease);
      await mayExtend(caller, lease, wish.asked);
      leave(caller, lease);
    }),
  );
}

/** Enters what it holds once more, on its own path. */
export async function nested(caller: Caller, door: Door): Promise<void> {
  if (!door.isReentrant || caller.member.plan.options.reentry === "explicit") return using(caller, door);
  const wish = wishOf(caller, door, "using, nested", 4);
  const inner = wishOf(caller, door, "inner", 4, wish.asked);
  await caller.call(wish.asked, () =>
    door.lock.using(wish.options, async (outer) => {
      begins(caller, door, outer);
      enter(caller, door, outer, wish.options);
      await caller.pause(holdMs(caller));
      await caller.call(inner.asked, () =>
        door.lock.using(inner.options, async (lease) => {
          begins(caller, door, lease);
          countsUp(caller, door, outer, lease);
          enter(caller, door, lease, inner.options);
          await caller.pause(holdMs(caller));
          if (!isJoint(door) && oneIn(caller.looks, 4)) await askHolder(caller, door, lease);
          await mayExtend(caller, lease, inner.asked);
          await mayExtend(caller, outer, wish.asked);
          leave(caller, lease);
        }),
      );
      leave(caller, outer);
    }),
  );
}

/** Two flows of one path enter what it holds at once: they take turns. */
async function siblings(caller: Caller, door: Door): Promise<void> {
  if (!door.isReentrant || caller.member.plan.options.reentry === "explicit") return using(caller, door);
  const wish = wishOf(caller, door, "using, with siblings", 4);
  await caller.call(wish.asked, () =>
    door.lock.using(wish.options, async (outer) => {
      begins(caller, door, outer);
      enter(caller, door, outer, wish.options);
      const sibling = async (which: string) => {
        const inner = wishOf(caller, door, which, 4, wish.asked);
        await caller.call(inner.asked, () =>
          door.lock.using(inner.options, async (lease) => {
            begins(caller, door, lease);
            countsUp(caller, door, outer, lease);
            enter(caller, door, lease, inner.options);
            await caller.pause(holdMs(caller));
            leave(caller, lease);
          }),
        );
      };
      await Promise.all([sibling("first sibling"), sibling("second sibling")]);
      leave(caller, outer);
    }),
  );
}

/** It tells how often its thread had the lock then. The hold within may have come from other servers of a red lock than the one around. */
function countsUp({ scene, name }: Caller, { kind }: Door, outer: Lease, inner: Lease): void {
  if (kind === "red" && inner.holdCount > 0) return;
  if (!scene.checker.believes(outer) || inner.holdCount === outer.holdCount + 1) return;
  scene.checker.fail(
    "truth",
    `${name}: the hold in hold ${outer.holdCount} is told to be ${inner.holdCount}`,
  );
}

/** In Redisson's style: lock and unlock by the thread. */
async function asThread(caller: Caller, door: Door): Promise<void> {
  const asked = { what: "asThread", names: door.members, waitMs: Number.POSITIVE_INFINITY };
  await caller.call(asked, () =>
    inAll(caller.member.clients, async () => {
      const wish = wishOf(caller, door, "lock, as a thread", 4);
      const became = await caller.call(wish.asked, () => door.lock.lock(wish.options));
      if (!became.ok) return;
      enter(caller, door, became.value, wish.options);
      await caller.pause(holdMs(caller));
      const mayBeOver = leave(caller, became.value, false);
      await caller.call({ ...wish.asked, what: "unlock, as a thread", mayBeOver }, () => door.lock.unlock());
    }),
  );
}

/** As one thread of each client. */
function inAll(clients: Member["clients"], body: () => Promise<void>): Promise<void> {
  return clients.reduceRight((inner, client) => () => client.asThread(inner), body)();
}

/** Under an id that others of the process choose as well, or under one of its own. */
async function chosenId(caller: Caller, door: Door): Promise<void> {
  const own = 10 + Number(caller.name.split(".")[1]);
  const threadId = pick(caller.stream, [1, 2, own]);
  if (!door.isReentrant && threadId !== own) return lockAndUnlock(caller, door);
  const { options, asked } = wishOf(caller, door, `lock as ${threadId}`, 4);
  const became = await caller.call({ ...asked, sharesId: true }, () =>
    door.lock.lock({ ...options, threadId }),
  );
  if (!became.ok) return;
  enter(caller, door, became.value, options);
  await caller.pause(holdMs(caller));
  const mayBeOver = leave(caller, became.value, threadId !== own);
  if (threadId === own) {
    const unlocked = await caller.call({ ...asked, what: `unlock(${threadId})`, mayBeOver }, () =>
      door.lock.unlock(threadId),
    );
    // Of a joint lock that has lost members only the lease knows the others.
    if (!unlocked.ok && isJoint(door)) {
      await caller.call({ ...asked, what: "unlock", mayBeOver }, () => became.value.unlock());
    }
  } else await caller.call({ ...asked, what: "unlock" }, () => became.value.unlock());
}

async function look(caller: Caller, door: Door): Promise<void> {
  if (oneIn(caller.finds, 4)) await findLocks(caller);
  if (isJoint(door)) return;
  if (oneIn(caller.tools, 8)) await ping(caller);
  else await askLock(caller, door);
}

async function force(caller: Caller, door: Door): Promise<void> {
  if (!oneIn(caller.stream, 4) || isJoint(door)) return lockAndUnlock(caller, door);
  if (oneIn(caller.tools, 2)) await forceSeen(caller, door);
  else await forceNow(caller, door);
}

/** Frees a lock by force. */
export async function forceNow(caller: Caller, door: Door): Promise<void> {
  caller.scene.trouble.begin("force-unlock", door.name, 0, true);
  const resolved = caller.scene.holders.forces(door.name, caller.member.process.name);
  const forced = await caller.call(
    { what: `forceUnlock of "${door.name}"`, names: door.members, waitMs: 0, isForce: true },
    () => door.lock.forceUnlock(),
  );
  if (!forced.ok) return;
  resolved();
  caller.scene.checker.look();
}

/** Has a lock for a while, and gives it back. */
export async function hold(
  caller: Caller,
  door: Door,
  lease: Lease,
  { asked, options }: Wish,
): Promise<void> {
  enter(caller, door, lease, options);
  await caller.pause(holdMs(caller));
  await mayExtend(caller, lease, asked);
  if (oneIn(caller.stream, 6)) readLease(caller, lease);
  if (!isJoint(door) && oneIn(caller.looks, 8)) await askHolder(caller, door, lease);
  const isForgotten = oneIn(caller.stream, 16);
  leave(caller, lease, !isForgotten);
  if (isForgotten) {
    forget(caller, door, lease);
    return;
  }
  const calledUs = caller.scene.nowUs();
  const keptMs = keepForMs(caller, door);
  const what = keptMs === undefined ? "unlock" : `unlock, and keep for ${keptMs} ms`;
  const unlocked = await caller.call({ ...asked, what }, () =>
    lease.unlock(keptMs === undefined ? undefined : { keepForMs: keptMs }),
  );
  if (unlocked.ok && keptMs !== undefined) isKept(caller, door, lease, keptMs, calledUs);
  const isOpen = !unlocked.ok && unlocked.error instanceof UnavailableError;
  if (isOpen && keptMs !== undefined) isKeptOrLeft(caller, door, lease, calledUs);
  // What another call of the client waits for passes to it, and nothing is sent.
  const mayPass = /^(?:lock|non-reentrant)$/.test(door.kind) && caller.member.plan.options.handOff !== false;
  if (unlocked.ok && !mayPass) caller.scene.losses.released(lease, calledUs);
  const cause = !unlocked.ok && unlocked.error instanceof NotHeldError && unlocked.error.cause;
  if (cause instanceof LeaseLostError) caller.scene.losses.toldBy(lease, cause);
}

/** It has no such lease any more, and has not given it back. */
export function forget(caller: Caller, door: Door, lease: Lease): void {
  const { scene, member } = caller;
  caller.say("forgets its lease");
  for (const name of door.members) scene.checker.forgotten.add(`${member.process.name} ${name}`);
  scene.environment.forget(lease);
}

/** A lease has been handed out. */
export function enter(caller: Caller, door: Door, lease: Lease, options: LockOptions = {}): void {
  const { checker } = caller.scene;
  const { process } = caller.member;
  const label = `${caller.name} in ${door.kind} "${door.name}"${door.mode === "shared" ? " (read)" : ""}`;
  const token = door.kind === "fenced" ? (lease as FencedLease).token : undefined;
  const { startUs } = caller;
  const { leaseMs, maxHoldMs } = options;
  // Its own code may have been stopped in the midst of the call.
  const aheadMs = (process.nowUs - caller.scene.nowUs()) / 1_000;
  const latestMs = maxHoldMs && process.instant.monotonicMs + aheadMs + maxHoldMs;
  if (oneIn(caller.stream, 4)) caller.scene.signals.listen(lease, label, process);
  const terms = { isFixed: leaseMs !== undefined, latestMs };
  const parts = partsOf(door, lease);
  isWhole(caller, door, lease, label);
  caller.scene.redTerms?.began(lease, options, caller.member.plan);
  // A hold within others is renewed as long as they are.
  const longestMs = leaseMs ?? longestWatchdogMs(caller.member.plan);
  for (const { name, owners } of parts) {
    for (const owner of owners) caller.scene.holders.handedOut(name, owner, longestMs);
  }
  checker.entered({ process, lease, parts, kind: door.kind, label, startUs, ...terms }, token);
  isOfUse(caller, lease, label);
}

/** A joint lease has as many of its locks as it needs at the moment at which it is handed out. */
function isWhole({ scene, member }: Caller, { kind }: Door, lease: Lease, label: string): void {
  if (!isJoint({ kind }) || lease.state !== "held") return;
  const { members } = (lease as unknown as JointlyBelieved).believed;
  const needed = kind === "multi" ? 2 : Math.floor(member.clients.length / 2) + 1;
  const has = members.filter(({ hold }) => hold.state === "held").length;
  if (has < needed) {
    scene.checker.fail("exclusion", `${label} was handed out with ${has} locks of ${needed} that it needs`);
  }
}

/** The time of what is handed out is not over at that moment. It may be taken in the same turn. */
function isOfUse({ scene, member }: Caller, lease: Lease, label: string): void {
  const { checker, trouble, nowUs } = scene;
  if (checker.believes(lease) || trouble.has(member.process.name, nowUs(), BETWEEN)) return;
  const { aborted, reason: loss } = lease.signal;
  if (!aborted || !(loss instanceof LeaseLostError) || !OVER.includes(loss.reason)) return;
  checker.fail("truth", `${label} was handed out when it was over: ${loss.reason}`);
}

/** It is given back. @param byLease whether by itself, and not by its thread @returns whether its time was over before */
export function leave(caller: Caller, lease: Lease, byLease = true): boolean {
  const { scene } = caller;
  if (oneIn(caller.looks, 4)) readLease(caller, lease);
  const isOver = !scene.checker.believes(lease);
  scene.checker.left(lease, byLease);
  scene.signals.left(lease);
  return isOver;
}

/** What a joint lease is believed by, as far as the checker needs it. */
interface JointlyBelieved {
  readonly believed: {
    readonly members: readonly {
      readonly lock: { readonly name: string };
      readonly hold: { readonly state: string; readonly stay: { readonly field: string } };
    }[];
  };
}

function partsOf({ kind, name, mode }: Door, lease: Lease): readonly Part[] {
  // The lease tells its holders, but not of which lock each is.
  const { believed } = lease as unknown as JointlyBelieved;
  switch (kind) {
    case "multi":
      return believed.members.map(({ lock, hold }) => ({
        name: lock.name,
        owners: [threadOf(hold.stay.field)],
        mode,
      }));
    case "red": {
      // Members that were lost are taken again, under other ids.
      const owners = () => believed.members.map(({ hold }) => hold.stay.field);
      return [
        {
          name,
          mode,
          get owners() {
            return owners();
          },
        },
      ];
    }
    default:
      return [{ name, owners: [threadOf(lease.holder)], mode }];
  }
}

/** Who writes may read as well. */
function threadOf(holder: string): string {
  return holder.replace(/:write$/, "");
}

/** Of a joint lock nobody can be asked as a whole, and it can not be freed by force. */
function isJoint({ kind }: Pick<Door, "kind">): boolean {
  return kind === "multi" || kind === "red";
}

function holdMs(caller: Caller): number {
  const { watchdogMs } = caller.member.plan.options;
  return pick(caller.stream, [1, 0, 5, 20, 80, 200, watchdogMs / 2, watchdogMs * 1.5]);
}

/** @param foreverIn how often it may wait for ever: once in so many times it may not */
function wishOf(caller: Caller, door: Door, what: string, foreverIn: number, outer?: Asked): Wish {
  const { stream, member } = caller;
  const { watchdogMs, commandTimeoutMs } = member.plan.options;
  const waitMs = oneIn(stream, foreverIn) ? pick(stream, [100, 0, 10, 1_000, 5_000]) : undefined;
  const leaseMs = oneIn(stream, 4)
    ? pick(stream, [
        watchdogMs,
        Math.max(commandTimeoutMs / 2, shortestLeaseMs(caller)),
        commandTimeoutMs * 2,
        shortestLeaseMs(caller),
      ])
    : undefined;
  const ownMs = leaseMs === undefined ? callWatchdogMs(caller) : undefined;
  const maxHoldMs =
    leaseMs === undefined && oneIn(stream, 12)
      ? pick(stream, [watchdogMs, shortestLeaseMs(caller)])
      : undefined;
  const signal = oneIn(stream, 10) ? abortsAfter(caller, pick(stream, [1, 0, 5, 30, 200])) : undefined;
  const options = { waitMs, leaseMs, watchdogMs: ownMs, maxHoldMs, signal };
  const words = Object.entries({ waitMs, leaseMs, watchdogMs: ownMs, maxHoldMs }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${value}`],
  );
  const half = door.mode === "shared" ? " (read)" : "";
  const title = `${what} ${door.kind} "${door.name}"${half} ${words.join(", ")}`.trimEnd();
  const longest = waitMs ?? (what.startsWith("tryLock") ? 0 : Number.POSITIVE_INFINITY);
  const around = outer === undefined ? [] : [outer];
  return {
    options,
    asked: {
      what: title,
      names: door.members,
      waitMs: longest,
      signal,
      leaseMs,
      watchdogMs: ownMs,
      maxHoldMs,
      around,
      reads: door.mode === "shared",
      isRed: door.kind === "red",
      isAlone: /^(?:lock|tryLock)\b/.test(what),
    },
  };
}

/** What a call may ask for as `watchdogMs`. */
function callWatchdogMs({ member: { plan }, beats }: Caller): number | undefined {
  const [first, ...others] = plan.callWatchdogsMs;
  return first === undefined || oneIn(beats, 3) ? undefined : pick(beats, [first, ...others]);
}

export function abortsAfter(caller: Caller, ms: number): AbortSignal {
  const controller = new AbortController();
  caller.member.process.after(ms, () => controller.abort(new Error("the caller has lost interest")));
  return controller.signal;
}
