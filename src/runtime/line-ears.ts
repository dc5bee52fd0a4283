import type { WaitingPlace } from "../protocol/lock-calls.js";
import { YOU_ARE_FIRST, YOUR_TURN } from "../protocol/messages.js";
import type { Awaited } from "./awaited.js";
import { Ear, type EarServices } from "./ear.js";

export interface LineEarServices extends EarServices {
  /**
   * The ids of locks and semaphores with a queue in Redis in which clients may wait: this client's releases look there. The value is a
   * distinct object for each latest report: a release's answer may be read after that of a later question.
   */
  readonly waitedFor: Map<string, object>;
}

/**
 * The delay before the first of a queue also listens to the common channel, if those before it look into the queue: in a crowd it has had
 * its turn by then.
 */
const HEARS_ALL_AFTER_MS = 50;

/** The receiver of a line's messages. */
export interface LineHearer {
  /** A message on the channel of the awaited thing. */
  heard(message: string): void;
  /** A message on the client's own channel. */
  called(message: string): void;
  /** Messages begin to arrive; earlier ones may have been missed. */
  ready(): void;
  /** A subscription is missing, or the time at which the line should listen to more has changed. */
  failed(): void;
}

/**
 * The channels of a line: the common channel of the awaited thing, which all waiters hear; or, if the client waits in a queue in Redis, the
 * client's own channel, and the common one only while a holder that does not look into the queue may free the lock.
 */
export class LineEars {
  /** Hears all releases; for a lock with a queue, the releases that do not look there. */
  readonly #all: Ear;
  /** Hears of this client's turn; undefined without a queue. */
  #own: Ear | undefined;
  readonly #id: string;
  readonly #waitedFor: Map<string, object>;
  /** The client's place in the queue, by the newest answer; undefined before there is one. Set by the ears. */
  place: WaitingPlace | undefined;
  /**
   * On the monotonic clock, for a line with its own channel: when it should also listen to the common channel, as the first waiter for
   * permits does, or try that again.
   */
  #hearsAllFromMs = Number.POSITIVE_INFINITY;
  /** Whether a question may have put it into the queue for permits. */
  mayWait = false;
  /**
   * Whether others wait for permits before or behind it. Each of them is the first from time to time: if they kept the common channel open,
   * all would get each message.
   */
  #isInCrowd = false;
  readonly #services: LineEarServices;
  readonly #line: LineHearer;

