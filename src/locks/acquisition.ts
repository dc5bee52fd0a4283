import type { UnavailableError } from "../errors.js";
import { events } from "../events.js";
import type { AcquireAnswer } from "../protocol/lock-calls.js";
import type { Exchanged } from "../runtime/exchanged.js";
import { forCaller } from "../runtime/for-caller.js";
import type { Hold, Stay } from "../threads/stay.js";
import { Attempt, type AttemptState } from "./attempt.js";
import { assertReentrant } from "./claim.js";
import { clearLeftover, undoCopies } from "./clean-up.js";
import { tellBehind, tellTurn } from "./contention.js";
import { enterByAnswer } from "./enter.js";
import {
  beginBeside,
  type Caller,
  type Entrance,
  entranceOf,
  type HoldResult,
  neverBegun,
  noteNoTurn,
  outcomeOr,
  turnIn,
} from "./entrance.js";
import type { LockIdentity } from "./lock-kind.js";
import { refusal } from "./refusal.js";
import { release } from "./release.js";
import type { Wish } from "./wish.js";

/**
 * Acquires a lock for a caller, who may already hold it.
 * @throws the reason of a cancelled wait; NotHeldError, ReentryError, UpgradeNotSupportedError, LeaseLostError, UnavailableError,
 * WrongTypeError, ClientClosedError
 * @see docs/internals/states.md#one-acquisition
 */
export function acquire<T>(lock: LockIdentity, wish: Wish, caller: Caller, come: HoldResult<T>): Promise<T> {
  const { failed } = caller;
  try {
    const acquisition = new Acquisition(lock, wish, caller);
    const goOn = (): Promise<T> | T =>
      acquisition.goesOn()
        ? new Promise<void>((resolve) => acquisition.tellBy(resolve)).then(goOn)
        : come(failed === undefined ? acquisition.outcome() : outcomeOr(failed, acquisition), wish);
    return new Promise<void>((resolve) => acquisition.start(resolve)).then(goOn);
  } catch (error) {
    return neverBegun(lock, wish, caller, error);
  }
}

/**
 * One call for a lock of any kind, from its beginning to its end. An answer or a wake-up runs the next step directly, without a promise;
 * only the caller has a promise. `goesOn` and `outcome` do what must run in the caller's async context: events, errors, and decisions about
 * a hold that was handed over or granted. Only the caller calls them.
 */
export class Acquisition extends Attempt {
  readonly #caller: Caller;
  /** The stay that the call enters first, and how. */
  #entrance: Entrance;
  /** Whether this call began the stay. If it did and gets no hold, it ends the stay. */
  #hasBegun = false;
  /** The existing stay in which it is this call's turn: until the turn ends, no other call of the thread enters the stay. */
  #entered: Stay | undefined;
  /** The hold that the call has acquired. */
  #hold: Hold | undefined;
  /** Whether the call has ended. */
  isOver = false;
  /** Work that has to run in the caller's async context. */
  #work: (() => void) | undefined;
  /** Makes the caller's promise continue. */
  #tell: (() => void) | undefined;

  /** @throws the errors of `entranceOf` */
  constructor(lock: LockIdentity, wish: Wish, caller: Caller) {
    const entrance = entranceOf(lock, wish, caller);
    super({ lock, stay: entrance.stay, wish });
    this.#caller = caller;
    this.#entrance = entrance;
  }

