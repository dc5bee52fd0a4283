import { NotHeldError } from "../errors.js";
import { events } from "../events.js";
import type { ReleaseAnswer } from "../protocol/lock-calls.js";
import type { Exchanged } from "../runtime/commands.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { cleanUp, freeNames, tellReplicas } from "./clean-up.js";
import { handOver } from "./hand-off.js";
import type { LockIdentity } from "./lock-kind.js";
import { Lowering, type Sending, sendRelease } from "./lowering.js";

/**
 * Releases one hold. Twice is harmless.
 * @throws NotHeldError, UnavailableError, ClientClosedError
 */
export function release(lock: LockIdentity, hold: Hold): Promise<void> {
  if (hold.state === "lost") {
    hold.dismissed = true;
    giveUpField(lock, hold.holding);
    return Promise.reject(lateRelease(hold));
  }
  hold.releasing ??= releaseHeld(lock, hold);
  return hold.releasing;
}

/** Most releases end a stay, with nothing else under way: one command, and one promise. Some need no command at all. */
function releaseHeld(lock: LockIdentity, hold: Hold): Promise<void> {
  const { holding, heldMs } = hold;
  const isLast = holding.isAlone(hold);
  if (isLast && handOver(lock, hold, freeNames)) {
    hold.release();
    tell(lock, holding, heldMs);
    return Promise.resolve();
  }
  const isSimple = isLast && holding.isNamed;
  holding.unsettled();
  holding.releases += 1;
  hold.release();
  if (!isSimple) {
    const lowering = holding.inRedis.inTurn(() => lowerCount(lock, hold));
    return ended(lock, hold, heldMs, lowering);
  }
  holding.inRedis.count = 0;
  return new Promise((resolve) => {
    lock.client.groups.send(lock.kind.release, new LastRelease(lock, hold, heldMs, resolve));
  });
}

async function ended(
  lock: LockIdentity,
  hold: Hold,
  heldMs: number,
  release: Promise<boolean>,
): Promise<void> {
  const { holding } = hold;
  let clean = false;
  try {
    const replicated = await release;
    clean = holding.inRedis.copiesUntilMs === 0;
    if (clean && !replicated) tellReplicas(lock, holding);
    tell(lock, holding, heldMs);
  } catch (error) {
    clean = error instanceof NotHeldError;
    throw error;
  } finally {
    holding.releases -= 1;
    if (!clean) cleanUp(lock, holding);
    holding.settled();
  }
}

function tell({ name, kind }: LockIdentity, { field }: Holding, heldMs: number): void {
  if (!events.release.hasSubscribers) return;
  events.release.publish({ name, kind: kind.name, holder: field, heldMs });
}

/** The field of a lost lease may outlive the trust in it; then others need not wait for its TTL. */
function giveUpField(lock: LockIdentity, holding: Holding): void {
  if (!holding.isIdle || holding.inRedis.count === 0) return;
  holding.inRedis.count = 0;
  cleanUp(lock, holding);
}

/** @returns false when too few replicas have it */
async function lowerCount(lock: LockIdentity, hold: Hold): Promise<boolean> {
  const { holding } = hold;
  const keptCount = holding.keepLive();
  if (holding.inRedis.count <= keptCount) return true;
  // Whatever becomes of the command, this is the count to be reached.
  holding.inRedis.count = keptCount;
  return lowered(hold, keptCount, await sendRelease(lock, holding));
}

/** What the answer to a release comes to. @returns false when too few replicas have it */
function lowered(
  hold: Hold,
  keptCount: number,
  { reply, repeated, sentAt, shortfall }: Exchanged<ReleaseAnswer>,
): boolean {
  const { holding } = hold;
  if (reply.status === "released") {
    if (keptCount > 0 && shortfall === undefined) holding.renewed(sentAt);
    return shortfall === undefined;
  }
  // Gone after a repeat: the copy that was not answered has done it.
  if (reply.status === "absent" && repeated && keptCount === 0) return shortfall === undefined;
  holding.loseAll("stolen");
  holding.inRedis.count = 0;
  hold.wasStolen();
  hold.dismissed = true;
  throw lateRelease(hold, reply);
}

/** The release of the only hold of a stay, under a number that will not be used again. */
class LastRelease extends Lowering {
  readonly #hold: Hold;
  readonly #heldMs: number;
  readonly #resolve: (ended: undefined | Promise<void>) => void;

  constructor(
    lock: LockIdentity,
    hold: Hold,
    heldMs: number,
    resolve: (ended: undefined | Promise<void>) => void,
  ) {
    super(lock, hold.holding, NOTHING_ELSE);
    this.#hold = hold;
    this.#heldMs = heldMs;
    this.#resolve = resolve;
    hold.holding.inRedis.beginTurn();
  }

  override answered(answer: ReleaseAnswer, command: Exchanged<unknown>): void {
    super.answered(answer, command);
    const { holding } = this;
    holding.inRedis.endTurn();
    if (answer.status !== "released" || command.shortfall !== undefined || holding.inRedis.isPossible) {
      this.#end(async () => lowered(this.#hold, 0, { ...command, reply: answer }));
      return;
    }
    tell(this.lock, holding, this.#heldMs);
    holding.releases -= 1;
    holding.settled();
    this.#resolve(undefined);
  }

  override failed(error: unknown): void {
    super.failed(error);
    this.holding.inRedis.endTurn();
    this.#end(() => Promise.reject(error));
  }

  #end(release: () => Promise<boolean>): void {
    this.#resolve(ended(this.lock, this.#hold, this.#heldMs, release()));
  }
}

const NOTHING_ELSE: Sending = {};

function lateRelease(hold: Hold, answer?: ReleaseAnswer): NotHeldError {
  const { lock } = hold.holding;
  const { loss } = hold;
  const found = answer === undefined ? "" : ` (Redis: ${answer.status})`;
  const why = `${loss?.message ?? "the lease is over"}${found}; somebody else may hold it`;
  return new NotHeldError(lock.name, why, { cause: loss });
}
