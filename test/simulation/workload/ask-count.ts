import type { LockState } from "../../../src/locks/inspect.js";
import { type CountState, PERMANENT_MS } from "../checker/count-state.js";
import type { CountWatch } from "../checker/count-watch.js";
import type { Caller } from "./caller.js";
import { plainCall } from "./count-calls.js";

/** So many leased permits are shown. */
const MOST_SHOWN = 1_000;

/** Looks at a semaphore or a latch as at a lock: what is told is what the server had when it answered. */
export async function inspectCount(caller: Caller, watch: CountWatch): Promise<void> {
  const { holdfast } = caller.member;
  const became = await plainCall(caller, `inspect of "${watch.name}"`, () => holdfast.inspect(watch.name));
  if (!became.ok) return;
  watch.toldWhere(caller, became.sinceUs, "lock-inspect", ({ before }) => tells(became.value, before));
}

function tells({ kind, available, taken = [], takenCount = 0 }: LockState, before: CountState): boolean {
  const { count, leases, nowMs } = before;
  if (count === undefined) return kind === "none";
  const shown = taken.every(({ id, endsInMs }, at) => {
    const endsMs = leases.get(id) ?? 0;
    const before = leases.get(taken[at - 1]?.id ?? "") ?? 0;
    return before <= endsMs && endsInMs === (endsMs < PERMANENT_MS ? endsMs - nowMs : -1);
  });
  const isLeased = kind === "permit-expirable-semaphore";
  return (
    shown &&
    (isLeased || kind === "semaphore-or-latch") &&
    available === count &&
    takenCount === leases.size &&
    taken.length === Math.min(leases.size, MOST_SHOWN)
  );
}
