import { LeaseLostError, NotHeldError, UnavailableError, WaitTimeoutError } from "../../../src/errors.js";
import type { PermitOptions } from "../../../src/options.js";
import type { Permits } from "../../../src/synchronizers/permits.js";
import { hexIds } from "../checker/count-effects.js";
import { LeasedPermits } from "../checker/permits.js";
import { oneIn, pick } from "../draw.js";
import type { Asked, Became, Caller } from "./caller.js";
import { holdMs, plainCall, shortestLeaseMs, waitOptions, wantedOf, wordsOf } from "./count-calls.js";
import type { Family } from "./family.js";
import { type PermitVisit, releaseIds, updateLease, useDrawer, words } from "./permit-ids.js";
import { changeTotal, look, remove } from "./permit-totals.js";

/** What was asked for. */
export interface Wish {
  readonly what: string;
  readonly permits: number;
  readonly options: PermitOptions;
  readonly asked: Asked;
}

const FORMS = [
  "acquire",
  "using",
  "by ids",
  "relet",
  "tryAcquire",
  "tryUsing",
  "siblings",
  "forget",
  "hand over",
  "drawer",
  "total",
  "look",
  "delete",
  "several",
] as const;

/** Semaphores whose permits have ids, and most of them leases. */
export const permitSemaphores: Family = {
  kinds: ["permit semaphore"],
  heldKeys: () => [],
  watch: (parts) => new LeasedPermits(parts),
  async step(caller, { name }) {
    const visit = await visitOf(caller, name);
    await STEPS[pick(caller.stream, FORMS)](visit);
  },
};

/** A task comes to a semaphore, which is set up when its process has not been there before. */
export async function visitOf(caller: Caller, name: string): Promise<PermitVisit> {
  const watch = caller.scene.watchOf(name, LeasedPermits);
  const semaphore = caller.member.holdfast.getPermitExpirableSemaphore(name);
  const visit: PermitVisit = { caller, semaphore, watch };
  if (watch.isFirstVisit(caller.member)) await setUp(visit);
  return visit;
}

const STEPS: Readonly<Record<(typeof FORMS)[number], (visit: PermitVisit) => Promise<void>>> = {
  acquire: (visit) => taking(visit, "acquire", giveBack),
  using,
  "by ids": (visit) => taking(visit, "acquire", giveBackByIds),
  relet: (visit) => taking(visit, "acquire", relet),
  tryAcquire: (visit) => taking(visit, "tryAcquire", giveBack),
  tryUsing,
  siblings: async (visit) => {
    await Promise.all([using(visit), taking(visit, "acquire", giveBack)]);
  },
  forget: (visit) => taking(visit, "acquire", forget),
  "hand over": (visit) => taking(visit, "acquire", handOver),
  drawer: useDrawer,
  total: changeTotal,
  look,
  several,
  delete: (visit) => (visit.watch.isMortal ? remove(visit) : taking(visit, "acquire", giveBack)),
};

async function setUp({ caller, semaphore, watch }: PermitVisit): Promise<void> {
  const { size, settings, name } = watch;
  const what = `trySetPermits ${size} of "${name}" ${wordsOf(settings)}`;
  const became = await plainCall(caller, what, () => semaphore.trySetPermits(size, settings));
  if (became.ok) watch.told(caller, became.sinceUs, "count-try-set", became.value ? "set" : "kept");
}

/** Takes permits, and does something with them. */
async function taking(
  visit: PermitVisit,
  verb: "acquire" | "tryAcquire",
  then: (visit: PermitVisit, permits: Permits, wish: Wish) => Promise<void>,
): Promise<void> {
  const wish = wishOf(visit, verb);
  const permits = await take(visit, verb, wish);
  if (permits === undefined) return;
  await visit.caller.pause(holdMs(visit.caller));
  await then(visit, permits, wish);
}

/** @returns undefined when none were to be had */
export async function take(
  visit: PermitVisit,
  verb: "acquire" | "tryAcquire",
  wish: Wish,
): Promise<Permits | undefined> {
  const became = await waiting(visit, wish, () => visit.semaphore[verb](wish.permits, wish.options));
  if (!became.ok || became.value === null) return undefined;
  enter(visit, became.value);
  return became.value;
}

async function using(visit: PermitVisit): Promise<void> {
  const wish = wishOf(visit, "using");
  await waiting(visit, wish, (entered) =>
    visit.semaphore.using(wish.permits, wish.options, (permits) => {
      entered(permits);
      return inside(visit, permits);
    }),
  );
}

