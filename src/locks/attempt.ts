import { UnavailableError } from "../errors.js";
import type { WaitEnd } from "../events.js";
import type { AcquireAnswer } from "../protocol/lock-calls.js";
import type { Exchanged } from "../runtime/exchanged.js";
import { ANSWERS_LATE, MOST_VAIN_TRIES } from "../runtime/late-answers.js";
import type { Telling } from "../threads/stay.js";
import { AcquireCommand } from "./acquire-command.js";
import { takeBack, undoCopies } from "./clean-up.js";
import { enterByAnswer } from "./enter.js";
import { reconcile } from "./reconciler.js";
import { lossOf, notReplicated, refusal, unanswered } from "./refusal.js";
import { giveBack } from "./release.js";
import type { WayOfWaiting } from "./way-of-waiting.js";

/**
 * The states of an acquisition. `waiting`: it sleeps, or waits for its turn in a stay. `asking`: an attempt is under way. `takingBack`: it
 * releases what it has in Redis and cannot use. The other five are ends: `refused` (the call may not wait), `over` (its time is up),
 * `entered`, `cancelled`, `failed`.
 * @see docs/internals/states.md#one-acquisition
 */
export type AttemptState =
  | "waiting"
  | "asking"
  | "takingBack"
  | "entered"
  | "refused"
  | "over"
  | "cancelled"
  | "failed";

/**
 * Makes the attempts of one call, one after the other. While an attempt is under way, no other command of the same stay is. If the call is
 * cancelled during an attempt, the attempt goes on, and a lock that it acquires is released in the background.
 * @see docs/internals/states.md#one-acquisition
 */
export abstract class Attempt extends AcquireCommand {
  /** Whether the call asks again under the same field after it has released a lock that came too late. */
  protected asksAgain = true;
  /** The call's current state. */
  protected state: AttemptState = "waiting";
  /**
   * What events report as the end of the wait if the first attempt finds the lock free. After the call has waited for something else, this
   * is no longer `free`.
   */
  protected freeMeans: WaitEnd = "free";
  /** How the call waits; undefined if it asks only once. */
  protected way: WayOfWaiting | undefined;
  /** The error that the call failed with. */
  protected error: unknown;
  /** How many attempts were answered `late` or found a leftover of an earlier stay: at `MOST_VAIN_TRIES` the call fails. */
  #vainTries = 0;
  /** Ends the call's turn among the commands of the stay. True if `stay.inRedis.endTurn` ends the turn. */
  #turn: (() => void) | true | undefined;
  /**
   * Ends the background work of a call that was cancelled during its latest attempt. Undefined while the call still waits for the attempt.
   */
  protected lateEnd: (() => void) | undefined;

  /** The attempt failed or could not be made, and its call still waits for it. Ends the turn. */
  protected abstract fail(error: unknown): void;

  /** The attempt did not acquire the lock: the call continues to wait, or ends. */
  protected abstract busy(): void;

  protected abstract end(state: AttemptState): void;

  protected abstract inCallersContext(work: () => void): void;