  /** @param ownChannel undefined without a queue */
  constructor(awaited: Awaited, ownChannel: string | undefined, services: LineEarServices, line: LineHearer) {
    this.#id = awaited.releasedAs ?? awaited.id;
    this.#waitedFor = services.waitedFor;
    this.#services = services;
    this.#line = line;
    const both = { onReady: () => line.ready(), onFailure: () => line.failed() };
    const onFailure = () => {
      if (this.#own !== undefined) this.#hearsAllFromMs = this.#all.againMs;
      line.failed();
    };
    this.#all = new Ear(services, awaited.channel, {
      ...both,
      onFailure,
      onMessage: (text) => line.heard(text),
    });
    if (ownChannel === undefined) return;
    this.#own = new Ear(services, ownChannel, { ...both, onMessage: (text) => line.called(text) });
  }

  /** For permits: from now on it relies on its own channel. */
  relyOn(ownChannel: string): void {
    const line = this.#line;
    this.#own ??= new Ear(this.#services, ownChannel, {
      onMessage: (text) => line.called(text),
      onReady: () => line.ready(),
      onFailure: () => line.failed(),
    });
  }

  /**
   * For permits: the own channel is closed, because no other client has waited for a while. Also clears the time for the common channel,
   * which the late answer to a call that had given up may have set. @returns true
   */
  forgetOwn(): true {
    this.#own = undefined;
    this.#hearsAllFromMs = Number.POSITIVE_INFINITY;
    return true;
  }

  /** The channel that the line relies on. */
  get #first(): Ear {
    return this.#own ?? this.#all;
  }

  /** Whether it listens to the channel that it relies on. */
  get listens(): boolean {
    return this.#first.unlisten !== undefined && this.#hearsAllFromMs === Number.POSITIVE_INFINITY;
  }

  /** On the monotonic clock: when it should listen to more, or may listen again after a failure. */
  get againMs(): number {
    return this.#first.unlisten === undefined ? this.#first.againMs : this.#hearsAllFromMs;
  }

  /** Whether it would hear of this client's turn in the queue. */
  get hearsTurn(): boolean {
    return this.#own?.hears === true;
  }

  /** Whether it hears the message of a release of this client. */
  get hearsAll(): boolean {
    return this.#all.hears;
  }

  listen(): void {
    this.#own?.listen();
    // Without its own channel the client is in no queue, and listens to the common channel.
    if (this.#own?.unlisten === undefined) this.#all.listen();
    else if (this.#services.clock.monotonicMs() >= this.#hearsAllFromMs) this.#hearAllNow();
  }

  #hearAllNow(): void {
    this.#all.listen();
    const isToRetry = this.#own !== undefined && this.#all.unlisten === undefined;
    this.#hearsAllFromMs = isToRetry ? this.#all.againMs : Number.POSITIVE_INFINITY;
  }

  #hearOwn(lingers: boolean): void {
    this.#all.rest(lingers);
    this.#hearsAllFromMs = Number.POSITIVE_INFINITY;
  }

  /** For permits: it was told its turn, or that it is now the first. */
  called(message: string): void {
    this.#hearOwn(!this.#isInCrowd);
    if (message === YOUR_TURN) return;
    this.#isInCrowd = true;
    this.#hearsAllIn(message === YOU_ARE_FIRST ? 0 : HEARS_ALL_AFTER_MS);
    this.#line.failed();
  }

  #hearsAllIn(ms: number): void {
    const fromMs = this.#services.clock.monotonicMs() + ms;
    if (this.#all.unlisten === undefined) this.#hearsAllFromMs = Math.min(this.#hearsAllFromMs, fromMs);
  }

  /**
   * For permits: Redis has answered how the line stands in the queue. The first also listens to the common channel, because some releases
   * do not look into the queue; so does a line that was refused a place.
   * @param waiting 0: nobody waits; 1: others do; 2: it waits; 3: it waits, as the first of those that were not told their turn; 4: the
   * same, and nobody waited before it came
   */
  standsFor(waiting: number, isGranted: boolean): void {
    this.#stands(waiting > 0);
    this.mayWait = waiting >= 2;
    this.#isInCrowd = waiting === 2 || (this.#isInCrowd && waiting !== 4);
    if (waiting === 2) this.#hearOwn(false);
    else if (this.mayWait || !isGranted) this.#hearsAllIn(waiting === 3 ? HEARS_ALL_AFTER_MS : 0);
  }

  /**
   * Redis has answered the client's place in the queue. The first two also listen to the common channel while the holder would not look
   * into the queue; so does a client that was refused a place, for example by a full server.
   * @param isElsewhere whether another client has the lock
   */
  stands(place: WaitingPlace, isElsewhere: boolean): void {
    const { stands, waits, ahead, isTold } = place;
    this.#stands(stands);
    this.place = place;
    if ((!waits || (ahead < 2 && !isTold)) && isElsewhere) {
      this.#all.listen();
      if (this.#all.unlisten === undefined) this.#hearsAllFromMs = this.#all.againMs;
    } else if (this.#own !== undefined) {
      this.#all.rest();
      this.#hearsAllFromMs = Number.POSITIVE_INFINITY;
    }
  }

  /** Redis was asked, but not for a place in the queue. */
  hearAll(): void {
    this.place = undefined;
    this.#hearAllNow();
  }

  /** A question is about to ask for a place in the queue, whatever its outcome; or others are known to wait there. */
  mayStand(): void {
    this.mayWait = true;
    this.#waitedFor.set(this.#id, {});
  }

  #stands(stands: boolean): void {
    if (stands) this.mayStand();
    else this.#waitedFor.delete(this.#id);
  }

  /** This client has the lock, by an answer that says whether it is in the queue. */
  entered(place: Pick<WaitingPlace, "stands" | "waits">): void {
    this.#stands(place.stands);
    this.place = { ...place, ahead: 2, isTold: true };
  }

  /** A release sent before the line's calls came has removed this client from the queue. */
  hasLeft(): void {
    this.place = undefined;
  }

  /** No call waits any more. */
  rest(): void {
    this.#own?.rest();
    this.#all.rest(!this.#isInCrowd);
    this.#isInCrowd = false;
    this.#hearsAllFromMs = Number.POSITIVE_INFINITY;
    this.place = undefined;
  }
}
