import { forCaller } from "../runtime/for-caller.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import type { Scope } from "../threads/scope.js";
import { Thread } from "../threads/thread.js";
import { ask, unanswered } from "./acquire.js";
import { assertReentrant, type Claim, claimOf, mayEnter, otherHalfId } from "./claim.js";
import { clearLeftover, undoCopies } from "./clean-up.js";
import type { LockIdentity } from "./lock-kind.js";
import type { Wish } from "./wish.js";

/**
 * Takes a lock for a caller: the first hold of a stay, or one more.
 * @param stranger who the caller is where it is on nobody's path
 * @returns undefined when it was not to be had in the time that the wish allows
 * @throws the reason of a cancelled wait; NotHeldError, ReentryError, UpgradeNotSupportedError, LeaseLostError,
 * UnavailableError, WrongTypeError, ClientClosedError
 */
export async function fulfil(
  lock: LockIdentity,
  wish: Wish,
  threadId: number | undefined,
  stranger: () => Thread = () => new Thread(),
): Promise<Hold | undefined> {
  try {
    for (;;) {
      if (wish.waiter.cancelled) throw wish.waiter.reason;
      const claim = claimOf(lock, threadId, stranger, wish.replaced);
      wish.takenIn = threadId === undefined ? scopeOf(lock, wish, claim) : undefined;
      wish.kin = claim.kin;
      const present = claim.outer?.holding ?? claim.thread.stayIn(lock.id);
      // Until it is this call's turn, the stay may end or another one begin.
      let entered: Hold | undefined | "changed";
      const other = threadId === undefined ? undefined : unsettledHalf(lock, claim);
      if (present !== undefined) entered = await enterAgain(lock, wish, claim, present);
      else if (other !== undefined) entered = await letSettle(lock, wish, other);
      else if (claim.kin !== undefined) entered = await readBeside(lock, wish, claim, claim.kin);
      else entered = await begin(lock, wish, claim);
      if (entered !== "changed") return entered;
    }
  } catch (error) {
    throw forCaller(error, lock, wish.waiter);
  }
}

function begin(lock: LockIdentity, wish: Wish, { thread, kin }: Claim): Promise<Hold | undefined> {
  const holding = lock.client.threads.begin(thread, lock, kin?.holding);
  holding.unsettled();
  return goOn(lock, holding, wish);
}

/** Takes the outermost hold of a stay that was begun, or of one that has to be begun after it. */
export async function goOn(lock: LockIdentity, begun: Holding, wish: Wish): Promise<Hold | undefined> {
  for (let holding = begun; ; ) {
    holding.isBeginning = true;
    try {
      // Who has the write lock passes all who wait for it.
      const hold = await (wish.waits && wish.kin === undefined
        ? lock.kind.wait(lock, holding, wish)
        : ask(lock, holding, wish));
      if (hold !== "spent") return hold;
    } finally {
      holding.isBeginning = false;
      // Takes it out of the queue, and passes on what may have been given to it at this very moment.
      undoCopies(lock, holding, lock.kind.recordsWaiters && wish.waits && wish.attempts > 0);
      holding.settled();
    }
    holding = lock.client.threads.begin(holding.thread, lock);
    holding.unsettled();
  }
}

async function enterAgain(
  lock: LockIdentity,
  wish: Wish,
  { outer, scope }: Claim,
  present: Holding,
): Promise<Hold | undefined | "changed"> {
  const mayEnterNow = () => mayEnter(lock, scope, outer, present.company());
  if (!(await present.enterInTurn(mayEnterNow, wish))) return refuseEntry(lock, wish, present);
  try {
    wish.again = present.live.length > 0;
    if (wish.again) {
      assertReentrant(lock);
      return await ask(lock, present, wish);
    }
    // A stay under a chosen id has ended meanwhile, and the call begins the next one.
    await wish.waiter.unlessCancelled(clearLeftover(lock, present, { timeoutMs: wish.timeoutMs }));
    return "changed";
  } finally {
    present.settled();
  }
}

/** What the chosen thread is just acquiring or releasing in the other lock of the pair. */
function unsettledHalf(lock: LockIdentity, { thread }: Claim): Holding | undefined {
  const id = otherHalfId(lock);
  const other = id === undefined ? undefined : thread.stayIn(id);
  return other === undefined || other.live.length > 0 || other.isIdle ? undefined : other;
}

/** Takes no turn of its own: two calls that did would find each other under way, and wait again, for ever. */
async function letSettle(lock: LockIdentity, wish: Wish, other: Holding): Promise<"changed" | undefined> {
  return (await other.enterInTurn(() => true, wish, false)) ? "changed" : refuseEntry(lock, wish, other);
}

async function readBeside(
  lock: LockIdentity,
  wish: Wish,
  claim: Claim,
  kin: Hold,
): Promise<Hold | undefined | "changed"> {
  const host = kin.holding;
  const mayEnterNow = () => mayEnter(lock, claim.scope, kin, host.live);
  if (!(await host.enterInTurn(mayEnterNow, wish))) return refuseEntry(lock, wish, host);
  try {
    const stands = kin.state === "held" && claim.thread.stayIn(lock.id) === undefined;
    return stands ? await begin(lock, wish, claim) : "changed";
  } finally {
    host.settled();
  }
}

/** @throws the reason of a cancelled wait; UnavailableError where nobody knows what the caller's last stay has left */
function refuseEntry(lock: LockIdentity, wish: Wish, holding: Holding): undefined {
  if (wish.waiter.cancelled) throw wish.waiter.reason;
  const { field, innermost, inRedis, releases } = holding;
  if (innermost === undefined && releases === 0 && inRedis.copiesUntilMs > 0) {
    wish.unanswered = unanswered(lock);
    // One of several servers may be asked again soon.
    if (wish.timeoutMs === undefined) throw wish.unanswered;
  }
  wish.saw(lock, field, innermost?.checkMs() ?? -1);
}

/** The scope of `asThread` in which a bare hold of this call lies; none for a stranger's. */
export function scopeOf(lock: LockIdentity, { form }: Wish, claim: Claim): Scope | undefined {
  const { current } = lock.client.threads;
  if (form !== "lock" || current === undefined || !current.isThread) return undefined;
  return claim.outer !== undefined || claim.thread === current.thread ? current : undefined;
}