  protected safely(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * Sends an attempt once the call has its turn and `Admission` has room at the server. During the turn, no other command changes the hold
   * count in Redis. A member of a red lock does not wait for room, because its time for an answer is short.
   * @throws LeaseLostError if the stay has already ended
   */
  protected ask(): void {
    const { lock, wish, stay } = this;
    const { inRedis } = stay;
    this.state = "asking";
    this.waiter.onCancel = this.#cancelled;
    if (this.#turn === undefined) {
      if (inRedis.isChanging) {
        void inRedis.inTurn(() => new Promise<void>((ended) => this.#askInTurn(ended)));
        return;
      }
      inRedis.beginTurn();
      this.#turn = true;
    }
    this.heldCount = inRedis.count;
    if (wish.again && this.heldCount === 0) throw lossOf(this);
    // Another command of the stay ran between two attempts: a late copy of that command could release the hold that this attempt
    // acquires.
    if (wish.again && inRedis.mayBeLowered) {
      this.useless("copies");
      return;
    }
    const { leastLeaseMs } = stay;
    if (wish.again && wish.terms.renewed && wish.terms.leaseMs < leastLeaseMs) wish.lengthen(leastLeaseMs);
    wish.place = undefined;
    wish.waiting = undefined;
    const { admission } = lock.client;
    const needsRoom = wish.timeoutMs === undefined;
    const room = needsRoom ? admission.enter(lock.key) : undefined;
    if (needsRoom && room === undefined) admission.wait(this);
    else this.admitted(room);
  }

  /** @param ended ends the turn */
  #askInTurn(ended: () => void): void {
    this.#turn = ended;
    if (this.lateEnd !== undefined) this.endLate();
    else this.safely(() => this.ask());
  }

  protected endTurn(): void {
    const turn = this.#turn;
    this.#turn = undefined;
    if (turn === true) this.stay.inRedis.endTurn();
    else turn?.();
  }

  /**
   * An attempt brought no hold. If this attempt or an earlier command left something in Redis, that is cleaned up before the next
   * attempt.
   */
  protected useless(outcome: "late" | "spent" | "leftover" | "copies"): void {
    const { lock, stay, wish, waiter } = this;
    this.endTurn();
    if (outcome === "late") {
      this.#tryAgain();
      return;
    }
    let isClean = wish.timeoutMs !== undefined;
    reconcile(lock, stay, { goesOn: isClean || this.asksAgain }, () => {
      isClean = true;
      waiter.wake();
    });
    this.takesBack();
    const goOn = () => {
      if (this.state === "cancelled") return;
      if (!isClean && !waiter.over) waiter.sleep(() => this.safely(goOn));
      else if (wish.timeoutMs !== undefined || !this.asksAgain) this.busy();
      // A late copy of the release could release what the next attempt acquires.
      else if (stay.inRedis.copiesUntilMs > 0 && (isClean || outcome === "copies")) throw unanswered(lock);
      else if (outcome === "leftover") this.#tryAgain();
      else if (waiter.over) this.busy();
      else this.ask();
    };
    goOn();
  }

  #tryAgain(): void {
    this.#vainTries += 1;
    if (this.#vainTries < MOST_VAIN_TRIES) this.ask();
    else throw new UnavailableError(this.lock.client.commands.server, ANSWERS_LATE, false);
  }

  protected tooFewReplicas({ shortfall }: Exchanged<unknown>): void {
    const { lock, stay, wish } = this;
    this.endTurn();
    if (shortfall === undefined) return;
    const error = notReplicated(lock.name, shortfall);
    // A member of a red lock does not wait for a server that is slow to release.
    if (wish.timeoutMs !== undefined) {
      reconcile(lock, stay, { goesOn: true });
      throw error;
    }
    this.takesBack();
    void takeBack(lock, stay).then(() => this.failForCaller(error));
  }

  protected takesBack(): void {
    this.state = "takingBack";
    this.freeMeans = "timer";
    this.wish.waitEndedBy = "timer";
    this.waiter.onCancel = this.#cancelled;
  }

  /**
   * The call's time is up, or it may not wait. If it knows that the lock is taken, it reports this. It knows it if, since it began, Redis
   * has answered this call or another call of the client, or if the client itself has the lock. Otherwise the call waits for an answer, one
   * command timeout at most, and then fails.
   * @param goOn continues the wait; undefined if the call has asked without success, or may not be sent any more
   */
  protected giveUp(state: "over" | "refused", goOn?: () => void): void {
    const { wish, waiter, way } = this;
    const { commands } = this.lock.client;
    const { timeoutMs = commands.timeoutMs } = wish;
    // A call that waits for its turn in a stay learns the answer from the call that begins the stay.
    const telling = way ?? this.stay.waitsBy;
    if (waiter.cancelled) this.end("cancelled");
    else if (waiter.isTold || telling?.hasTold(waiter) === true || this.#isHeldHere()) {
      way?.over();
      this.end(state);
    } else if (goOn !== undefined && this.#waitOn(telling, timeoutMs)) goOn();
    else if (wish.isPart) this.end(state);
    else {
      this.error = commands.failures.untold(waiter.waitedMs, wish.attempts > 0);
      this.end("failed");
    }
  }

  #waitOn(telling: Telling | undefined, ms: number): boolean {
    const { waiter, wish } = this;
    const waitsOn = telling === undefined ? waiter.waitOn(ms) : telling.waitOn(waiter, ms);
    // A call without a `way` waits for its turn behind another call, which uses some of the time: so it then asks only once.
    wish.once ||= waitsOn && this.way === undefined;
    return waitsOn;
  }

  /** Whether a live hold of this client excludes the call. The client relies on its own holds without asking Redis. */
  #isHeldHere(): boolean {
    const { lock, stay } = this;
    const { threads, lines, clock } = lock.client;
    if (threads.excludedBy(stay, lock.otherId).every(({ live }) => live.length === 0)) return false;
    // This also tells the calls that wait behind this call. If this call is part of a call for several locks, the call for all of them is
    // told too.
    lines.of(lock.id)?.answers.taken(clock.monotonicMs());
    this.waiter.told();
    return true;
  }

  protected failForCaller(error: unknown): void {
    this.inCallersContext(() => this.fail(error));
  }

  /** Ends the call at once; an attempt under way goes on in the background. */
  readonly #cancelled = (): void => {
    if (this.state === "asking") this.#abandon();
    this.way?.failed(this.waiter.reason);
    this.end("cancelled");
  };

