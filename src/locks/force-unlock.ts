import { checkClusterKey } from "../checks.js";
import type { Client } from "../client.js";
import { UnavailableError, WrongTypeError } from "../errors.js";
import type { Script } from "../protocol/define-script.js";
import {
  type ForceUnlock,
  type ForceUnlockAnswer,
  fairForceUnlock,
  lockForceUnlock,
  readForceUnlock,
  writeForceUnlock,
} from "../protocol/force-unlock-scripts.js";
import { withUnknownOutcome } from "../runtime/command-failures.js";
import { forCaller } from "../runtime/for-caller.js";
import { ANSWERS_LATE, MOST_VAIN_TRIES } from "../runtime/late-answers.js";
import { holdersOf, tellForced } from "./forced.js";
import type { LockState } from "./inspect.js";
import { type LockIdentity, type LockKind, lockIds } from "./lock-kind.js";
import { look } from "./look.js";
import { type SeenLock, seenLock } from "./seen-lock.js";

type Looked = Parameters<typeof look>[0];

/** If the lock changed between `look` and the command, `look` runs again, after pauses that double up to this value. */
const LONGEST_PAUSE_MS = 32;

/**
 * Frees a lock from its current holders. The command names the fields that were seen, so a repeat cannot remove the next holder.
 * @returns false when it was free
 * @throws UnavailableError, WrongTypeError
 */
export async function forceUnlock(lock: LockIdentity): Promise<boolean> {
  const { client, kind, key, channel } = lock;
  const { clock, commands } = client;
  const endMs = clock.monotonicMs() + commands.timeoutMs;
  let pauseMs = 1;
  do {
    const record = await look(lock);
    if (!kind.isForceable(record)) return false;
    const { fields: seen } = record;
    const sentMs = clock.monotonicMs();
    const { reply, repeated } = await commands.exchange(scriptOf(kind), key, () => ({
      key,
      notAfterMs: commands.notAfterMs(key),
      channel,
      seen,
    }));
    if (reply.status === "wrong-type") throw new WrongTypeError(key, reply.type);
    if (reply.status === "released" || reply.status === "absent") {
      await tellStays(lock, holdersOf(seen), sentMs);
      // `absent`: its holder may have released the lock after the look.
      if (reply.status === "released" || repeated) tellForced(client, lock, seen);
      return true;
    }
    // An earlier copy of the command, whose answer was lost, may have freed the lock, and another owner may have taken it since. So look
    // whether the seen fields are gone.
    if (repeated) {
      const gone = await goneOf(lock, seen);
      if (gone.length === holdersOf(seen).length) {
        await tellStays(lock, gone, sentMs);
        tellForced(client, lock, seen);
        return true;
      }
    }
    // During a failover, each `look` may read from one server while each command goes to another.
    await commands.pause(pauseMs);
    pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
  } while (clock.monotonicMs() < endMs);
  throw new UnavailableError(commands.server, "the lock changes hands faster than it can be freed", false);
}

/** Not part of the kind, so that the scripts are loaded only with the first forced release. */
function scriptOf({ half, recordsWaiters }: LockKind): Script<ForceUnlock, ForceUnlockAnswer> {
  if (half !== undefined) return half === "read" ? readForceUnlock : writeForceUnlock;
  return recordsWaiters ? fairForceUnlock : lockForceUnlock;
}

/** The outcome for a lock that was seen: freed; already free; or its holders have changed, and nothing was done. */
export type ForceUnlockOutcome = "released" | "absent" | "changed";

/**
 * Frees a lock from the holders that an earlier look has seen, and from no others.
 * @throws TypeError if `state` is not the state of a lock; InvalidNameError, UnavailableError, WrongTypeError, ClientClosedError
 */
export async function forceUnlockSeen(client: Client, state: LockState): Promise<ForceUnlockOutcome> {
  const lock = seenLock(state);
  if (client.inCluster) checkClusterKey(lock.key);
  client.assertOpen(lock);
  try {
    return await freeSeen(client, lock);
  } catch (error) {
    throw forCaller(error, lock);
  }
}

async function freeSeen(client: Client, lock: SeenLock): Promise<ForceUnlockOutcome> {
  const { commands } = client;
  const { script, key, channel, seen } = lock;
  const holders = holdersOf(seen);
  const sentMs = client.clock.monotonicMs();
  let isDoubtful = false;
  for (let tries = 0; tries < MOST_VAIN_TRIES; tries += 1) {
    const { reply, repeated } = await commands.exchange(script, key, (notAfterMs) => ({
      key,
      notAfterMs,
      channel,
      seen,
    }));
    isDoubtful ||= repeated;
    const { status } = reply;
    if (status === "wrong-type") throw new WrongTypeError(key, reply.type);
    if (status === "late") continue;
    if (status === "changed" && !isDoubtful) return status;
    // An earlier copy of the command, whose answer was lost, may have freed the lock, and another owner may have taken it since.
    const gone = status === "changed" ? await goneOf({ ...lock, client }, seen) : holders;
    await tellStays({ ...lock, client }, gone, sentMs);
    const isFreed = holders.length > 0 && isDoubtful && gone.length === holders.length;
    if (status !== "released" && !isFreed) return status;
    tellForced(client, lock, seen);
    return "released";
  }
  throw new UnavailableError(commands.server, ANSWERS_LATE, isDoubtful);
}

/**
 * Tells this client's stays that they were freed. If a stay began under a freed field while the command was under way, it is not known
 * which came first: asks Redis whether the field is there.
 */
async function tellStays(lock: Looked, freed: readonly string[], sentMs: number): Promise<void> {
  const { client, key } = lock;
  // Calls that wait behind a hold of their own client may get no message about this release.
  for (const id of lockIds(key)) client.lines.of(id)?.wake();
  let [gone, beforeMs] = [freed, sentMs];
  while (client.threads.stolen(key, gone, beforeMs)) {
    beforeMs = client.clock.monotonicMs();
    try {
      gone = await stillGone(lock, freed);
    } catch {
      // The answer is missing: all these stays count as freed.
      beforeMs = Number.POSITIVE_INFINITY;
    }
  }
}

/**
 * The seen holders that the lock no longer has. Called after a command with an unknown outcome.
 * @throws UnavailableError with an unknown outcome
 */
async function goneOf(lock: Looked, seen: Readonly<Record<string, string>>): Promise<readonly string[]> {
  try {
    return await stillGone(lock, holdersOf(seen));
  } catch (error) {
    throw error instanceof UnavailableError ? withUnknownOutcome(error) : error;
  }
}

async function stillGone(lock: Looked, holders: readonly string[]): Promise<readonly string[]> {
  const { fields: now } = await look(lock);
  return holders.filter((holder) => now[holder] === undefined);
}
