import type { SuccessionAnswer } from "../protocol/lock-calls.js";
import { lockSucceed } from "../protocol/lock-scripts.js";
import type { Exchanged } from "../runtime/exchanged.js";
import type { Chain, Holder } from "../threads/chain.js";
import type { LockIdentity } from "./lock-kind.js";

/**
 * After hand-overs, writes the field of the latest holder into Redis. Redis may have the field of any earlier holder: the command lists all
 * these fields, and replaces the field that it finds. Before Redis has answered, the latest holder may rely on the lock only until the lease of the holder
 * before it would have ended, and the latest holder's commands wait.
 * @see docs/internals/states.md#hand-over
 */
export function sendName(
  { client: { commands } }: LockIdentity,
  { stay, terms }: Holder,
): Promise<Exchanged<SuccessionAnswer>> {
  const { key, field: successor } = stay;
  const { leaseMs } = terms;
  const predecessors = stay.inRedis.naming(successor);
  stay.renewing();
  return commands.exchange(
    lockSucceed,
    key,
    () => ({ notAfterMs: commands.notAfterMs(key), key, leaseMs, successor, predecessors }),
    { leaseMs },
  );
}

/** Reads the answer to {@link sendName}. @returns false if one more such command must be sent for the latest holder */
export function isNamedBy(
  { client, id }: LockIdentity,
  chain: Chain,
  sent: Holder,
  { reply, sentAt, shortfall }: Exchanged<SuccessionAnswer>,
): boolean {
  if (chain.isOver) return true;
  const { latest } = chain;
  const { inRedis } = latest.stay;
  if (reply.status === "late") return false;
  if (reply.status === "held") {
    if (shortfall !== undefined) return false;
    inRedis.named(sent.stay.field, sent === latest);
    if (sent !== latest) return false;
    latest.stay.named(sentAt);
  } else {
    inRedis.namesFreed(false);
    latest.stay.loseAll("stolen");
    client.lines.of(id)?.wake();
  }
  // Now the commands of the latest holder that wait for a turn may run.
  inRedis.endTurn();
  return true;
}