async function tryUsing(visit: PermitVisit): Promise<void> {
  const wish = wishOf(visit, "tryUsing");
  await waiting(visit, wish, async (entered) => {
    const { ran } = await visit.semaphore.tryUsing(wish.permits, wish.options, (permits) => {
      entered(permits);
      return inside(visit, permits);
    });
    return ran ? true : null;
  });
}

async function inside(visit: PermitVisit, permits: Permits): Promise<void> {
  enter(visit, permits);
  await visit.caller.pause(holdMs(visit.caller));
  visit.watch.left(permits);
}

/** A release that resolves has given them back, unless their client was asked for that by their ids before. */
export async function giveBack(
  { caller, watch }: PermitVisit,
  permits: Permits,
  { asked }: Wish,
): Promise<void> {
  if (oneIn(caller.stream, 8)) caller.say(`sees ${permits.state}`);
  const { ids } = permits;
  watch.left(permits);
  const explains = (error: unknown) => explainsLoss(watch, ids, error);
  const what = `release of ${asked.what}`;
  const sinceUs = caller.scene.nowUs();
  const became = await caller.call({ ...asked, what, explains }, () => permits.release());
  if (!became.ok) return;
  for (const id of ids) {
    if (watch.isReleasedById(caller.member, id)) continue;
    watch.toldWhere(caller, sinceUs, "permit-release", ({ status, args }) => {
      return status === "released" && hexIds(args[1]).includes(id);
    });
  }
}

/** All of them, or first some and then, twice, all of them. */
async function giveBackByIds(visit: PermitVisit, permits: Permits, wish: Wish): Promise<void> {
  const { watch, caller } = visit;
  const [first = "", ...others] = permits.ids;
  if (others.length > 0 && oneIn(caller.stream, 2)) {
    watch.leftSome(permits, [first]);
    await releaseIds(visit, [first]);
    await caller.pause(holdMs(caller));
    await giveBack(visit, permits, wish);
    return;
  }
  const { ids } = permits;
  watch.left(permits);
  await releaseIds(visit, ids);
  // Its own release comes too late then.
  if (oneIn(caller.stream, 3)) await giveBack(visit, permits, wish);
}

/** New leases, up to three of them asked for at once. */
async function relet(visit: PermitVisit, permits: Permits, wish: Wish): Promise<void> {
  const { caller } = visit;
  const { ids } = permits;
  const some = ids.length > 1 && oneIn(caller.stream, 3) ? ids.slice(1) : ids;
  const count = pick(caller.stream, [1, 2, 3]);
  const calls = Array.from({ length: count }, () => updateLease(visit, some));
  if (!oneIn(caller.stream, 3)) await Promise.all(calls);
  await caller.pause(holdMs(caller));
  await giveBack(visit, permits, { ...wish, asked: { ...wish.asked, leaseMs: 1 } });
  await Promise.all(calls);
}

/** Names permits of several leases together: gives some of each, or all, a new end, and then gives them back, together or each by itself. */
export async function several(visit: PermitVisit): Promise<void> {
  const { caller, watch } = visit;
  const { stream } = caller;
  const first = wishOf(visit, "acquire");
  const second = wishOf(visit, "tryAcquire");
  const leases: { readonly permits: Permits; readonly wish: Wish }[] = [];
  for (const [verb, wish] of [["acquire", first] as const, ["tryAcquire", second] as const]) {
    const permits = await take(visit, verb, wish);
    if (permits !== undefined)
      leases.push({ permits, wish: { ...wish, asked: { ...wish.asked, leaseMs: 1 } } });
  }
  await caller.pause(pick(stream, [1, 0, 20]));
  const named = leases.flatMap(({ permits }) => (oneIn(stream, 3) ? permits.ids.slice(0, 1) : permits.ids));
  if (named.length > 0 && !oneIn(stream, 3)) {
    await updateLease(visit, named);
    await caller.pause(holdMs(caller));
  }
  if (named.length > 0 && oneIn(stream, 2)) {
    for (const { permits } of leases) watch.leftSome(permits, named);
    await releaseIds(visit, named);
  }
  for (const { permits, wish } of leases) await giveBack(visit, permits, wish);
}

