import { LeaseLostError, type Obstacle, UnavailableError, WrongTypeError } from "../errors.js";
import { events } from "../events.js";
import type { AcquireAnswer } from "../protocol/lock-scripts.js";
import { only } from "../protocol/replies.js";
import type { Instant } from "../runtime/instant.js";
import type { WaitLine } from "../runtime/wait-lines.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Hold, Terms } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import type { Scope } from "../threads/scope.js";
import type { LockIdentity } from "./lock-kind.js";
import { cleanUp, MOST_VAIN_TRIES, reachStoredCount, release } from "./release.js";

/** One call that wants a lock. */
export interface Wish {
  readonly terms: Terms;
  /** Whether a body is about to run in the hold, or a bare lease is handed out. */
  readonly form: "lock" | "using";
  /** The scope of `asThread` that a bare hold is to lie in. */
  takenIn: Scope | undefined;
  readonly waiter: Waiter;
  /** True for one more hold of a stay that goes on: it may never become the first of another. */
  again: boolean;
  /** How often Redis was asked. */
  attempts: number;
  /** Who was in the way when the lock was last seen. */
  obstacle: Obstacle | undefined;
}

/**
 * Takes the outermost hold of a stay, standing in line with the other callers of this client.
 * @returns undefined when the waiter's time was up
 * @throws the reason of a cancelled wait; UnavailableError, WrongTypeError
 */
export async function waitInLine(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
): Promise<Hold | undefined> {
  const { lines } = lock.client;
  const { waiter } = wish;
  const line = lines.join(lock.channel, waiter);
  try {
    for (;;) {
      if (line.isHead(waiter) && line.shouldAsk()) {
        const hold = await askInLine(lock, holding, wish, line);
        if (hold !== undefined) return hold;
      } else if (line.isHead(waiter)) {
        line.listen();
        await waiter.pause(line.sleepMs());
      } else {
        await waiter.pause();
      }
      if (waiter.over) return refuse(lock, wish, line);
    }
  } finally {
    lines.leave(line, waiter);
  }
}

async function askInLine(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
  line: WaitLine,
): Promise<Hold | undefined> {
  line.asking();
  try {
    const hold = await ask(lock, holding, wish);
    const obstacle =
      hold === undefined ? wish.obstacle : { holder: holding.field, ttlMs: wish.terms.leaseMs };
    if (obstacle !== undefined) line.seenHeld(obstacle.holder, obstacle.ttlMs);
    return hold;
  } catch (error) {
    // A wake-up that a cancelled call has used up is for the next in line. What failed for one fails for all.
    if (wish.waiter.cancelled) line.wake();
    else line.fail(error);
    throw error;
  }
}

/**
 * Asks Redis, once unless the answer comes too late to be of use.
 * @returns undefined when somebody else has the lock
 * @throws the reason of a cancelled wait; LeaseLostError when the stay to enter is over; UnavailableError, WrongTypeError
 */
export async function ask(lock: LockIdentity, holding: Holding, wish: Wish): Promise<Hold | undefined> {
  const { waiter } = wish;
  const attempt = attemptUntilOfUse(lock, holding, wish);
  const hold = await waiter.unlessCancelled(attempt);
  if (hold !== undefined || !waiter.cancelled) return hold;
  // Whatever the attempt brings is given back behind the scenes.
  holding.unsettled();
  const givenBack = attempt.then((late) => (late === undefined ? undefined : release(lock, late)));
  lock.client.inBackground(() => givenBack.finally(() => holding.settled()));
  throw waiter.reason;
}

async function attemptUntilOfUse(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
): Promise<Hold | undefined> {
  const { waiter } = wish;
  const { commands } = lock.client;
  for (let vainTries = 0; ; ) {
    const outcome = await holding.inTurn(() => attempt(lock, holding, wish));
    if (outcome === "busy") return undefined;
    if (typeof outcome !== "string") return outcome;
    if (outcome === "spent" || outcome === "leftover") await reachStoredCount(lock, holding);
    if (outcome !== "spent" && ++vainTries >= MOST_VAIN_TRIES) {
      throw new UnavailableError(
        commands.server,
        `lock "${lock.name}" could not be asked for in time`,
        false,
      );
    }
    if (waiter.cancelled || (outcome === "spent" && waiter.over)) return undefined;
  }
}

/**
 * `late`: the command arrived after its deadline. `spent`: it was taken, but the lease is over already. `leftover`: holds
 * of an earlier stay under the same explicit id, which were lost, are still there.
 */
async function attempt(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
): Promise<Hold | "busy" | "late" | "spent" | "leftover"> {
  const heldCount = holding.storedCount;
  if (wish.again && heldCount === 0) throw lossOf(lock, holding);
  wish.attempts += 1;
  const { answer, sentAt } = await send(lock, holding, wish, heldCount);
  switch (answer.status) {
    case "held": {
      const scope = wish.takenIn?.ended ? undefined : wish.takenIn;
      const hold = holding.add(wish.terms, sentAt, wish.form === "lock" && scope === undefined);
      if (hold === undefined) return "spent";
      holding.storedCount = heldCount + 1;
      scope?.take(hold);
      return hold;
    }
    case "busy":
      wish.obstacle = { holder: answer.holder, ttlMs: answer.ttlMs, own: lock.client.owns(answer.holder) };
      if (wish.attempts === 1 && events.contended.hasSubscribers) {
        const { holder, ttlMs } = answer;
        events.contended.publish({ name: lock.name, kind: lock.kind.name, holder, ttlMs });
      }
      return "busy";
    case "late":
      return "late";
    case "lost":
      holding.loseAll(answer.taken ? "stolen" : "expired");
      throw lossOf(lock, holding);
    case "miscounted":
      if (!wish.again) return "leftover";
      holding.loseAll("stolen");
      throw lossOf(lock, holding);
    case "wrong-type":
      throw new WrongTypeError(lock.key, answer.type);
    case "refused":
      throw new UnavailableError(lock.client.commands.server, answer.message, false);
  }
}

interface Sent {
  readonly answer: AcquireAnswer;
  readonly sentAt: Instant;
}

async function send(lock: LockIdentity, holding: Holding, wish: Wish, heldCount: number): Promise<Sent> {
  const { commands } = lock.client;
  const { key, field } = holding;
  const { leaseMs } = wish.terms;
  let notAfterMs = 0;
  holding.asking(leaseMs);
  try {
    const input = () => {
      notAfterMs = commands.notAfterMs();
      return { notAfterMs, locks: [{ key, holder: field, leaseMs, heldCount }] };
    };
    const { reply, sentAt, serverMs, repeated } = await commands.exchange(
      lock.kind.acquire,
      input,
      wish.waiter,
    );
    if (repeated) holding.copyMayArrive(notAfterMs);
    holding.seenServer(serverMs);
    return { answer: only(reply), sentAt };
  } catch (error) {
    if (error instanceof UnavailableError && error.outcomeUnknown) {
      holding.copyMayArrive(notAfterMs);
      cleanUp(lock, holding);
    }
    throw error;
  }
}

function lossOf(lock: LockIdentity, holding: Holding): LeaseLostError {
  return holding.loss ?? new LeaseLostError(lock.name, holding.field, "released", 0);
}

/** @throws the reason of a wait that was cancelled */
function refuse(lock: LockIdentity, wish: Wish, line: WaitLine): undefined {
  if (wish.waiter.cancelled) throw wish.waiter.reason;
  const { sighting } = line;
  if (sighting === undefined) return;
  wish.obstacle = { ...sighting, own: lock.client.owns(sighting.holder) };
}