  /** @param tell called when there is work for `goesOn`, and at the end; it may be called twice */
  start(tell: () => void): void {
    this.#tell = tell;
    try {
      this.#enter();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Replaces the function that was passed to `start`. */
  tellBy(tell: () => void): void {
    this.#tell = tell;
  }

  /** Runs the waiting work; to be called in the caller's async context. @returns false once the call has ended */
  goesOn(): boolean {
    for (let work = this.#work; work !== undefined; work = this.#work) {
      this.#work = undefined;
      this.safely(work);
    }
    return !this.isOver;
  }

  /** The result for the caller; call it in the caller's async context. @throws the error that the call failed with */
  outcome(): Hold | undefined {
    const { lock, waiter } = this;
    if (this.state === "cancelled") throw forCaller(waiter.reason, lock, waiter);
    if (this.state === "failed") throw forCaller(this.error, lock, waiter);
    return this.#hold;
  }

  protected inCallersContext(work: () => void): void {
    this.#work = work;
    this.#tell?.();
  }

  #enterAnew(): void {
    this.#leaveStay();
    this.#entrance = entranceOf(this.lock, this.wish, this.#caller);
    this.stay = this.#entrance.stay;
    this.#enter();
  }

  /** Begins the stay, or waits for the call's turn in an existing one. Runs again each time the waiter wakes. */
  #enter(): void {
    const { lock, wish, waiter } = this;
    const { by, stay, claim } = this.#entrance;
    if (by === "begin") {
      this.#begin();
      return;
    }
    const turn = turnIn(this.#entrance, wish);
    if (turn === "later") {
      this.freeMeans = "release";
      if (events.contended.hasSubscribers) tellTurn(this, this.#entrance);
      waiter.sleep(() => this.inCallersContext(() => this.#enter()));
      return;
    }
    if (turn === "none") {
      if (!waiter.cancelled) noteNoTurn(lock, wish, this.#entrance);
      this.giveUp("over", wish.isAskedAgain ? undefined : () => this.#enter());
      return;
    }
    if (by !== "settle") this.#entered = stay;
    if (by === "again") this.#again(stay);
    else {
      const beside = by === "beside" ? beginBeside(lock, claim) : undefined;
      if (beside === undefined) this.#enterAnew();
      else {
        this.stay = beside;
        this.#begin();
      }
    }
  }

  /**
   * Acquires one more hold of the stay. If the caller chose the id, all holds of the stay may have ended: the call then releases what they
   * left in Redis and begins the next stay.
   */
  #again(stay: Stay): void {
    const { lock, wish } = this;
    wish.again = stay.live.length > 0;
    if (wish.again) {
      wish.waitEndedBy = "re-entry";
      assertReentrant(lock);
      this.ask();
      return;
    }
    this.takesBack();
    const anew = () => this.state === "cancelled" || this.#enterAnew();
    clearLeftover(lock, stay, { timeoutMs: wish.timeoutMs }).then(
      () => this.inCallersContext(anew),
      (error: unknown) => this.failForCaller(error),
    );
  }

  /** Acquires the first hold of a stay. A caller that holds the write lock reads without waiting, before all waiters. */
  #begin(): void {
    const { lock, wish } = this;
    this.#hasBegun = true;
    this.stay.isBeginning = true;
    wish.waitEndedBy = wish.kin === undefined ? this.freeMeans : "re-entry";
    if (wish.waits && wish.kin === undefined) {
      this.way = lock.kind.wait(this);
      this.stay.waitsBy = this.way;
      this.asksAgain = this.way.asksAgain;
      if (events.contended.hasSubscribers) tellBehind(this, this.way);
    }
    this.#askOrSleep();
  }

  #askOrSleep(): void {
    const { way } = this;
    const why = way?.asks();
    if (why !== undefined) this.wish.waitEndedBy = why === "free" ? this.freeMeans : why;
    if (way === undefined || why !== undefined) this.ask();
    else {
      this.state = "waiting";
      way.sleep(() => this.#awake());
    }
  }

  /** Runs on the stack of the code that wakes the call, so it must not throw. */
  #awake(): void {
    const taken = this.way?.taken();
    if (taken !== undefined) {
      this.wish.waitEndedBy = taken.by;
      this.inCallersContext(() => this.#takenOver(taken.hold));
    } else if (this.waiter.over) this.giveUp("over", () => this.safely(() => this.#askOrSleep()));
    else this.safely(() => this.#askOrSleep());
  }

  /** Takes a hold that was handed over or granted. Releases it if this call was cancelled meanwhile: the giver could not know. */
  #takenOver(hold: Hold): void {
    const { cancelled } = this.waiter;
    if (cancelled) this.lock.client.inBackground(() => release(this.lock, hold));
    else this.#hold = hold;
    this.end(cancelled ? "cancelled" : "entered");
  }

  override answered(answer: AcquireAnswer, command: Exchanged<unknown>): void {
    super.answered(answer, command);
    if (this.lateEnd !== undefined) this.readLate(answer, command);
    else if (answer.status === "held" && command.shortfall === undefined) {
      const given = { takenAt: command.sentAt, token: answer.token };
      const hold = enterByAnswer(this.lock, this.stay, this.wish, given);
      if (hold === undefined) this.safely(() => this.useless("spent"));
      else {
        this.#hold = hold;
        this.endTurn();
        this.end("entered", true);
      }
    } else if (answer.status === "busy" && !events.contended.hasSubscribers) {
      refusal(this, answer, command);
      this.safely(() => this.busy());
    } else this.inCallersContext(() => this.#read(answer, command));
  }

  /** The command was not sent: the call's time is up, or its server answers no command. */
  override dismissed(error?: UnavailableError): void {
    if (error !== undefined) this.failForCaller(error);
    else {
      this.endTurn();
      this.way?.failed(this.waiter.reason);
      this.giveUp("over");
    }
  }

  #read(answer: AcquireAnswer, command: Exchanged<unknown>): void {
    if (this.lateEnd !== undefined) this.readLate(answer, command);
    else if (answer.status === "held") this.tooFewReplicas(command);
    else {
      const outcome = refusal(this, answer, command);
      if (outcome === "busy") this.busy();
      else this.useless(outcome);
    }
  }

  protected busy(): void {
    this.endTurn();
    this.waiter.onCancel = undefined;
    const isSameField = this.way?.refused();
    if (isSameField === undefined) this.giveUp("refused");
    else if (this.waiter.over) this.giveUp("over");
    else if (isSameField) this.#askOrSleep();
    else {
      const { thread } = this.stay;
      this.#leaveStay();
      this.stay = this.lock.client.threads.begin(thread, this.lock);
      this.#begin();
    }
  }

  protected fail(error: unknown): void {
    if (this.lateEnd !== undefined) this.endLate();
    if (this.state === "cancelled") return;
    this.endTurn();
    // `way.failed` may cancel all waiting calls of this client; this call has failed and must not count as cancelled.
    this.waiter.onCancel = undefined;
    this.way?.failed(error);
    this.error = error;
    this.end("failed");
  }

  /** @param byAnswer whether Redis has answered that the call has the lock */
  protected end(state: AttemptState, byAnswer = false): void {
    const { lock, wish, waiter } = this;
    this.state = state;
    this.isOver = true;
    waiter.onCancel = undefined;
    if (state === "entered") lock.client.acquired += 1;
    if (state !== "entered" || waiter.hasSlept) lock.client.tally?.ended(lock, state, waiter);
    this.#leaveStay(byAnswer);
    if (!wish.isPart) lock.client.dismiss(waiter);
    this.#tell?.();
  }

  #leaveStay(byAnswer = false): void {
    const { lock, stay, wish } = this;
    this.way?.leave(byAnswer);
    this.way = undefined;
    if (this.#hasBegun) {
      this.#hasBegun = false;
      stay.isBeginning = false;
      stay.waitsBy = undefined;
      const isQueued = lock.kind.recordsWaiters && wish.waits && wish.attempts > 0;
      // `undoCopies` also takes the field out of a fair lock's queue. If the lock was granted to the field, the next waiter gets the lock.
      if (this.state !== "entered") undoCopies(lock, stay, isQueued);
      stay.settled();
    }
    this.#entered?.settled(true);
    this.#entered = undefined;
  }
}
