import type { WaitingPlace } from "../protocol/lock-calls.js";
import { YOU_ARE_FIRST, YOUR_TURN } from "../protocol/messages.js";
import type { Awaited } from "./awaited.js";
import { Ear, type EarServices } from "./ear.js";

export interface LineEarServices extends EarServices {
  /**
   * The ids of the locks and semaphores for which clients may wait in a queue in Redis: releases of this client look into that queue. Each
   * report that clients may wait stores a new object as the value. So a release whose answer is read late can see whether a later report
   * exists.
   */
  readonly waitedFor: Map<string, object>;
}

/**
 * The first client in a queue waits this long before it also listens to the common channel, if the clients that were served before it look
 * into the queue. When many clients compete, the first client has been notified by then.
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
  /** A subscription failed, or there is a new time from which the line should also listen to the common channel. */
  failed(): void;
}

/**
 * The channels that a line, the waiting calls of this client, listens to. Without a queue, waiters listen to the common channel of the
 * awaited thing. A client that waits in a queue in Redis listens to its own channel instead. It also listens to the common channel while
 * the lock may be freed by a holder that does not look into the queue.
 */
export class LineEars {
  /** The common channel. It announces all releases; for a lock with a queue, only the releases that do not look into the queue. */
  readonly #all: Ear;
  /** The client's own channel, which announces its turn; undefined without a queue. */
  #own: Ear | undefined;
  readonly #id: string;
  readonly #waitedFor: Map<string, object>;
  /** The client's place in the queue, by the newest answer; undefined before there is one. Set by the ears. */
  place: WaitingPlace | undefined;
  /**
   * For a line with its own channel: when it should also listen to the common channel, or try again to do so. The first waiter for permits
   * listens to both channels. On the monotonic clock.
   */
  #hearsAllFromMs = Number.POSITIVE_INFINITY;
  /** Whether a question may have put the client into the queue for permits. */
  mayWait = false;
  /**
   * Whether other clients also wait for permits. Each of them is the first in the queue from time to time. If each then kept the common
   * channel open, every message would reach all of them.
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

  /** For permits: from now on the line relies on its own channel. */
  relyOn(ownChannel: string): void {
    const line = this.#line;
    this.#own ??= new Ear(this.#services, ownChannel, {
      onMessage: (text) => line.called(text),
      onReady: () => line.ready(),
      onFailure: () => line.failed(),
    });
  }

  /**
   * For permits: stops using its own channel, because no other client has waited for a while. Also forgets when to listen to the common
   * channel: the late answer to a call that has given up may have set that time. @returns true
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

  /** Whether the line listens to the channel that it relies on. */
  get listens(): boolean {
    return this.#first.unlisten !== undefined && this.#hearsAllFromMs === Number.POSITIVE_INFINITY;
  }

  /** When the line should also listen to the common channel, or may listen again after a failure. On the monotonic clock. */
  get againMs(): number {
    return this.#first.unlisten === undefined ? this.#first.againMs : this.#hearsAllFromMs;
  }

  /** Whether a message that it is this client's turn in the queue would arrive. */
  get hearsTurn(): boolean {
    return this.#own?.hears === true;
  }

  /** Whether the message of a release of this client would arrive. */
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

  /** For permits: a message said that it is this client's turn, or that the client is now the first. */
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
   * For permits: Redis has answered whether this client, or another one, waits in the queue. The first client also listens to the common
   * channel, because some releases do not look into the queue. So does a client that got no place in the queue.
   * @param waiting 0: no client waits; 1: only other clients wait; 2: this client waits; 3: this client waits, and is the first of those
   * that were not notified; 4: as 3, and no client waited before it came
   */
  standsFor(waiting: number, isGranted: boolean): void {
    this.#stands(waiting > 0);
    this.mayWait = waiting >= 2;
    this.#isInCrowd = waiting === 2 || (this.#isInCrowd && waiting !== 4);
    if (waiting === 2) this.#hearOwn(false);
    else if (this.mayWait || !isGranted) this.#hearsAllIn(waiting === 3 ? HEARS_ALL_AFTER_MS : 0);
  }

  /**
   * Redis has answered which place this client has in the queue. The first two clients also listen to the common channel while the holder
   * does not look into the queue. So does a client that got no place in the queue, for example because the server is full.
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

  /** Redis was asked for the lock, but not for a place in the queue. */
  hearAll(): void {
    this.place = undefined;
    this.#hearAllNow();
  }

  /**
   * From now on a client may wait in the queue: a question asks for a place there, whatever its outcome, or other clients are known to
   * wait.
   */
  mayStand(): void {
    this.mayWait = true;
    this.#waitedFor.set(this.#id, {});
  }

  #stands(stands: boolean): void {
    if (stands) this.mayStand();
    else this.#waitedFor.delete(this.#id);
  }

  /** This client has acquired the lock. The answer also says whether the client is in the queue. */
  entered(place: Pick<WaitingPlace, "stands" | "waits">): void {
    this.#stands(place.stands);
    this.place = { ...place, ahead: 2, isTold: true };
  }

  /** A release that was sent before the present calls came has removed this client from the queue. */
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
