import type { WaitingPlace } from "../protocol/lock-calls.js";
import type { Awaited } from "./awaited.js";
import { Ear, type EarServices } from "./ear.js";

export interface LineEarServices extends EarServices {
  /**
   * The ids of what may be waited for in its queue in Redis, where this client looks when it frees it, each with what last said so: an
   * object of its own, as the answer to a release may be read after that to a later question.
   */
  readonly waitedFor: Map<string, object>;
}

/** What a line hears. */
export interface LineHearer {
  /** On the channel of what is waited for. */
  heard(message: string): void;
  /** On the client's own channel. */
  called(message: string): void;
  /** Messages begin to arrive; what was published before may have been missed. */
  ready(): void;
  /** Something does not listen any more. */
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
  readonly #own: Ear | undefined;
  readonly #id: string;
  readonly #waitedFor: Map<string, object>;
  /** Where this client waits in the queue, by the newest answer; undefined before there is one. Set by the ears. */
  place: WaitingPlace | undefined;

  /** @param ownChannel undefined without a queue */
  constructor(awaited: Awaited, ownChannel: string | undefined, services: LineEarServices, line: LineHearer) {
    this.#id = awaited.id;
    this.#waitedFor = services.waitedFor;
    const both = { onReady: () => line.ready(), onFailure: () => line.failed() };
    this.#all = new Ear(services, awaited.channel, { ...both, onMessage: (text) => line.heard(text) });
    if (ownChannel === undefined) return;
    this.#own = new Ear(services, ownChannel, { ...both, onMessage: (text) => line.called(text) });
  }

  /** What the line relies on. */
  get #first(): Ear {
    return this.#own ?? this.#all;
  }

  /** Whether it listens to what it relies on. */
  get listens(): boolean {
    return this.#first.unlisten !== undefined;
  }

  /** On the monotonic clock: after a failure it may listen again from then on. */
  get againMs(): number {
    return this.#first.againMs;
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
    if ((!waits || (ahead < 2 && !isTold)) && isElsewhere) this.#all.listen();
    else if (this.#own !== undefined) this.#all.rest();
  }

  /** Redis was asked, but not for a place in the queue. */
  hearAll(): void {
    this.place = undefined;
    this.#all.listen();
  }

  /** A question is about to ask for a place in the queue, whatever becomes of it; or others were heard to wait there. */
  mayStand(): void {
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
    this.#all.rest();
    this.place = undefined;
  }
}
