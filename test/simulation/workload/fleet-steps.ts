import type { ClientPresence, PresentHold } from "../../../src/index.js";
import type { Caller } from "./caller.js";
import { familyOf } from "./families.js";

/** Kinds whose holders are fields of a lock's hash. */
const LOCKS = /(?:^|-)lock$/;
/** It reads ids, and then what these clients have told. */
const COMMANDS = 3;

/** Asks who is there: a client may tell late what it has, but nothing that it never had. */
export async function fleetStep(caller: Caller): Promise<void> {
  const { member, scene } = caller;
  const waitMs = COMMANDS * member.plan.options.commandTimeoutMs;
  const became = await caller.call({ what: "fleet()", names: [], waitMs }, () => member.holdfast.fleet());
  if (!became.ok) return;
  const watched = new Set(scene.shared.flatMap((each) => familyOf(each).heldKeys(each)));
  for (const client of became.value.clients) {
    const told = client.holds.filter(({ key, kind }) => watched.has(key) && LOCKS.test(kind));
    for (const hold of told) {
      if (wasHeld(caller, client, hold)) continue;
      const text = `fleet() names a hold of "${hold.key}" that there never was: ${JSON.stringify(hold)}`;
      scene.checker.fail("truth", `${caller.name}: ${text} of ${client.id}`);
    }
  }
}

function wasHeld({ scene }: Caller, { id }: ClientPresence, { key, threadId }: PresentHold): boolean {
  const field = `${id}:${threadId}`;
  return [field, `${field}:write`].some((holder) => scene.holders.lastsUntilUs(key, holder) !== undefined);
}
