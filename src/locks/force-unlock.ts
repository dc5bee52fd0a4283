import { UnavailableError, WrongTypeError } from "../errors.js";
import { MODE_FIELD } from "../protocol/names.js";
import { tellForced } from "./forced.js";
import type { LockIdentity } from "./lock-kind.js";
import { look } from "./look.js";

/** A lock that has changed between `look` and the command is looked at again, after pauses that double up to this. */
const LONGEST_PAUSE_MS = 32;

/**
 * Frees a lock from the holders that it has now. The command names the fields that were seen, so that a repeat of it cannot remove the next
 * holder.
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
    const { reply, repeated } = await commands.exchange(kind.forceUnlock, key, () => ({
      key,
      notAfterMs: commands.notAfterMs(key),
      channel,
      seen,
    }));
    if (reply.status === "wrong-type") throw new WrongTypeError(key, reply.type);
    if (reply.status === "released" || reply.status === "absent") {
      client.threads.stolen(key, Object.keys(seen));
      // Its holder may have released it since it was seen.
      if (reply.status === "released" || repeated) tellForced(client, lock, seen);
      return true;
    }
    // A copy without an answer may have freed the lock, and another owner may have taken it since: look whether the fields that were seen
    // are gone.
    if (repeated) {
      const { fields: now } = await look(lock);
      const gone = Object.keys(seen).filter((field) => field !== MODE_FIELD);
      if (gone.every((field) => now[field] === undefined)) {
        client.threads.stolen(key, gone);
        tellForced(client, lock, seen);
        return true;
      }
    }
    // In a failover `look` may read from one server while the command goes to another one, in round after round.
    await commands.pause(pauseMs);
    pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
  } while (clock.monotonicMs() < endMs);
  throw new UnavailableError(commands.server, "the lock changes hands faster than it can be freed", false);
}
