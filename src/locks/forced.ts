import type { Client } from "../client.js";
import { events } from "../events.js";
import { MODE_FIELD } from "../protocol/names.js";
import type { CallSubject } from "../runtime/for-caller.js";

/**
 * Publishes that this client has freed a lock by force.
 * @param seen the fields that were freed
 */
export function tellForced(
  client: Client,
  { name, kind, key }: CallSubject & { readonly key: string },
  seen: Readonly<Record<string, string>>,
): void {
  if (!events.forced.hasSubscribers) return;
  const holders = holdersOf(seen);
  const own = holders.some((holder) => client.owns(holder));
  const kindName = typeof kind === "string" ? kind : kind.name;
  events.forced.publish({ ...client.about, name, kind: kindName, key, holders, own });
}

/** The holders among the fields of a lock. */
export function holdersOf(fields: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(fields).filter((field) => field !== MODE_FIELD);
}
