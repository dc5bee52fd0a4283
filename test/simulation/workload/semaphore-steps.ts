import { WaitTimeoutError } from "../../../src/errors.js";
import type { WaitOptions } from "../../../src/options.js";
import type { Semaphore } from "../../../src/synchronizers/semaphore.js";
import { PlainPermits } from "../checker/plain-permits.js";
import { oneIn, pick } from "../draw.js";
import { inspectCount } from "./ask-count.js";
import type { Became, Caller } from "./caller.js";
import { holdMs, plainCall, waitOptions, wantedOf, wordsOf } from "./count-calls.js";
import type { Family } from "./family.js";

/** One task at one semaphore. */
interface Visit {
  readonly caller: Caller;
  readonly semaphore: Semaphore;
  readonly watch: PlainPermits;
}

const FORMS = [
  "acquire",
  "acquire",
  "using",
  "tryAcquire",
  "tryUsing",
  "siblings",
  "raise",
  "drain",
  "look",
  "delete",
] as const;

/** Semaphores whose permits nobody owns. */
export const semaphores: Family = {
  kinds: ["semaphore"],
  heldKeys: () => [],
  watch: (parts) => new PlainPermits(parts),
  async step(caller, { name }) {
    const watch = caller.scene.watchOf(name, PlainPermits);
    const semaphore = caller.member.holdfast.getSemaphore(name);
    const visit: Visit = { caller, semaphore, watch };
    if (watch.isFirstVisit(caller.member)) await setUp(visit);
    await STEPS[pick(caller.stream, FORMS)](visit);
  },
};

const STEPS: Readonly<Record<(typeof FORMS)[number], (visit: Visit) => Promise<void>>> = {
  acquire,
  using,
  tryAcquire,
  tryUsing,
  siblings,
  raise,
  drain,
  look,
  delete: remove,
};

/** Each process says how many permits there are: the first one sets it. */
async function setUp({ caller, semaphore, watch }: Visit): Promise<void> {
  const { size, settings, name } = watch;
  const what = `trySetPermits ${size} of "${name}" ${wordsOf(settings)}`;
  const became = await plainCall(caller, what, () => semaphore.trySetPermits(size, settings));
  if (became.ok) watch.told(caller, became.sinceUs, "count-try-set", became.value ? "set" : "kept");
}

async function acquire(visit: Visit): Promise<void> {
  const { caller, semaphore, watch } = visit;
  const permits = wantedOf(visit.caller, visit.watch.size);
  const options = waitOptions(caller, 3);
  const what = `acquire ${permits} of "${watch.name}" ${wordsOf(options)}`;
  const became = await waiting(visit, what, permits, options, () => semaphore.acquire(permits, options));
  if (!became.ok) return;
  await hold(visit, permits);
  await release(visit, permits);
}

async function tryAcquire(visit: Visit): Promise<void> {
  const { caller, semaphore, watch } = visit;
  const permits = wantedOf(visit.caller, visit.watch.size);
  const options = oneIn(caller.stream, 2) ? waitOptions(caller, 1) : {};
  const what = `tryAcquire ${permits} of "${watch.name}" ${wordsOf(options)}`;
  const became = await waiting(visit, what, permits, { waitMs: 0, ...options }, () =>
    semaphore.tryAcquire(permits, options),
  );
  if (!became.ok || became.value === false) return;
  await hold(visit, permits);
  await release(visit, permits);
}

async function using(visit: Visit): Promise<void> {
  const { caller, semaphore, watch } = visit;
  const permits = wantedOf(visit.caller, visit.watch.size);
  const options = waitOptions(caller, 3);
  const what = `using ${permits} of "${watch.name}" ${wordsOf(options)}`;
  const body = () => inside(visit, permits);
  await waiting(visit, what, permits, options, (entered) =>
    semaphore.using(permits, options, () => {
      entered();
      return body();
    }),
  );
}

async function tryUsing(visit: Visit): Promise<void> {
  const { semaphore, watch } = visit;
  const permits = wantedOf(visit.caller, visit.watch.size);
  const what = `tryUsing ${permits} of "${watch.name}"`;
  await waiting(visit, what, permits, { waitMs: 0 }, async (entered) => {
    const tried = await semaphore.tryUsing(permits, () => {
      entered();
      return inside(visit, permits);
    });
    return tried.ran;
  });
}

/** Two flows of one task: they stand in one line, or in two. */
async function siblings(visit: Visit): Promise<void> {
  await Promise.all([using(visit), acquire(visit)]);
}

