import { checkClusterKey, checkCount, checkObject, keyOf, known, refuseUnknown, shown } from "../checks.js";
import type { Client } from "../client.js";
import { UnavailableError } from "../errors.js";
import { events } from "../events.js";
import { semaphoreResize } from "../protocol/later-count-scripts.js";
import { semaphoreChannel } from "../protocol/names.js";
import { permitRelease } from "../protocol/semaphore-scripts.js";
import { MOST_PERMITS } from "./any-semaphore.js";
import { type Count, change } from "./count.js";
import { idsOf } from "./permit-ids.js";

/** The state of a semaphore that an earlier `inspect` returned. */
interface SeenSemaphore {
  readonly name: string;
  readonly key: string;
  readonly kind: string;
  readonly available?: number;
  readonly taken?: readonly { readonly id: string }[];
  readonly takenCount?: number;
}

/** The permits to release by force. */
export interface ForceReleaseOptions {
  /** The permits' ids, at most 1,000; each must be among the seen ids. */
  readonly ids: readonly string[];
}

/**
 * The outcome for seen permits. `released`: available again; `absent`: all were back already; `changed`: some were back, and nothing was
 * done.
 */
export type ForceReleaseOutcome = "released" | "absent" | "changed";

/**
 * The outcome for a seen semaphore. `set`: it has the new number of permits; `absent`: it does not exist; `changed`: it had another number,
 * and nothing was done.
 */
export type SetPermitsOutcome = "set" | "absent" | "changed";

const FORCE_RELEASE_OPTIONS = known<ForceReleaseOptions>("option", "forceRelease", { ids: true });
const LEASED = "permit-expirable-semaphore";
const COUNTED = "semaphore-or-latch";

/**
 * Gives back permits that an earlier look has seen, all or none. Ids are never reused: a permit taken since then has another id.
 * @throws TypeError, RangeError for ids that were not seen; InvalidNameError, UnavailableError, WrongTypeError, ClientClosedError
 */
export async function forceRelease(
  client: Client,
  seen: SeenSemaphore,
  options: ForceReleaseOptions,
): Promise<ForceReleaseOutcome> {
  checkState("forceRelease", seen, [LEASED]);
  checkObject("options", options, "{ ids: [id] }");
  const { ids: given, ...unknown } = options;
  refuseUnknown(FORCE_RELEASE_OPTIONS, unknown);
  const ids = idsOf(given);
  const shownIds = new Set((seen.taken ?? []).map(({ id }) => id));
  const unseen = ids.find((id) => !shownIds.has(id));
  if (unseen !== undefined)
    throw new TypeError(
      `forceRelease needs ids of permits in the taken list of the state, got ${shown(unseen)}`,
    );
  const count = countOf(client, seen, LEASED);
  const { name, key, channel } = count;
  const holds = client.permits.of(ids);
  try {
    const decided = await change(count, permitRelease, (request) => ({ count: key, request, channel, ids }));
    if (decided.status === "absent") return decided.absent === ids.length ? "absent" : "changed";
  } catch (error) {
    // The permits may have been given back, so they are no longer trusted.
    if (error instanceof UnavailableError && error.outcomeUnknown)
      for (const hold of holds) hold.lose("stolen");
    throw error;
  }
  for (const hold of holds) hold.lose("stolen");
  if (events.forced.hasSubscribers)
    events.forced.publish({ ...client.about, name, kind: LEASED, key, holders: ids, own: holds.length > 0 });
  return "released";
}

/**
 * Changes the number of permits of a semaphore if it is still the number that an earlier look has seen.
 * @throws the errors of {@link forceRelease}
 */
export async function setPermitsSeen(
  client: Client,
  seen: SeenSemaphore,
  permits: number,
): Promise<SetPermitsOutcome> {
  checkState("setPermits", seen, [LEASED, COUNTED]);
  checkCount("permits", permits, 0, MOST_PERMITS);
  const { available = 0, takenCount = 0, kind } = seen;
  const count = countOf(client, seen, kind === LEASED ? kind : "semaphore");
  const { key, channel } = count;
  const setting = { count: key, channel, seen: available + takenCount, total: permits };
  const { status } = await change(count, semaphoreResize, (request) => ({ ...setting, request }));
  return status;
}

function countOf(client: Client, { name, key: given }: SeenSemaphore, kind: string): Count {
  const key = keyOf(given, (itself) => itself);
  if (client.inCluster) checkClusterKey(key);
  const count = { client, kind, name, key, channel: semaphoreChannel(key) };
  client.assertOpen(count);
  return count;
}

/** The state may come from untyped code or from parsed text. */
function checkState(method: string, state: unknown, kinds: readonly string[]): void {
  const wrong = (wanted: string, value: unknown) =>
    new TypeError(`${method} needs ${wanted}, as holdfast.inspect(name) returns it, got ${shown(value)}`);
  if (typeof state !== "object" || state === null) throw wrong("the state of a semaphore", state);
  const { name, key, kind, available, taken, takenCount } = state as Partial<
    Record<keyof SeenSemaphore, unknown>
  >;
  if (typeof name !== "string") throw wrong("a state whose name is a string", name);
  if (typeof key !== "string") throw wrong("a state whose key is a string", key);
  if (typeof kind !== "string" || !kinds.includes(kind))
    throw wrong(`a state of kind ${kinds.join(" or ")}`, kind);
  if (!Number.isSafeInteger(available)) throw wrong("a state whose available is a whole number", available);
  if (kind !== LEASED) return;
  if (!Number.isSafeInteger(takenCount))
    throw wrong("a state whose takenCount is a whole number", takenCount);
  if (!Array.isArray(taken) || taken.some((permit: unknown) => !hasId(permit)))
    throw wrong("a state whose taken is an array of permits with ids", taken);
}

function hasId(permit: unknown): boolean {
  return typeof permit === "object" && permit !== null && typeof (permit as { id?: unknown }).id === "string";
}
