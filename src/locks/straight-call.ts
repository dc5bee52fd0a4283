import type { UnavailableError } from "../errors.js";
import { events } from "../events.js";
import type { AcquireAnswer } from "../protocol/lock-calls.js";
import type { Exchanged } from "../runtime/commands.js";
import { forCaller } from "../runtime/for-caller.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { Thread } from "../threads/thread.js";
import { refusal } from "./acquire.js";
import { type Answered, Sending } from "./asking.js";
import { undoCopies } from "./clean-up.js";
import { enterByAnswer } from "./enter.js";
import { goOn } from "./fulfil.js";
import { Heir, handsOver } from "./hand-off.js";
import type { LockIdentity } from "./lock-kind.js";
import { inherited, refuse, waitInLine } from "./wait-in-line.js";
import type { Wish } from "./wish.js";

/** Whether a call is on nobody's path and waits as most do, if at all. */
export function isStraight(lock: LockIdentity, wish: Wish, threadId: number | undefined): boolean {
  const { client, kind } = lock;
  if (threadId !== undefined || kind.half !== undefined || kind.recordsWaiters || wish.cancelled)
    return false;
  return client.threads.current === undefined;
}

/**
 * The road that most calls take: they ask, and stand in line until they are handed the lock or told to ask again, without the
 * layers that all others need. Where something else comes in between, the call goes on as those do. The waiter is dismissed.
 * @returns as `fulfil`
 */
export function callStraight(lock: LockIdentity, wish: Wish): Promise<Hold | undefined> {
  const call = new StraightCall(lock, wish);
  // Here, where it runs in the async context of its caller.
  return call.begin().then((hold) => call.end(hold));
}

async function insist(lock: LockIdentity, holding: Holding, wish: Wish): Promise<Hold | undefined> {
  try {
    return await goOn(lock, holding, wish);
  } catch (error) {
    throw forCaller(error, lock, wish.waiter);
  } finally {
    lock.client.dismiss(wish.waiter);
  }
}

/** What a straight call comes to; `left`: others are to go on, from what `wish.first` says. */
type Outcome = "taken" | "inherited" | "refused" | "over" | "left";

class StraightCall extends Sending {
  readonly #line: WaitLine | undefined;
  #heir: Heir | undefined;
  #resolve: ((hold: Hold | undefined) => void) | undefined;
  #late: { resolve(answered: Answered<AcquireAnswer>): void; reject(error: unknown): void } | undefined;
  #came: Outcome = "left";

  constructor(lock: LockIdentity, wish: Wish) {
    const { threads, lines } = lock.client;
    const holding = threads.begin(new Thread(), lock);
    super({ lock, holding, wish, heldCount: 0 });
    holding.unsettled();
    this.#line = wish.waits ? lines.join(lock, wish.waiter) : undefined;
  }

