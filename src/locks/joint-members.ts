import { shown } from "../checks.js";
import { LeaseLock } from "./lease-lock.js";
import type { Lock } from "./lock.js";
import type { SingleLock } from "./single-lock.js";

/**
 * The distinct locks of a joint lock, in the order in which every client takes them: by server and key.
 * @throws TypeError
 */
export function jointMembers(locks: readonly Lock[], what: string): readonly [SingleLock, ...SingleLock[]] {
  const members = new Map<string, SingleLock>();
  for (const lock of locks) {
    if (!(lock instanceof LeaseLock)) {
      throw new TypeError(`${what} takes only single locks of holdfast, got ${describe(lock)}`);
    }
    const place = placeOf(lock);
    const known = members.get(place);
    if (known !== undefined && known.identity.kind.name !== lock.identity.kind.name) {
      const { name, kind } = lock.identity;
      throw new TypeError(
        `"${name}" is in ${what} as a ${known.identity.kind.name} and as a ${kind.name}: one would wait for the other`,
      );
    }
    if (known === undefined) members.set(place, lock);
  }
  const [first, ...others] = [...members].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, lock]) => lock);
  if (first === undefined) throw new TypeError(`${what} needs at least one lock`);
  return [first, ...others];
}

/** Two clients may be connected to one server; a key there is still one lock. */
function placeOf({ identity }: SingleLock): string {
  return JSON.stringify([identity.client.commands.server, identity.key]);
}

/** Names the value by its class if it has one: a joint lock, a semaphore, a Redis client. */
function describe(lock: unknown): string {
  const named = typeof lock === "object" ? lock?.constructor?.name : undefined;
  return named === undefined || named === "Object" ? shown(lock) : named;
}