/** Drops the permits: nobody can give them back but by their ids. */
async function forget(visit: PermitVisit, permits: Permits, { options }: Wish): Promise<void> {
  const { watch, caller } = visit;
  if (options.leaseMs === undefined && options.watchdog !== true) watch.keeps(permits.ids);
  watch.left(permits);
  caller.say(`drops ${words(permits.ids)}`);
  caller.scene.forget(permits);
}

/** Others are to use the ids; the task drops the permits, or works on with them meanwhile. */
async function handOver(visit: PermitVisit, permits: Permits, wish: Wish): Promise<void> {
  const { watch, caller } = visit;
  if (wish.options.watchdog === true) return giveBack(visit, permits, wish);
  const { ids } = permits;
  caller.say(`hands over ${words(ids)}`);
  watch.keeps(ids);
  watch.drawer.push(ids);
  if (oneIn(caller.stream, 2)) return forget(visit, permits, wish);
  await caller.pause(holdMs(caller));
  await giveBack(visit, permits, wish);
}

function enter({ caller, watch }: PermitVisit, permits: Permits): void {
  const label = `${words(permits.ids)} of ${caller.name}`;
  caller.say(`has ${label}`);
  watch.entered(caller.member, permits, label);
}

/** A call that wants permits: it is judged whether it may be refused, and whether others stood before it. */
async function waiting<T>(
  { caller, watch }: PermitVisit,
  { what, permits, asked }: Wish,
  act: (entered: (permits: Permits) => void) => Promise<T>,
): Promise<Became<T>> {
  const wait = watch.waits(
    { what: `${caller.name}: ${what}`, member: caller.member, permits },
    asked.waitMs !== 0,
  );
  let inside: Permits | undefined;
  const entered = (given: Permits) => {
    inside = given;
    watch.waitsNoMore(wait, true);
  };
  const explains = (error: unknown) => explainsLoss(watch, inside?.ids ?? [], error);
  const became = await caller.call({ ...asked, explains }, () => act(entered));
  if (inside !== undefined) watch.left(inside);
  const isRefused = became.ok ? became.value === null : became.error instanceof WaitTimeoutError;
  if (inside === undefined) watch.waitsNoMore(wait, became.ok && !isRefused);
  if (isRefused) watch.refused(wait, asked.waitMs);
  return became;
}

/** Permits may be lost because others have their ids, or with their semaphore, which may end while an answer is on its way. */
function explainsLoss(watch: LeasedPermits, ids: readonly string[], error: unknown): boolean {
  if (error instanceof UnavailableError && error.message.includes("before it could be used"))
    return watch.settings.ttlMs !== undefined;
  const loss = error instanceof NotHeldError ? error.cause : error;
  if (!(loss instanceof LeaseLostError)) return false;
  return watch.wasTaken(ids) || (loss.reason === "expired" && watch.mayExpire(ids));
}

function wishOf({ caller, watch }: PermitVisit, verb: string): Wish {
  const { stream } = caller;
  const permits = wantedOf(caller, watch.size);
  const tries = verb.startsWith("try");
  const waits = tries ? (oneIn(stream, 2) ? waitOptions(caller, 1) : { waitMs: 0 }) : waitOptions(caller, 3);
  return wishFor(watch.name, verb, permits, { ...waits, ...leaseOptions(caller) });
}

export function wishFor(name: string, verb: string, permits: number, options: PermitOptions): Wish {
  const what = `${verb} ${permits} of "${name}" ${wordsOf(options)}`;
  const { signal, leaseMs, maxHoldMs, waitMs = Number.POSITIVE_INFINITY } = options;
  return { what, permits, options, asked: { what, names: [name], waitMs, signal, leaseMs, maxHoldMs } };
}

function leaseOptions(caller: Caller): Pick<PermitOptions, "leaseMs" | "watchdog" | "maxHoldMs"> {
  const { stream, member } = caller;
  const { watchdogMs, commandTimeoutMs } = member.plan.options;
  switch (pick(stream, ["watchdog", "watchdog", "lease", "lease", "neither", "longest"])) {
    case "lease":
      return { leaseMs: pick(stream, [watchdogMs, commandTimeoutMs / 2, 5_000, shortestLeaseMs(caller)]) };
    case "neither":
      return {};
    case "longest":
      return { watchdog: true, maxHoldMs: pick(stream, [watchdogMs, 50, 3 * watchdogMs]) };
    default:
      return { watchdog: true };
  }
}