  /** To be followed by {@link end}. */
  begin(): Promise<Hold | undefined> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#goOn();
    });
  }

  /**
   * @param hold what `begin` has brought
   * @throws the reason of a cancelled wait
   */
  end(hold: Hold | undefined): Promise<Hold | undefined> | Hold | undefined {
    const { lock, holding, wish } = this.part;
    const { waiter } = wish;
    try {
      switch (this.#came) {
        case "left":
          waiter.heir = undefined;
          return insist(lock, holding, wish);
        case "inherited":
          this.#settled();
          return hold && inherited(lock, hold, waiter);
        case "over":
          try {
            if (waiter.cancelled) throw waiter.reason;
            if (this.#line !== undefined) refuse(lock, wish, this.#line);
          } finally {
            this.#settled();
          }
          return undefined;
        default:
          return hold;
      }
    } catch (error) {
      throw forCaller(error, lock, waiter);
    }
  }

  #come(how: Outcome, hold?: Hold): void {
    this.#came = how;
    this.#resolve?.(hold);
  }

  /** Within the call of whoever has woken or answered it, who is not to hear of what goes wrong here. */
  #goOn(): void {
    try {
      this.#askOrSleep();
    } catch (error) {
      this.#leave(Promise.reject(error));
    }
  }

  #askOrSleep(): void {
    const line = this.#line;
    const { waiter } = this.part.wish;
    if (line === undefined || (line.isHead(waiter) && line.shouldAsk())) {
      line?.asking();
      waiter.onCancel(() => this.#cancelled());
      this.send();
    } else if (this.part.lock.kind.wait === waitInLine) this.#sleep(line);
    else this.#leave();
  }

  #sleep(line: WaitLine): void {
    const { lock, holding, wish } = this.part;
    const { waiter } = wish;
    if (handsOver(lock)) this.#heir ??= new Heir(holding, wish);
    waiter.heir = this.#heir;
    if (line.isHead(waiter)) line.watch();
    waiter.sleep(() => this.#awake());
  }

  #awake(): void {
    const hold = this.#heir?.hold;
    if (hold !== undefined) this.#come("inherited", hold);
    else this.#goOnUnlessOver();
  }

  #goOnUnlessOver(): void {
    if (this.part.wish.waiter.over) this.#come("over");
    else this.#goOn();
  }

  override answered(answer: AcquireAnswer, command: Exchanged<unknown>): void {
    super.answered(answer, command);
    const { lock, holding, wish } = this.part;
    if (this.#late !== undefined) {
      this.#late.resolve({ answer, command });
      return;
    }
    wish.waiter.onCancel(undefined);
    // Whoever listens hears of it in the async context of the call.
    if (answer.status === "busy" && !events.contended.hasSubscribers) {
      this.#refused(answer, command);
      return;
    }
    const isHeld = answer.status === "held" && command.shortfall === undefined;
    const given = { takenAt: command.sentAt, token: isHeld ? answer.token : undefined };
    const hold = isHeld ? enterByAnswer(lock, holding, wish, given) : undefined;
    if (hold === undefined) this.#leave(Promise.resolve({ answer, command }));
    else this.#entered(hold);
  }

  override failed(error: unknown): void {
    super.failed(error);
    if (this.#late !== undefined) this.#late.reject(error);
    else this.#leave(Promise.reject(error));
  }

  override dismissed(error?: UnavailableError): void {
    if (error !== undefined) {
      this.#leave(Promise.reject(error));
      return;
    }
    this.part.wish.waiter.onCancel(undefined);
    this.#come("over");
  }

  #entered(hold: Hold): void {
    const { holding, wish } = this.part;
    const line = this.#line;
    if (line !== undefined && line.length > 1)
      line.seenHeld({ holder: holding.field, ttlMs: wish.terms.leaseMs });
    this.#settled();
    this.#come("taken", hold);
  }

  #refused(answer: AcquireAnswer & { status: "busy" }, command: Exchanged<unknown>): void {
    const { lock, wish } = this.part;
    const line = this.#line;
    refusal(this.part, answer, command);
    if (line !== undefined) {
      if (wish.obstacle !== undefined) line.seenHeld(wish.obstacle, lock.kind.asksEachMs);
      this.#goOnUnlessOver();
      return;
    }
    this.#settled();
    this.#come("refused");
  }

  /** Nobody has to do anything for this call any more. */
  #settled(): void {
    const { lock, holding, wish } = this.part;
    if (this.#line !== undefined) lock.client.lines.leave(this.#line, wish.waiter);
    undoCopies(lock, holding);
    holding.settled();
    lock.client.dismiss(wish.waiter);
  }

  #cancelled(): void {
    const late = new Promise<Answered<AcquireAnswer>>((resolve, reject) => {
      this.#late = { resolve, reject };
    });
    this.#leave(late);
  }

  /** @param asked the attempt that nobody has looked at yet */
  #leave(asked?: Promise<Answered<AcquireAnswer>>): void {
    const { wish } = this.part;
    wish.waiter.onCancel(undefined);
    wish.first = asked;
    // Whoever goes on hears of it.
    asked?.catch(() => undefined);
    this.#come("left");
  }
}
