import type { RefreshAnswer } from "../protocol/fair-scripts.js";
import { isWakeUp } from "../protocol/messages.js";
import { waiterChannel } from "../protocol/names.js";
import type { Queued, Sighted } from "../runtime/signs-of-life.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { ask } from "./acquire.js";
import { enterByGrant } from "./grant.js";
import type { LockIdentity } from "./lock-kind.js";
import type { FoundPlace, QueuePlace, Wish } from "./wish.js";

/**
 * Takes the outermost hold of a stay, standing in the lock's queue in Redis. Whoever frees the lock gives it to the next
 * in the queue and says so on a channel of that waiter's own, who is in when the message arrives.
 *
 * A field stands in a queue once in its life. Otherwise a message that tells of the first time, and that was overtaken by what
 * came of it, would let the waiter in beside whoever has the lock by then. So one who was in too late, and has given the lock
 * back, waits on under another field.
 * @returns undefined when the waiter's time was up; `spent` when it has to wait on under another field
 * @throws the reason of a cancelled wait; UnavailableError, WrongTypeError
 */
export async function waitInQueue(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
): Promise<Hold | undefined | "spent"> {
  const { waiter } = wish;
  const isChosen = holding.thread.explicitId !== undefined;
  const stand = new Stand(lock, holding, wish);
  try {
    for (;;) {
      stand.asking();
      const hold = await ask(lock, holding, wish, isChosen);
      if (hold !== undefined) return hold;
      if (wish.place !== undefined) stand.queued(wish.place);
      else if (!waiter.over) return "spent";
      while (!waiter.over && !stand.shouldAsk()) {
        await waiter.pause(stand.sleepMs());
        const granted = stand.takeGrant();
        if (granted !== undefined) return granted;
      }
      if (waiter.cancelled) throw waiter.reason;
      if (waiter.over) return undefined;
    }
  } finally {
    stand.leave();
  }
}

/** One waiter's place in a queue, and what has been heard of it since it last asked. */
class Stand implements Queued {
  readonly holder: string;
  readonly #lock: LockIdentity;
  readonly #holding: Holding;
  readonly #wish: Wish;
  #unlisten: (() => void) | undefined;
  /**
   * Whether the field has surely stood in the queue once only, so that a message is about this time. Under an id that the caller
   * chose, earlier stays had the same field.
   */
  #once: boolean;
  /** Something came in since the latest attempt was sent. */
  #heard = false;
  #place: QueuePlace | undefined;
  #askAtMs = Number.POSITIVE_INFINITY;
  /** Somebody says that this waiter was given the lock. */
  #granted = false;

  constructor(lock: LockIdentity, holding: Holding, wish: Wish) {
    this.#lock = lock;
    this.#holding = holding;
    this.#wish = wish;
    this.holder = holding.field;
    this.#once = holding.thread.explicitId === undefined;
  }

  get key(): string {
    return this.#lock.key;
  }

  get channel(): string {
    return this.#lock.channel;
  }

  /** What is heard from now on is news for the next attempt: its answer may be older. So is a grant that was heard of. */
  asking(): void {
    this.#heard = false;
    this.#askAtMs = Number.POSITIVE_INFINITY;
  }

  /** The latest attempt was answered: this is the place, and there is nothing to ask for now but for news. */
  queued(place: FoundPlace): void {
    // Only the first attempt may put the field into the queue. One of several copies may have done it twice, unseen.
    if (place.repeated || place.pushed !== (this.#place === undefined)) this.#once = false;
    this.#seen(place);
    this.#lock.client.signsOfLife.add(this);
    this.#listen();
  }

  leave(): void {
    this.#unlisten?.();
    this.#lock.client.signsOfLife.remove(this);
  }

  shouldAsk(): boolean {
    return this.#lock.client.clock.monotonicMs() >= this.#askAtMs;
  }

  sleepMs(): number {
    return Math.max(0, this.#askAtMs - this.#lock.client.clock.monotonicMs());
  }

  refreshed(answer: RefreshAnswer, seen: Sighted): void {
    if (answer.status === "queued") {
      if (answer.holder !== "") this.#wish.saw(this.#lock, answer.holder, answer.ttlMs);
      this.#seen({ ...seen, fallsInMs: answer.isHead && answer.ttlMs >= 0 ? answer.ttlMs : undefined });
      this.#listen();
    } else {
      this.#askNow();
    }
    this.#wish.waiter.wake();
  }

  /** Enters if the lock was given to this waiter and it can be sure of that without asking; asks otherwise. */
  takeGrant(): Hold | undefined {
    if (!this.#granted || this.#wish.waiter.cancelled) return undefined;
    this.#granted = false;
    const place = this.#once ? this.#place : undefined;
    const hold = place && enterByGrant(this.#lock, this.#holding, this.#wish, place);
    if (hold === undefined) this.#askNow();
    return hold;
  }

  /** While this fails, the signs of life bring the news, a little later, and it is tried again with each of them. */
  #listen(): void {
    this.#unlisten ??= this.#lock.client.subscriptions.listen(
      waiterChannel(this.channel, this.holder),
      {
        onMessage: (message) => this.#hear(message),
        onReady: () => this.#askNow(),
        onFailure: () => {
          this.#unlisten = undefined;
        },
      },
      { lingers: false },
    );
  }

  /** Who is next asks by itself when the holder's lease is over: nobody may be there to tell. */
  #seen(place: QueuePlace): void {
    // The answer to a sign of life may come after that to an attempt which was sent later, and tells less.
    if (this.#place !== undefined && place.sentAt.monotonicMs < this.#place.sentAt.monotonicMs) return;
    this.#place = place;
    if (this.#heard) return;
    this.#askAtMs =
      place.fallsInMs === undefined
        ? Number.POSITIVE_INFINITY
        : place.sentAt.monotonicMs + place.fallsInMs + 1;
  }

  #hear(message: string): void {
    if (isWakeUp(message)) this.#askNow();
    else if (/^\d+$/.test(message)) this.#granted = true;
    this.#wish.waiter.wake();
  }

  #askNow(): void {
    this.#heard = true;
    this.#askAtMs = Number.NEGATIVE_INFINITY;
    this.#wish.waiter.wake();
  }
}
