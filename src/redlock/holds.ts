import { pause, systemClock } from "../clock.js";
import { environment } from "../environment.js";
import {
  type Holdfast,
  type Lease,
  type Lock,
  type LockOptions,
  NotHeldError,
  QuorumError,
  UnavailableError,
} from "../index.js";
import { namesOf } from "./arguments.js";
import type { RedlockMember } from "./clients.js";
import { type Settings, waitMsOf } from "./settings.js";
import { isHeldByRedlock, mayPass, type Votes } from "./votes.js";

/** The hold of one call: one lease or, with several clients, a lease for each resource. */
export type HeldLeases = readonly Lease[];

/** The holders of all leases of a call, as the value of its lock. */
export const holdersOf = (held: HeldLeases): string => held.map(({ holder }) => holder).join(", ");

/** For how long several servers are asked again while no majority answers: their clients may not have connected yet. */
const PATIENCE_MS = 1_000;

/**
 * Waits until all resources are acquired.
 *
 * @param fail turns a failure into the error to throw
 */
export async function take(
  members: readonly RedlockMember[],
  names: readonly string[],
  terms: LockOptions,
  settings: Settings,
  fail: (error: unknown) => unknown,
): Promise<HeldLeases> {
  const startMs = systemClock.monotonicMs();
  const leftOf = (ms: number) => Math.max(0, Math.ceil(ms - (systemClock.monotonicMs() - startMs)));
  const waitMs = waitMsOf(settings);
  for (;;) {
    try {
      return await takeAll(locksFor(members, names), { ...terms, waitMs: leftOf(waitMs) });
    } catch (error) {
      const leftMs = leftOf(isUnanswered(error) ? Math.max(waitMs, PATIENCE_MS) : waitMs);
      // No message will come when a real redlock releases, or when a server recovers.
      if (!mayPass(error) || leftMs === 0) throw fail(error);
      await pause(systemClock, Math.min(leftMs, delayMsOf(settings)), undefined);
    }
  }
}

function isUnanswered(error: unknown): boolean {
  return (
    error instanceof QuorumError && error.failures.some((failure) => failure instanceof UnavailableError)
  );
}

async function takeAll(locks: readonly Lock[], options: LockOptions): Promise<HeldLeases> {
  const held: Lease[] = [];
  try {
    for (const lock of locks) held.push(await lock.lock(options));
    // The first leases were acquired before the last, and may be lost by now.
    for (const lease of held) lease.assertHeld();
    const { leaseMs } = options;
    if (leaseMs !== undefined) await Promise.all(held.slice(0, -1).map((lease) => lease.extend(leaseMs)));
    return held;
  } catch (error) {
    await Promise.allSettled(held.map((lease) => lease.unlock()));
    throw error;
  }
}

/** With several clients, a lease for each resource, in an order that is the same in all processes: two calls never wait for each other. */
function locksFor(members: readonly RedlockMember[], names: readonly string[]): readonly Lock[] {
  const [first, ...others] = members.map(({ holdfast }) => holdfast);
  if (first === undefined || names.length === 0) return [];
  if (others.length === 0) return [allOn(first, names)];
  return [...names]
    .sort()
    .map((name) => first.getRedLock(...[first, ...others].map((one) => one.getLock(name))));
}

function allOn(holdfast: Holdfast, names: readonly string[]): Lock {
  const [name = "", ...others] = names;
  return others.length === 0
    ? holdfast.getLock(name)
    : holdfast.getMultiLock(...names.map((each) => holdfast.getLock(each)));
}

function delayMsOf({ retryDelay, retryJitter }: Settings): number {
  return Math.max(1, Math.round(retryDelay + (2 * environment.random() - 1) * retryJitter));
}

export async function giveBack(held: HeldLeases, votes: Votes): Promise<void> {
  const value = holdersOf(held);
  const outcomes = await Promise.allSettled(held.map((lease) => lease.unlock()));
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed === undefined) votes.succeed(value);
  else votes.fail(failed.reason);
}

/** Releases a lock that another process, or another Redlock, has acquired. */
export async function giveBackOf(
  value: string,
  resources: readonly string[],
  members: readonly RedlockMember[],
  votes: Votes,
): Promise<void> {
  const holders = value.split(", ");
  const ended = new NotHeldError(resources.join("+"), "it has ended, or was released before");
  await Promise.all(
    members.map(async (member) => {
      try {
        const freed = await Promise.all(namesOf(resources).map((name) => freeFrom(holders, name, member)));
        if (freed.every(Boolean)) votes.for(member);
        else votes.against(member, ended);
      } catch (error) {
        votes.against(member, isHeldByRedlock(error) ? ended : error);
      }
    }),
  );
}

/** Frees a lock if its only holder is one of these holders. @throws as `inspect` and `forceUnlock` of a client */
async function freeFrom(
  holders: readonly string[],
  name: string,
  { holdfast }: RedlockMember,
): Promise<boolean> {
  const seen = await holdfast.inspect(name);
  const [holder, ...others] = seen.holders;
  if (holder === undefined || others.length > 0 || !holders.includes(holder)) return false;
  return (await holdfast.forceUnlock(seen)) === "released";
}

/** For how long all leases of a call may be trusted, in milliseconds. */
export function remainingMs(held: HeldLeases): number {
  return Math.min(...held.map((lease) => lease.remainingMs()));
}
