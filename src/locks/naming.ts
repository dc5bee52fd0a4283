import { UnavailableError } from "../errors.js";
import { invariant } from "../invariant.js";
import type { SuccessionAnswer } from "../protocol/lock-calls.js";
import { lockSucceed } from "../protocol/lock-scripts.js";
import type { Exchanged } from "../runtime/exchanged.js";
import type { Chain, Holder } from "../threads/chain.js";
import type { LockIdentity } from "./lock-kind.js";

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** Frees a lock from these holders, as Redis may have one of them. All their leases have ended after `leaseMs`. */
type FreeNames = (lock: LockIdentity, names: readonly string[], leaseMs: number) => void;

/**
 * Has Redis write the field of a chain's latest holder, for as long as that is held. One command at a time names the latest holder, and
 * lists all fields of which Redis may have one: it replaces the one that it finds. Until it is named, a holder is trusted for as long as
 * the one before it was, and its own commands wait. Never rejects.
 * @see docs/internals/states.md#hand-over
 */
export async function nameLatest(lock: LockIdentity, chain: Chain, free: FreeNames): Promise<void> {
  const { commands } = lock.client;
  invariant(!chain.isNaming, "two commands name the holder of a lock");
  chain.isNaming = true;
  for (let pauseMs = FIRST_PAUSE_MS; goesOn(chain); ) {
    const hold = chain.latest;
    try {
      if (isSettled(lock, chain, hold, await send(lock, hold))) break;
      if (hold !== chain.latest) continue;
    } catch (error) {
      if (!(error instanceof UnavailableError)) break;
    }
    if (goesOn(chain)) await commands.pause(pauseMs).catch(() => undefined);
    pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
  }
  chain.isNaming = false;
  end(lock, chain, free);
}

function goesOn({ isOver, latest }: Chain): boolean {
  return !isOver && latest.state === "held";
}

function send(
  { client: { commands } }: LockIdentity,
  { holding, terms }: Holder,
): Promise<Exchanged<SuccessionAnswer>> {
  const { key, field: successor } = holding;
  const { leaseMs } = terms;
  const predecessors = holding.inRedis.naming(successor);
  holding.renewing();
  return commands.exchange(
    lockSucceed,
    key,
    () => ({ notAfterMs: commands.notAfterMs(key), key, leaseMs, successor, predecessors }),
    { leaseMs },
  );
}

/** @returns false when one more command has to name the latest holder */
function isSettled(
  { client, id }: LockIdentity,
  chain: Chain,
  sent: Holder,
  { reply, sentAt, shortfall }: Exchanged<SuccessionAnswer>,
): boolean {
  if (chain.isOver) return true;
  const { latest } = chain;
  const { holding } = latest;
  switch (reply.status) {
    case "late":
      return false;
    case "held":
      if (shortfall !== undefined) return false;
      holding.inRedis.named(sent.holding.field, sent === latest);
      if (sent !== latest) return false;
      holding.named(sentAt);
      return true;
    default:
      holding.inRedis.named(holding.field, true);
      holding.loseAll("stolen");
      client.lines.of(id)?.wake();
      return true;
  }
}

/**
 * Lets the commands go on that wait for the latest holder's turn. If that holder was lost before it was named, all names are freed, as
 * Redis has one of them.
 */
function end(lock: LockIdentity, { isOver, latest: { holding, loss } }: Chain, free: FreeNames): void {
  if (isOver) return;
  const { inRedis, field } = holding;
  // When the client closes, bodies may still run: their leases are left to their TTLs.
  if (loss !== undefined && loss.reason !== "closed" && !inRedis.isNamed) {
    free(lock, inRedis.names(field), inRedis.longestLeaseMs);
    // A call that waits to enter once more then finds the count 0, and fails: its hold would be freed with the names.
    inRedis.namesFreed();
  }
  inRedis.endTurn();
}
