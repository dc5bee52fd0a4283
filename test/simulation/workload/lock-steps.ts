import type { FencedLease, Lease } from "../../../src/lease.js";
import type { LockOptions } from "../../../src/options.js";
import type { Part } from "../checker/checker.js";
import { oneIn, pick } from "../draw.js";
import type { Asked, Caller } from "./caller.js";
import { type Door, openDoor } from "./lock-names.js";

/** The options of one call, and how it is called in the history. */
interface Wish {
  readonly options: LockOptions;
  readonly asked: Asked;
}

const FORMS = ["lock", "lock", "using", "tryLock", "nested", "siblings", "as thread", "chosen id", "look", "force"] as const;
type Form = (typeof FORMS)[number];

/** One step of a task: a call about one of the locks, with all that belongs to it. */
export async function lockStep(caller: Caller): Promise<void> {
  const { stream, scene, member } = caller;
  const name = pick(stream, scene.names as readonly [(typeof scene.names)[number]]);
  const door = openDoor(member.holdfast, name, oneIn(stream, 3) ? "write" : "read");
  await FORM_STEPS[pick(stream, FORMS)](caller, door);
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
  if (!became.ok) return;
  if (became.value === null) refused(caller, door, wish);
  else await hold(caller, door, became.value, wish);
}

async function using(caller: Caller, door: Door): Promise<void> {
  const wish = wishOf(caller, door, "using", 4);
  await caller.call(wish.asked, () =>
    door.lock.using(wish.options, async (lease) => {
      enter(caller, door, lease);
      await caller.pause(holdMs(caller));
      leave(caller, lease);
    }),
  );
}

