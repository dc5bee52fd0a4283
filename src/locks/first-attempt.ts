import type { AcquireAnswer } from "../protocol/lock-calls.js";
import type { Exchanged } from "../runtime/commands.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { Thread } from "../threads/thread.js";
import { type Answered, Sending } from "./acquire.js";
import { enter } from "./enter.js";
import { goOn } from "./fulfil.js";
import { Heir, handsOver } from "./hand-off.js";
import type { LockIdentity } from "./lock-kind.js";
import { inherited } from "./wait-in-line.js";
import type { Wish } from "./wish.js";

/**
 * The roads that most calls take: they are on nobody's path, and wait for one answer, or for a call of the same client that hands
 * them the lock. Where it comes otherwise, or the wait is cancelled first, the call goes on as all others do. The waiter is
 * dismissed.
 * @returns as `fulfil`; undefined for a call that is to go on so from the start
 */
export function straight(
  lock: LockIdentity,
  wish: Wish,
  threadId: number | undefined,
): Promise<Hold | undefined> | undefined {
  const { client, kind, id } = lock;
  if (threadId !== undefined || kind.half !== undefined || kind.recordsWaiters || wish.cancelled)
    return undefined;
  if (client.threads.current !== undefined) return undefined;
  if (!wish.waits || client.lines.lengthOf(id) === 0) return attemptFirst(lock, wish);
  return handsOver(lock) ? standBehind(lock, wish) : undefined;
}

function attemptFirst(lock: LockIdentity, wish: Wish): Promise<Hold | undefined> {
  const attempt = new FirstAttempt(lock, wish);
  // Here, where it runs in the async context of its caller.
  return attempt.send().then((hold) => hold ?? insist(lock, attempt.part.holding, wish));
}

async function standBehind(lock: LockIdentity, wish: Wish): Promise<Hold | undefined> {
  const { client } = lock;
  const { waiter } = wish;
  const holding = client.threads.begin(new Thread(), lock);
  holding.unsettled();
  const line = client.lines.join(lock, waiter);
  const heir = new Heir(holding, wish);
  waiter.heir = heir;
  await waiter.pause();
  waiter.heir = undefined;
  if (heir.hold === undefined) return insist(lock, holding, wish);
  client.lines.leave(line, waiter);
  holding.settled();
  client.dismiss(waiter);
  return inherited(lock, heir.hold, waiter);
}

async function insist(lock: LockIdentity, holding: Holding, wish: Wish): Promise<Hold | undefined> {
  try {
    return await goOn(lock, holding, wish);
  } finally {
    lock.client.dismiss(wish.waiter);
  }
}

class FirstAttempt extends Sending {
  readonly #line: WaitLine | undefined;
  #resolve: ((hold: Hold | undefined) => void) | undefined;
  #late: { resolve(answered: Answered<AcquireAnswer>): void; reject(error: unknown): void } | undefined;

  constructor(lock: LockIdentity, wish: Wish) {
    const { threads, lines } = lock.client;
    const holding = threads.begin(new Thread(), lock);
    super({ lock, holding, wish, heldCount: 0 });
    holding.unsettled();
    this.#line = wish.waits ? lines.join(lock, wish.waiter) : undefined;
    this.#line?.asking();
    wish.waiter.onCancel(() => this.#cancelled());
  }

  /** @returns undefined when there is something left to do; `wish.first` says what has come so far */
  send(): Promise<Hold | undefined> {
    const { client, kind } = this.part.lock;
    return new Promise((resolve) => {
      this.#resolve = resolve;
      client.groups.send(kind.acquire, this);
    });
  }

  override answered(answer: AcquireAnswer, command: Exchanged<unknown>): void {
    super.answered(answer, command);
    const { holding, wish } = this.part;
    if (this.#late !== undefined) {
      this.#late.resolve({ answer, command });
      return;
    }
    const isHeld = answer.status === "held" && command.shortfall === undefined;
    const given = { takenAt: command.sentAt, token: isHeld ? answer.token : undefined };
    const hold = isHeld ? enter(holding, wish, given) : undefined;
    if (hold === undefined) this.#leave(Promise.resolve({ answer, command }));
    else this.#entered(hold);
  }

  override failed(error: unknown): void {
    super.failed(error);
    if (this.#late !== undefined) this.#late.reject(error);
    else this.#leave(Promise.reject(error));
  }

  #entered(hold: Hold): void {
    const { lock, holding, wish } = this.part;
    const line = this.#line;
    wish.attempts = 1;
    wish.waiter.onCancel(undefined);
    if (line !== undefined) {
      if (line.length > 1) line.seenHeld({ holder: holding.field, ttlMs: wish.terms.leaseMs });
      lock.client.lines.leave(line, wish.waiter);
    }
    holding.settled();
    lock.client.dismiss(wish.waiter);
    this.#resolve?.(hold);
  }

  #cancelled(): void {
    const late = new Promise<Answered<AcquireAnswer>>((resolve, reject) => {
      this.#late = { resolve, reject };
    });
    this.#leave(late);
  }

  #leave(asked: Promise<Answered<AcquireAnswer>>): void {
    const { wish } = this.part;
    wish.waiter.onCancel(undefined);
    wish.first = asked;
    // Whoever goes on hears of it.
    asked.catch(() => undefined);
    this.#resolve?.(undefined);
  }
}
