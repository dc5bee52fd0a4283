import { type Once, runOnce } from "../../../src/recipes/index.js";
import { oneIn, pick } from "../draw.js";
import { isHere } from "./bodies.js";
import type { Caller } from "./caller.js";
import type { Family } from "./family.js";
import { type Door, type LockName, openDoor } from "./lock-names.js";
import { enter, leave, locks } from "./lock-steps.js";

/** Of the first fire: what the clocks of processes say is of no matter. */
const EPOCH_MS = 1_795_132_800_000;
/** Seconds in which fires are wanted: several calls want the same. */
const SECONDS = [0, 1, 2] as const;

/** Kinds of which the lock of a job is one to others. */
const FIRED: readonly string[] = ["lock", "non-reentrant"];

/** All locks that have one server, some of which jobs are run under. */
export const jobsAndLocks: Family = {
  ...locks,
  async step(caller, shared) {
    if (!FIRED.includes(shared.kind) || !oneIn(caller.fires, 6)) return locks.step(caller, shared);
    return runFire(caller, openDoor(caller.member, shared as LockName, "write"));
  },
};

/** Runs a fire of the lock's name once in the fleet, as a cron job is run. */
async function runFire(caller: Caller, door: Door): Promise<void> {
  const { stream, member, scene } = caller;
  const { fires } = scene;
  if (fires === undefined) return;
  const { watchdogMs } = member.plan.options;
  const fireTime = EPOCH_MS + pick(stream, SECONDS) * 1_000;
  const waitMs = oneIn(stream, 3) ? pick(stream, [1_000, 0, 100]) : undefined;
  const atMostMs = oneIn(stream, 6) ? watchdogMs : undefined;
  const clock = { ...member.process.clock, wallMs: () => EPOCH_MS };
  const what = `runOnce ${door.kind} "${door.name}" at ${fireTime}`;
  const attempt = fires.tries(`"${door.name}" at ${fireTime}`, caller.name);
  const asked = { what, names: door.members, waitMs: waitMs ?? 0, maxHoldMs: atMostMs };
  const jobs = member.bodies?.jobs ?? [];
  jobs.push(door.name);
  const became = await caller.call(asked, async () => {
    const options = { name: door.name, fireTime, waitMs, atMostMs, clock };
    const once = await runOnce(member.holdfast, options, async (lease) => {
      isHere(caller, door, lease);
      attempt.begins();
      enter(caller, door, lease, { maxHoldMs: atMostMs });
      await caller.pause(pick(stream, [1, 0, 20, 200, watchdogMs * 1.5]));
      leave(caller, lease);
    });
    return isBusy(once) ? null : once;
  });
  jobs.splice(jobs.indexOf(door.name), 1);
  if (!became.ok) attempt.ends();
  else attempt.ends(became.value === null ? "busy" : became.value.ran ? "ran" : "done");
}

/** As for `tryLock`, the lock was taken during the call. */
function isBusy(once: Once<void>): boolean {
  return !once.ran && once.because === "busy";
}
