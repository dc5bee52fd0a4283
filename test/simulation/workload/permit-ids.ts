import { NotHeldError } from "../../../src/errors.js";
import type { PermitExpirableSemaphore } from "../../../src/synchronizers/permit-expirable-semaphore.js";
import type { LeasedPermits } from "../checker/permits.js";
import { oneIn, pick } from "../draw.js";
import type { Caller } from "./caller.js";
import { plainCall } from "./count-calls.js";

/** One task at one permit-expirable semaphore. */
export interface PermitVisit {
  readonly caller: Caller;
  readonly semaphore: PermitExpirableSemaphore;
  readonly watch: LeasedPermits;
}

/** Uses permits that another task has left for others, by their ids: whoever has them may. */
export async function useDrawer(visit: PermitVisit): Promise<void> {
  const { watch, caller } = visit;
  const ids = watch.drawer.shift();
  if (ids === undefined) return;
  switch (pick(caller.stream, ["release", "update", "look"])) {
    case "release":
      await releaseIds(visit, ids);
      return;
    case "update":
      await updateLease(visit, ids);
      break;
    default:
      await askLeaseTime(visit, ids[0] ?? "");
  }
  watch.drawer.push(ids);
}

async function askLeaseTime({ caller, semaphore, watch }: PermitVisit, id: string): Promise<void> {
  const sinceUs = caller.scene.nowUs();
  const explains = (error: unknown) => error instanceof NotHeldError;
  const asked = { what: `getLeaseTime ${words([id])}`, names: [], waitMs: 0, explains };
  const became = await caller.call(asked, () => semaphore.getLeaseTime(id));
  const isOver = !became.ok && became.error instanceof NotHeldError;
  const leftMs = became.ok ? became.value : -2;
  if (became.ok || isOver)
    watch.toldWhere(caller, sinceUs, "permit-look", ({ numbers }) => numbers[3] === leftMs);
}

export async function releaseIds(visit: PermitVisit, ids: readonly string[]): Promise<void> {
  const { caller, semaphore, watch } = visit;
  const sinceUs = caller.scene.nowUs();
  watch.releasesByIds(caller.member, ids);
  if (oneIn(caller.stream, 2)) {
    const became = await plainCall(caller, `tryRelease ${words(ids)}`, () => semaphore.tryRelease(ids));
    if (!became.ok) return;
    watch.told(caller, sinceUs, "permit-release", became.value ? "released" : "absent");
    if (became.value) watch.releasedByIds(caller.member, ids);
    return;
  }
  const explains = (error: unknown) => {
    if (!(error instanceof NotHeldError)) return false;
    watch.told(caller, sinceUs, "permit-release", "absent");
    return true;
  };
  const asked = { what: `release ${words(ids)}`, names: [], waitMs: 0, explains };
  const became = await caller.call(asked, () => semaphore.release(ids));
  if (!became.ok) return;
  watch.told(caller, sinceUs, "permit-release", "released");
  watch.releasedByIds(caller.member, ids);
}

export async function updateLease(visit: PermitVisit, ids: readonly string[]): Promise<void> {
  const { caller, semaphore, watch } = visit;
  await caller.pause(pick(caller.stream, [0, 0, 1, 20]));
  const { watchdogMs, commandTimeoutMs } = caller.member.plan.options;
  const leaseMs = pick(caller.stream, [watchdogMs, 50, 200, commandTimeoutMs, 2 * watchdogMs, 20_000]);
  const what = `updateLeaseTime ${words(ids)} to ${leaseMs}`;
  watch.relets(ids);
  const became = await plainCall(caller, what, () => semaphore.updateLeaseTime(ids, leaseMs));
  if (!became.ok) return;
  watch.told(caller, became.sinceUs, "permit-set-lease", became.value ? "updated" : "absent");
}

export function words(ids: readonly string[]): string {
  return ids.map((id) => `#${Number(Buffer.from(id, "hex").toString())}`).join(" ");
}
