import { oneIn, pick } from "../draw.js";
import { inspectCount } from "./ask-count.js";
import { holdMs, plainCall } from "./count-calls.js";
import type { PermitVisit } from "./permit-ids.js";

/** Changes how many permits there are, and for some back again. */
export async function changeTotal(visit: PermitVisit): Promise<void> {
  const { caller, semaphore, watch } = visit;
  const change = async (what: string, act: () => Promise<void>) => {
    await plainCall(caller, `${what} of "${watch.name}"`, act);
    await caller.pause(holdMs(caller));
  };
  const by = pick(caller.stream, [1, -1]);
  if (oneIn(caller.stream, 2)) {
    await change(`addPermits ${by}`, () => semaphore.addPermits(by));
    await change(`addPermits ${-by}`, () => semaphore.addPermits(-by));
    return;
  }
  const total = watch.size + by;
  await change(`setPermits ${total}`, () => semaphore.setPermits(total));
  await change(`setPermits ${watch.size}`, () => semaphore.setPermits(watch.size));
}

export async function look(visit: PermitVisit): Promise<void> {
  const { caller, semaphore, watch } = visit;
  if (oneIn(caller.tools, 3)) return inspectCount(caller, watch);
  const sees = async (
    what: string,
    act: () => Promise<number>,
    shown: (numbers: readonly number[]) => number,
  ) => {
    const became = await plainCall(caller, `${what} of "${watch.name}"`, act);
    if (!became.ok) return;
    watch.toldWhere(caller, became.sinceUs, "permit-look", ({ numbers }) => shown(numbers) === became.value);
  };
  switch (pick(caller.stream, ["available", "acquired", "all"])) {
    case "available":
      return sees(
        "availablePermits",
        () => semaphore.availablePermits(),
        ([, available = 0]) => available,
      );
    case "acquired":
      return sees(
        "acquiredPermits",
        () => semaphore.acquiredPermits(),
        ([, , acquired = 0]) => acquired,
      );
    default:
      return sees(
        "getPermits",
        () => semaphore.getPermits(),
        ([exists, available = 0, acquired = 0]) => (exists === 1 ? available + acquired : 0),
      );
  }
}

export async function remove({ caller, semaphore, watch }: PermitVisit): Promise<void> {
  const became = await plainCall(caller, `delete "${watch.name}"`, () => semaphore.delete());
  if (became.ok) watch.told(caller, became.sinceUs, "count-delete", became.value ? "deleted" : "absent");
}
