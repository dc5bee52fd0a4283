import type { Lease } from "../../../src/lease.js";
import { keptField } from "../../../src/protocol/names.js";
import { TAKEN } from "../checker/losses.js";
import { oneIn, pick } from "../draw.js";
import type { Asked, Caller } from "./caller.js";
import { shortestLeaseMs } from "./count-calls.js";
import type { Door } from "./lock-names.js";

const US = 1_000;
/** Those that can be kept after their release. */
const KEPT = ["lock", "non-reentrant", "spin", "fenced"];
/** No lock is kept for longer. */
export const LONGEST_KEPT_MS = 2_000;
/** The server counts in whole milliseconds, and its clock may go at another rate. */
const MARGIN_MS = 2;
const MARGIN_SHARE = 0.01;

/** Sets a fixed lease anew, now and then: longer or shorter. */
export async function mayExtend(caller: Caller, lease: Lease, asked: Asked): Promise<void> {
  const { ends, member, scene } = caller;
  const { watchdogMs, commandTimeoutMs } = member.plan.options;
  if (asked.leaseMs === undefined || !oneIn(ends, 2)) return;
  for (let left = 1 + ends.choose(3); left > 0; left -= 1) {
    const leaseMs = pick(ends, [watchdogMs, commandTimeoutMs * 2, shortestLeaseMs(caller)]);
    const extended = { ...asked, what: `extend to ${leaseMs} ms`, isAlone: false, mayBeOver: true };
    scene.redTerms?.extends(lease, leaseMs);
    const extending = caller.call(extended, () => lease.extend(leaseMs));
    // Some do not wait for the answer before they go on.
    if (!oneIn(ends, 3)) await extending;
    await caller.pause(pick(ends, [1, 0, 10, 50, leaseMs / 2]));
  }
}

/** @returns for how long a lock is to be kept after its release; undefined: it is not */
export function keepForMs({ ends }: Caller, { kind }: Door): number | undefined {
  return KEPT.includes(kind) && oneIn(ends, 4) ? pick(ends, [50, 1, 300, LONGEST_KEPT_MS]) : undefined;
}

/** A release has kept the lock, at `sinceUs` at the earliest: nobody may have it until that is over. */
export function isKept(caller: Caller, door: Door, { holder }: Lease, ms: number, sinceUs: number): void {
  const { scene, member, name } = caller;
  const lease = {};
  const kept = keptField(holder);
  // A release that is repeated does not tell whether its hold was taken before.
  const heldUs = scene.checker.startOf(door.name, holder) ?? sinceUs;
  const wasTaken = () => scene.holders.hasGone(door.name, kept, heldUs, TAKEN);
  const untilUs = sinceUs + (ms * (1 - MARGIN_SHARE) - MARGIN_MS) * US;
  scene.checker.entered({
    process: member.process,
    lease,
    kind: "kept",
    label: `${door.kind} "${door.name}", kept by ${name}`,
    startUs: sinceUs,
    isFixed: true,
    isKept: true,
    parts: [{ name: door.name, owners: [kept], mode: "exclusive" }],
    leftMs: () => (wasTaken() ? 0 : Math.max(0, (untilUs - scene.nowUs()) / US)),
  });
  member.process.after(ms, () => scene.checker.left(lease));
}

/**
 * A release that was to keep the lock has an unknown outcome: its client goes on with it, and frees nothing. To be looked at when it has
 * done so.
 */
export function isKeptOrLeft(caller: Caller, door: Door, { holder }: Lease, calledUs: number): void {
  const { scene, member, name } = caller;
  const kept = keptField(holder);
  const look = () => {
    const isFreed = scene.holders
      .departures(door.name, holder, calledUs)
      .some(({ field, how }) => field === holder && how === "by its client");
    if (!isFreed || scene.keyspace.since(door.name, calledUs).some(({ fields }) => fields.has(kept))) return;
    scene.checker.fail("exclusion", `"${door.name}" was freed, and was to be kept by ${name}`);
  };
  member.process.after(2 * member.plan.options.commandTimeoutMs, look);
}
