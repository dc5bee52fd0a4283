import type { WaitingPlace } from "../protocol/lock-calls.js";
import { YOU_ARE_FIRST, YOUR_TURN } from "../protocol/messages.js";
import type { Awaited } from "./awaited.js";
import { Ear, type EarServices } from "./ear.js";

export interface LineEarServices extends EarServices {
  /**
   * The ids of what may be waited for in its queue in Redis, where this client looks when it frees it, each with what last said so: an
   * object of its own, as the answer to a release may be read after that to a later question.
   */
  readonly waitedFor: Map<string, object>;
}

/** The first hears what all hear only after so long, where those before it look into the queue: in a crowd it has had its turn by then. */
const HEARS_ALL_AFTER_MS = 50;

/** What a line hears. */
export interface LineHearer {
  /** On the channel of what is waited for. */
  heard(message: string): void;
  /** On the client's own channel. */
  called(message: string): void;
  /** Messages begin to arrive; what was published before may have been missed. */
  ready(): void;
  /** It does not listen to all that it should, or is to listen to more at another time than it was. */
  failed(): void;
}

/**
 * Where a line listens: to the channel of what is waited for, which all hear; or, where the client waits in a queue in Redis, to its own
 * channel, and to the other only as long as somebody may free the lock who does not look into the queue.
 */
export class LineEars {
  /** Hears of all releases; of a lock with a queue, of those that do not look there. */
  readonly #all: Ear;
  /** Hears of this client's turn; undefined without a queue. */
  #own: Ear | undefined;
  readonly #id: string;
  readonly #waitedFor: Map<string, object>;
  /** Where this client waits in the queue, by the newest answer; undefined before there is one. Set by the ears. */
  place: WaitingPlace | undefined;
  /**
   * On the monotonic clock, with a channel of its own: when it is to hear what all hear, too, as the first that waits for permits does, or
   * is to try that once more.
   */
  #hearsAllFromMs = Number.POSITIVE_INFINITY;
  /** Whether a question may have put it into the queue of those that wait for permits. */
  mayWait = false;
  /**
   * Whether others wait for permits before or behind it. Each of them is the first once in a while: if those kept the channel open that all
   * hear, they would have each message.
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

  /** Of permits: from now on it relies on its own channel. */
  relyOn(ownChannel: string): void {
    const line = this.#line;
    this.#own ??= new Ear(this.#services, ownChannel, {
      onMessage: (text) => line.called(text),
      onReady: () => line.ready(),
      onFailure: () => line.failed(),
    });
  }

  /**
   * Of permits: nobody else has waited for so long that the own channel is closed. The answer to a question whose call had given up may have
   * said since when to hear what all hear. @returns true
   */
  forgetOwn(): true {
    this.#own = undefined;
    this.#hearsAllFromMs = Number.POSITIVE_INFINITY;
    return true;
  }

  /** What the line relies on. */
  get #first(): Ear {
    return this.#own ?? this.#all;
  }

  /** Whether it listens to what it relies on. */
  get listens(): boolean {
    return this.#first.unlisten !== undefined && this.#hearsAllFromMs === Number.POSITIVE_INFINITY;
  }

  /** On the monotonic clock: when it is to listen to more, or may listen again after a failure. */
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
    // Without a channel of its own the client stands in no queue, and hears what all hear.
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

  /** Of permits: it was told its turn, or that it is the first now. */
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
   * Of permits: Redis has answered how the line stands in the queue. The first hears what all hear, too, for those who do not look there;
   * and so does one that was refused a place.
   * @param waiting 0: nobody waits; 1: others do; 2: it waits; 3: it waits, as the first of those that were not told their turn; 4: the same,
   * and nobody waited before it came
   */
  standsFor(waiting: number, isGranted: boolean): void {
    this.#stands(waiting > 0);
    this.mayWait = waiting >= 2;
    this.#isInCrowd = waiting === 2 || (this.#isInCrowd && waiting !== 4);
    if (waiting === 2) this.#hearOwn(false);
    else if (this.mayWait || !isGranted) this.#hearsAllIn(waiting === 3 ? HEARS_ALL_AFTER_MS : 0);
  }

  /**
   * Redis has answered where this client stands in the queue. The first two hear what all hear, too, as long as the holder would not look
   * there; and so does a client that was refused a place, as by a full server.
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

  /** A question is about to ask for a place in the queue, whatever becomes of it; or others were heard to wait there. */
  mayStand(): void {
    this.mayWait = true;
    this.#waitedFor.set(this.#id, {});
  }

  #stands(stands: boolean): void {
    if (stands) this.mayStand();
    else this.#waitedFor.delete(this.#id);
  }

  /** This client has the lock, by an answer that says whether it stands in the queue. */
  entered(place: Pick<WaitingPlace, "stands" | "waits">): void {
    this.#stands(place.stands);
    this.place = { ...place, ahead: 2, isTold: true };
  }

  /** A release that was made before the line's calls came has taken this client out of the queue. */
  hasLeft(): void {
    this.place = undefined;
  }

  /** Nobody waits any more. */
  rest(): void {
    this.#own?.rest();
    this.#all.rest(!this.#isInCrowd);
    this.#isInCrowd = false;
    this.#hearsAllFromMs = Number.POSITIVE_INFINITY;
    this.place = undefined;
  }
}