/** Somebody adds a permit, and takes it out again, or the other way round. */
async function raise(visit: Visit): Promise<void> {
  const { caller } = visit;
  const isUp = oneIn(caller.stream, 2);
  const isDone = isUp ? await raiseBy(visit, 1) : await lowerBy(visit, 1);
  await caller.pause(holdMs(caller));
  if (isDone) await (isUp ? lowerBy(visit, 1) : raiseBy(visit, 1));
}

async function raiseBy({ caller, semaphore, watch }: Visit, permits: number): Promise<boolean> {
  watch.raises(caller.member, permits);
  const what = `addPermits ${permits} to "${watch.name}"`;
  const became = await plainCall(caller, what, () => semaphore.addPermits(permits));
  if (!became.ok) watch.notRaised(caller.member, permits, !became.isUnknown);
  return became.ok;
}

async function lowerBy({ caller, semaphore, watch }: Visit, permits: number): Promise<boolean> {
  const what = `addPermits -${permits} to "${watch.name}"`;
  const became = await plainCall(caller, what, () => semaphore.addPermits(-permits));
  if (became.ok || became.isUnknown) watch.lowered(caller.member, permits, became.ok);
  return became.ok;
}

async function drain(visit: Visit): Promise<void> {
  const { caller, semaphore, watch } = visit;
  const became = await plainCall(caller, `drainPermits of "${watch.name}"`, () => semaphore.drainPermits());
  if (!became.ok) {
    if (became.isUnknown) watch.lowered(caller.member, Number.POSITIVE_INFINITY, false);
    return;
  }
  watch.told(caller, became.sinceUs, "semaphore-drain", "drained", became.value);
  if (became.value === 0) return;
  watch.gained(caller.member, became.value);
  await caller.pause(holdMs(caller));
  await release(visit, became.value);
}

async function look({ caller, semaphore, watch }: Visit): Promise<void> {
  if (oneIn(caller.tools, 3)) return inspectCount(caller, watch);
  const what = `availablePermits of "${watch.name}"`;
  const became = await plainCall(caller, what, () => semaphore.availablePermits());
  if (became.ok) watch.told(caller, became.sinceUs, "count-look", "count", became.value);
}

/** Of some semaphores only: whose permits are whose is not to be known afterwards. */
async function remove(visit: Visit): Promise<void> {
  const { caller, semaphore, watch } = visit;
  if (!watch.isMortal) return acquire(visit);
  const became = await plainCall(caller, `delete "${watch.name}"`, () => semaphore.delete());
  if (became.ok) watch.told(caller, became.sinceUs, "count-delete", became.value ? "deleted" : "absent");
}

async function release({ caller, semaphore, watch }: Visit, permits: number): Promise<void> {
  watch.gives(caller.member, permits);
  const mustExist = oneIn(caller.stream, 3);
  const what = `${mustExist ? "releaseIfExists" : "release"} ${permits} of "${watch.name}"`;
  const became = await plainCall(caller, what, async () => {
    if (mustExist) return semaphore.releaseIfExists(permits);
    await semaphore.release(permits);
    return true;
  });
  if (became.ok) watch.told(caller, became.sinceUs, "semaphore-add", became.value ? "added" : "absent");
  else if (!became.isUnknown) watch.keeps(caller.member, permits);
}

/** What runs with permits that come back by themselves. */
async function inside(visit: Visit, permits: number): Promise<void> {
  await hold(visit, permits);
  visit.watch.gives(visit.caller.member, permits);
}

async function hold({ caller, watch }: Visit, permits: number): Promise<void> {
  watch.gained(caller.member, permits);
  caller.say(`has ${permits} of "${watch.name}"`);
  await caller.pause(holdMs(caller));
}

/** A call that wants permits: it is judged whether it may be refused, and whether others stood before it. */
async function waiting<T>(
  { caller, watch }: Visit,
  what: string,
  permits: number,
  { waitMs, signal }: WaitOptions,
  act: (entered: () => void) => Promise<T>,
): Promise<Became<T>> {
  const wait = watch.waits({ what: `${caller.name}: ${what}`, member: caller.member, permits }, waitMs !== 0);
  let isIn = false;
  const entered = () => {
    isIn = true;
    watch.waitsNoMore(wait, true);
  };
  const longestMs = waitMs ?? Number.POSITIVE_INFINITY;
  const became = await caller.call({ what, names: [watch.name], waitMs: longestMs, signal }, () =>
    act(entered),
  );
  const isRefused = became.ok ? became.value === false : became.error instanceof WaitTimeoutError;
  if (!isIn) watch.waitsNoMore(wait, became.ok && !isRefused);
  if (isRefused) watch.refused(wait, waitMs ?? 0);
  return became;
}
