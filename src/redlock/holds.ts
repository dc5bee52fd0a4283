import { pause, systemClock } from "../clock.js";
import { environment } from "../environment.js";
import { type Holdfast, type Lease, type Lock, type LockOptions, NotHeldError } from "../index.js";
import type { Member } from "./clients.js";
import { ExecutionError } from "./errors.js";
import { type Settings, waitMsOf } from "./settings.js";
import { isHeldByRedlock, Votes } from "./votes.js";

/** In the words of redlock 5. */
export const NO_QUORUM = "The operation was unable to achieve a quorum during its retry window.";

/** What one call has: one lease, or, with several clients, one for each resource. */
export type Held = readonly Lease[];

/** The holders of all that a call has, as its value. */
export const holdersOf = (held: Held): string => held.map(({ holder }) => holder).join(", ");

/**
 * Waits until all resources are had.
 *
 * @param tell gets the votes of a failure
 * @throws ExecutionError; what the caller did wrong
 */
export async function take(
  members: readonly Member[],
  names: readonly string[],
  terms: LockOptions,
  settings: Settings,
  tell: (votes: Votes) => void,
): Promise<Held> {
  const startMs = systemClock.monotonicMs();
  const waitMs = waitMsOf(settings);
  for (;;) {
    const leftMs = Math.max(0, Math.ceil(waitMs - (systemClock.monotonicMs() - startMs)));
    try {
      return await takeAll(locksFor(members, names), { ...terms, waitMs: leftMs });
    } catch (error) {
      // Its holder is a real redlock, which will tell nobody when it is done.
      if (isHeldByRedlock(error) && leftMs > 0) {
        await pause(systemClock, Math.min(leftMs, delayMsOf(settings)), undefined);
        continue;
      }
      const votes = new Votes(members, names.length);
      if (!votes.fail(error)) throw error;
      tell(votes);
      throw new ExecutionError(NO_QUORUM, votes.attempts);
    }
  }
}

async function takeAll(locks: readonly Lock[], options: LockOptions): Promise<Held> {
  const held: Lease[] = [];
  try {
    for (const lock of locks) held.push(await lock.lock(options));
    return held;
  } catch (error) {
    await Promise.allSettled(held.map((lease) => lease.unlock()));
    throw error;
  }
}

/** With several clients one for each resource, in an order that all processes have: two calls never wait for each other. */
function locksFor(members: readonly Member[], names: readonly string[]): readonly Lock[] {
  const [first, ...others] = members.map(({ holdfast }) => holdfast);
  if (first === undefined) return [];
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

export async function giveBack(held: Held, votes: Votes): Promise<void> {
  const value = holdersOf(held);
  const outcomes = await Promise.allSettled(held.map((lease) => lease.unlock()));
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed === undefined) votes.succeed(value);
  else votes.fail(failed.reason);
}

/** Releases what another process, or another Redlock, has acquired. */
export async function giveBackOf(
  value: string,
  resources: readonly string[],
  members: readonly Member[],
  votes: Votes,
): Promise<void> {
  const holders = value.split(", ");
  const ended = new NotHeldError(resources.join("+"), "it has ended, or was released before");
  await Promise.all(
    members.map(async (member) => {
      try {
        const freed = await Promise.all(resources.map((name) => freeFrom(holders, name, member)));
        if (freed.every(Boolean)) votes.for(member);
        else votes.against(member, ended);
      } catch (error) {
        votes.against(member, isHeldByRedlock(error) ? ended : error);
      }
    }),
  );
}

/** Frees a lock if exactly that call has it. @throws as `inspect` and `forceUnlock` of a client */
async function freeFrom(holders: readonly string[], name: string, { holdfast }: Member): Promise<boolean> {
  const seen = await holdfast.inspect(name);
  const [holder, ...others] = seen.holders;
  if (holder === undefined || others.length > 0 || !holders.includes(holder)) return false;
  return (await holdfast.forceUnlock(seen)) === "released";
}

/** For how long all that a call has may be trusted, in milliseconds. */
export function remainingMs(held: Held): number {
  return Math.min(...held.map((lease) => lease.remainingMs()));
}
