import type { LockState } from "../../../src/locks/inspect.js";
import type { StoredLock } from "../checker/keyspace.js";
import { pick } from "../draw.js";
import type { Caller } from "./caller.js";
import type { Door } from "./lock-names.js";

const MODE = "mode";

/** Looks at a lock, and a while later frees it from what it has seen. */
export async function forceSeen(caller: Caller, { name, members }: Door): Promise<void> {
  const { scene, member, tools } = caller;
  const { holdfast } = member;
  const looked = { what: `inspect of "${name}"`, names: [], waitMs: 0 };
  const looking = await caller.call(looked, () => holdfast.inspect(name));
  if (!looking.ok) return;
  await caller.pause(pick(tools, [1, 0, 5, 20, 80]));
  scene.trouble.begin("force-unlock", name, 0, true);
  const resolved = scene.holders.forces(name, member.process.name);
  const sinceUs = scene.nowUs();
  const asked = { what: `forceUnlock of "${name}" as seen`, names: members, waitMs: 0, isForce: true };
  const forced = await caller.call(asked, () => holdfast.forceUnlock(looking.value));
  if (!forced.ok) return;
  resolved();
  const states = scene.keyspace.since(name, sinceUs);
  if (!states.some((state) => MAY_TELL[forced.value](state, looking.value))) {
    const had = states.map(({ fields }) => JSON.stringify([...fields])).join(", ");
    const seen = JSON.stringify(looking.value.holdCounts);
    scene.checker.fail("truth", `${caller.name}: ${seen} of "${name}" is ${forced.value}, and it had ${had}`);
  }
  scene.checker.look();
}

/** Whether a lock that was so at some time of the call may be told to be so. */
const MAY_TELL = {
  released: ({ fields }: StoredLock, { holders }: LockState) =>
    holders.every((holder) => !fields.has(holder)),
  absent: ({ fields }: StoredLock) => fields.size === 0,
  changed({ fields }: StoredLock, { holdCounts }: LockState) {
    const counts = [...fields].filter(([field]) => field !== MODE);
    const isSame = counts.every(([field, count]) => String(holdCounts[field]) === count);
    return !isSame || counts.length !== Object.keys(holdCounts).length;
  },
} as const;

/** Asks the server whether it answers. */
export async function ping(caller: Caller): Promise<void> {
  const { scene, member } = caller;
  const { process } = member;
  const startMs = process.instant.monotonicMs;
  const became = await caller.call({ what: "ping", names: [], waitMs: 0 }, () => member.holdfast.ping());
  if (!became.ok) return;
  const { rttMs } = became.value;
  // While a process stands still its clock, as the run has it, is behind.
  const stoodStill = scene.trouble.has(process.name, caller.startUs, ["stop", "suspend", "stall"]);
  if (rttMs >= 0 && (stoodStill || rttMs <= process.instant.monotonicMs - startMs)) return;
  scene.checker.fail("truth", `${caller.name}: ping tells ${rttMs} ms, and began at ${startMs} ms`);
}