  /** The call was cancelled during an attempt: `close` still waits for the attempt. */
  #abandon(): void {
    const { lock, stay } = this;
    stay.unsettled();
    const late = new Promise<void>((resolve) => {
      this.lateEnd = resolve;
    });
    lock.client.inBackground(() => late);
  }

  override failed(error: unknown): void {
    super.failed(error);
    if (this.lateEnd !== undefined) this.endLate();
    else this.failForCaller(error);
  }

  /** Reads the answer to a cancelled call. If the answer brings the lock, the lock is released. */
  protected readLate(answer: AcquireAnswer, command: Exchanged<unknown>): void {
    const givenBack = this.#giveBack(answer, command);
    this.endTurn();
    const end = () => this.endLate();
    if (givenBack === undefined) end();
    else givenBack.then(end, end);
  }

  #giveBack(answer: AcquireAnswer, command: Exchanged<unknown>): Promise<void> | undefined {
    const { lock, stay, wish } = this;
    const goesOn = wish.timeoutMs !== undefined || this.asksAgain;
    switch (answer.status) {
      case "busy":
      case "queued":
      case "free":
        return undefined;
      case "held": {
        // The client is closing: it has declared all holds of the stay lost, and frees this hold together with them or leaves this hold to
        // its TTL.
        if (stay.loss?.reason === "closed") return undefined;
        if (command.shortfall !== undefined) return takeBack(lock, stay);
        const { token } = answer;
        const hold = enterByAnswer(lock, stay, wish, { takenAt: command.sentAt, token });
        if (hold !== undefined) return giveBack(lock, hold);
        reconcile(lock, stay, { goesOn });
        return undefined;
      }
      default:
        try {
          if (refusal(this, answer, command) === "leftover") reconcile(lock, stay, { goesOn });
        } catch {
          // The caller already knows that its call was cancelled.
        }
        return undefined;
    }
  }

  /**
   * The attempt of a cancelled call has ended: undoes what the attempt may have left in Redis, and lets `close` stop waiting for the
   * attempt.
   */
  protected endLate(): void {
    const { lock, stay } = this;
    const end = this.lateEnd;
    this.lateEnd = undefined;
    this.endTurn();
    if (end === undefined) return;
    undoCopies(lock, stay);
    stay.settled();
    end();
  }
}