/** Enters what it holds once more, on its own path. */
async function nested(caller: Caller, door: Door): Promise<void> {
  if (!door.isReentrant || caller.member.plan.options.reentry === "explicit") return using(caller, door);
  const wish = wishOf(caller, door, "using, nested", 4);
  const inner = wishOf(caller, door, "inner", 4);
  await caller.call(wish.asked, () =>
    door.lock.using(wish.options, async (outer) => {
      enter(caller, door, outer);
      await caller.pause(holdMs(caller));
      await caller.call(inner.asked, () =>
        door.lock.using(inner.options, async (lease) => {
          enter(caller, door, lease);
          await caller.pause(holdMs(caller));
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
      enter(caller, door, outer);
      const sibling = async (which: string) => {
        const inner = wishOf(caller, door, which, 4);
        await caller.call(inner.asked, () =>
          door.lock.using(inner.options, async (lease) => {
            enter(caller, door, lease);
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

/** In Redisson's style: lock and unlock by the thread. */
async function asThread(caller: Caller, door: Door): Promise<void> {
  await caller.member.holdfast.asThread(async () => {
    const wish = wishOf(caller, door, "lock, as a thread", 4);
    const became = await caller.call(wish.asked, () => door.lock.lock(wish.options));
    if (!became.ok) return;
    enter(caller, door, became.value);
    await caller.pause(holdMs(caller));
    leave(caller, became.value);
    await caller.call({ ...wish.asked, what: "unlock, as a thread" }, () => door.lock.unlock());
  });
}

/** Under an id that others of the process choose as well. */
async function chosenId(caller: Caller, door: Door): Promise<void> {
  const threadId = pick(caller.stream, [1, 2]);
  const { options, asked } = wishOf(caller, door, `lock as ${threadId}`, 4);
  const became = await caller.call(asked, () => door.lock.lock({ ...options, threadId }));
  if (!became.ok) return;
  enter(caller, door, became.value);
  await caller.pause(holdMs(caller));
  leave(caller, became.value);
  if (oneIn(caller.stream, 2)) {
    await caller.call({ ...asked, what: `unlock(${threadId})` }, () => door.lock.unlock(threadId));
  } else await caller.call({ ...asked, what: "unlock" }, () => became.value.unlock());
}

async function look(caller: Caller, door: Door): Promise<void> {
  const asked = { what: "isLocked", names: [], waitMs: 0 };
  if (door.kind === "multi") return;
  await caller.call(asked, () => door.lock.isLocked());
}

async function force(caller: Caller, door: Door): Promise<void> {
  if (!oneIn(caller.stream, 4) || door.kind === "multi") return lockAndUnlock(caller, door);
  const { trouble } = caller.scene;
  trouble.begin("force-unlock", door.name, 0, true);
  await caller.call({ what: "forceUnlock", names: [], waitMs: 0 }, () => door.lock.forceUnlock());
  trouble.begin("force-unlock", door.name, 0, false);
}

async function hold(caller: Caller, door: Door, lease: Lease, { asked }: Wish): Promise<void> {
  enter(caller, door, lease);
  await caller.pause(holdMs(caller));
  if (oneIn(caller.stream, 8)) caller.say(`sees ${lease.state}`);
  leave(caller, lease);
  await caller.call({ ...asked, what: "unlock" }, () => lease.unlock());
}

/** A lease has been handed out. */
function enter(caller: Caller, door: Door, lease: Lease): void {
  const { checker } = caller.scene;
  const { process } = caller.member;
  const label = `${caller.name} in ${door.kind} "${door.name}"${door.mode === "shared" ? " (read)" : ""}`;
  const token = door.kind === "fenced" ? (lease as FencedLease).token : undefined;
  checker.entered({ process, lease, parts: partsOf(door, lease), kind: door.kind, label }, token);
}

function leave(caller: Caller, lease: Lease): void {
  caller.scene.checker.left(lease);
}

function partsOf({ members, mode }: Door, lease: Lease): readonly Part[] {
  const owners = lease.holder.split(", ");
  return members.map((name, at) => ({ name, owner: owners[at] ?? lease.holder, mode }));
}

/** `null` is true only if somebody else had it, or stood before. */
function refused(caller: Caller, { members }: Door, { asked }: Wish): void {
  caller.say("was refused");
  const { scene } = caller;
  if (members.some((name) => scene.occupied.wasTaken(name, caller.startedUs))) return;
  scene.checker.fail("truth", `${caller.name}: ${asked.what} was refused, but nobody had the lock`);
}

function holdMs(caller: Caller): number {
  const { watchdogMs } = caller.member.plan.options;
  return pick(caller.stream, [1, 0, 5, 20, 80, 200, watchdogMs / 2, watchdogMs * 1.5]);
}

/** @param foreverIn how often it may wait for ever: once in so many times it may not */
function wishOf(caller: Caller, door: Door, what: string, foreverIn: number): Wish {
  const { stream, member } = caller;
  const { watchdogMs, commandTimeoutMs } = member.plan.options;
  const waitMs = oneIn(stream, foreverIn) ? pick(stream, [100, 0, 10, 1_000, 5_000]) : undefined;
  const leaseMs = oneIn(stream, 4)
    ? pick(stream, [watchdogMs, commandTimeoutMs / 2, commandTimeoutMs * 2, 40])
    : undefined;
  const maxHoldMs = leaseMs === undefined && oneIn(stream, 12) ? pick(stream, [watchdogMs, 50]) : undefined;
  const signal = oneIn(stream, 10) ? abortsAfter(caller, pick(stream, [1, 0, 5, 30, 200])) : undefined;
  const options = { waitMs, leaseMs, maxHoldMs, signal };
  const words = Object.entries({ waitMs, leaseMs, maxHoldMs }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${value}`],
  );
  const half = door.mode === "shared" ? " (read)" : "";
  const title = `${what} ${door.kind} "${door.name}"${half} ${words.join(", ")}`.trimEnd();
  const longest = waitMs ?? (what.startsWith("tryLock") ? 0 : Number.POSITIVE_INFINITY);
  return { options, asked: { what: title, names: door.members, waitMs: longest, signal, leaseMs, maxHoldMs } };
}

function abortsAfter(caller: Caller, ms: number): AbortSignal {
  const controller = new AbortController();
  caller.member.process.clock.schedule(ms, () => controller.abort(new Error("the caller has lost interest")));
  return controller.signal;
}
