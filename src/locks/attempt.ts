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
 * The states of an acquisition. `waiting`: for something to ask for, or for its turn in a stay; `asking`: an attempt is under way;
 * `takingBack`: what it has in Redis is of no use and is being given back. The other five are ends: `refused`, as it may not wait; `over`,
 * as its time is up; `entered`, `cancelled`, `failed`.
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
 * Asks Redis for one call, again and again but once at a time, in turn with the other commands of its stay. When the call is cancelled
 * meanwhile, the attempt that is under way goes on, and what it brings is given back in the background.
 * @see docs/internals/states.md#one-acquisition
 */
export abstract class Attempt extends AcquireCommand {
  /** Whether the call asks again under the same field once it has given back what it got too late. */
  protected asksAgain = true;
  /** Where the call is on its way: see {@link AttemptState}. */
  protected state: AttemptState = "waiting";
  /** What has ended the wait when the lock is free at the first question: not `free` once the call has waited for something else. */
  protected freeMeans: WaitEnd = "free";
  /** How the call waits; undefined where it asks once. */
  protected way: WayOfWaiting | undefined;
  /** What the call has failed with. */
  protected error: unknown;
  /** How often an answer was `late`, or a leftover was found: after a few times the call fails. */
  #vainTries = 0;
  /** Ends its turn among the commands of the stay; true: `endTurn` of the stay's record does. */
  #turn: (() => void) | true | undefined;
  /** The call was cancelled while its latest attempt was under way: ends the background work. Undefined while the call waits for it. */
  protected lateEnd: (() => void) | undefined;

  /** The attempt has failed, or could not be made, and its call still waits for it. Ends the turn. */
  protected abstract fail(error: unknown): void;

  /** The attempt has not brought the lock: the call waits on, or ends. */
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
   * Asks once it has its turn, so that it knows the count before it, and its server has room for it. One of several servers is asked without
   * that, as it has little time to answer.
   * @throws LeaseLostError for a stay that has ended before
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
    // Between two attempts, another command of the stay had its turn: a copy of it would take away what is asked for now.
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

  /** An attempt has changed nothing, or what it or a command before it has left in Redis is put right before the next. */
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
      // A copy of the release would take away what is asked for next.
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
    // A call for several servers does not wait for one that is slow to take its lock back.
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
   * Its time is up, or it may not wait. That the lock is taken, it says only if something has told so since it began: Redis, by an answer
   * to it or to its line, or a hold of its own client. Otherwise it waits on to be told, for as long as for an answer at most, and then fails.
   * @param goOn waits on; undefined where it has asked in vain, or may not be sent any more
   */
  protected giveUp(state: "over" | "refused", goOn?: () => void): void {
    const { wish, waiter, way } = this;
    const { commands } = this.lock.client;
    const { timeoutMs = commands.timeoutMs } = wish;
    // A call that waits for its turn is behind the one that begins the stay.
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
    // Its own question comes only after that of the call before it, which has taken of its time.
    wish.once ||= waitsOn && this.way === undefined;
    return waitsOn;
  }

  /** A live hold of this client excludes the call. What the client believes of its own holds it believes here as well, without a question. */
  #isHeldHere(): boolean {
    const { lock, stay } = this;
    const { threads, lines, clock } = lock.client;
    if (threads.excludedBy(stay, lock.otherId).every(({ live }) => live.length === 0)) return false;
    // The others in line need not look once more, and a call for several locks knows it as well.
    lines.of(lock.id)?.answers.taken(clock.monotonicMs());
    this.waiter.told();
    return true;
  }

  protected failForCaller(error: unknown): void {
    this.inCallersContext(() => this.fail(error));
  }

  /** Ends the call at once; an attempt that is under way goes on in the background. */
  readonly #cancelled = (): void => {
    if (this.state === "asking") this.#abandon();
    this.way?.failed(this.waiter.reason);
    this.end("cancelled");
  };

  /** The call was cancelled while the attempt is under way: the client still waits for the attempt when it closes. */
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

  /** The call was cancelled while its attempt was under way: what the answer brings is given back. */
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
        // The client closes: all that its stay has was declared lost, and is freed or left to its TTL together with this.
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
          // The caller has heard that its call was cancelled.
        }
        return undefined;
    }
  }

  /** The attempt of a cancelled call has ended: undoes what it may have left in Redis, and lets `close` stop waiting for it. */
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
