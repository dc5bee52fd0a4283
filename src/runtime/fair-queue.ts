import type { RefreshAnswer } from "../protocol/fair-scripts.js";
import { isWakeUp, turnMessage } from "../protocol/messages.js";
import { clientChannel, waiterChannel } from "../protocol/names.js";
import type { Instant } from "./instant.js";
import type { Subscriptions } from "./subscriptions.js";

/** A call that has a place in the queue of a fair lock, or is about to get one. */
export interface FairWaiter {
  readonly key: string;
  /** The lock's channel. */
  readonly channel: string;
  /** The call's field in the queue. */
  readonly holder: string;
  /** A message names this call. @param given whether the lock was granted to it; false: it should ask */
  told(given: boolean): void;
  /** @param why the cause of the question: the regular beat, or messages that begin to arrive */
  refreshed(answer: RefreshAnswer, seen: Sighted, why: "timer" | "reconnect"): void;
}

/** When something was seen in Redis. */
export interface Sighted {
  /** The time just before the command was sent whose answer showed it. */
  readonly sentAt: Instant;
  /** How many times the connection had been lost before that command was sent. */
  readonly resets: number;
}

interface FairQueueServices {
  readonly clientId: string;
  readonly subscriptions: Subscriptions;
  /** Sends a question about these entries. */
  ask(entries: Iterable<FairWaiter>): void;
}

/**
 * The calls of this client that wait for one fair lock. They share one subscription, to the client's channel for this lock. It stays open
 * for a while after the last call: a call that asks while messages arrive has missed none, and need not ask a second time.
 *
 * A JVM that frees the lock does not know clients' channels: it notifies the head of the queue on the channel of that waiter. So while a
 * JVM has the lock or is in the queue, the first of this client's calls also listens to its own channel.
 * @see docs/internals/states.md#a-place-in-a-fair-queue
 */
export class FairQueue {
  readonly #clientId: string;
  readonly #subscriptions: Subscriptions;
  readonly #ask: FairQueueServices["ask"];
  readonly #channel: string;
  /** The calls that messages may name, by thread id. */
  readonly #entries = new Map<string, FairWaiter>();
  /** The calls that Redis has reported to be in the queue, in order. */
  readonly #standing = new Set<FairWaiter>();
  /** The calls that asked Redis while messages were arriving, so they have missed no message. */
  readonly #heard = new Set<FairWaiter>();
  /** Stops listening to the client's channel; undefined while it does not listen. */
  #unlisten: (() => void) | undefined;
  /** Whether messages arrive on the client's channel. */
  #isOpen = false;
  /** Whether a JVM may free the lock, according to the answer to the newest question, sent at `#seenMs`. */
  #meetsJvm = false;
  #seenMs = Number.NEGATIVE_INFINITY;
  /** The call that listens to its own channel. */
  #jvmListener: { readonly entry: FairWaiter; readonly unlisten: () => void } | undefined;

  constructor(channel: string, { clientId, subscriptions, ask }: FairQueueServices) {
    this.#channel = channel;
    this.#clientId = clientId;
    this.#subscriptions = subscriptions;
    this.#ask = ask;
  }

  get standing(): ReadonlySet<FairWaiter> {
    return this.#standing;
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** This call is about to ask Redis. */
  expect(entry: FairWaiter): void {
    this.#entries.set(this.#threadId(entry), entry);
    if (this.#subscriptions.isOpen(this.#clientChannel)) this.#listen();
    if (this.#isOpen) this.#heard.add(entry);
  }

  /** Redis has answered that this call is in the queue. @param pushed whether this attempt put it there */
  stands(entry: FairWaiter, { pushed, ...seen }: StandsAnswer): void {
    this.#entries.set(this.#threadId(entry), entry);
    if (pushed) this.#standing.delete(entry);
    this.#standing.add(entry);
    this.#listen();
    this.saw(seen);
    if (!this.#isOpen || this.#heard.has(entry)) return;
    this.#heard.add(entry);
    this.#ask([entry]);
  }

  /** An answer shows whether a JVM may free the lock. */
  saw({ sentAt, meetsJvm }: Pick<StandsAnswer, "sentAt" | "meetsJvm">): void {
    if (sentAt.monotonicMs >= this.#seenMs) {
      this.#seenMs = sentAt.monotonicMs;
      this.#meetsJvm = meetsJvm;
    }
    this.#listen();
    this.#listenToJvms();
  }

  remove(entry: FairWaiter): void {
    const threadId = this.#threadId(entry);
    if (this.#entries.get(threadId) === entry) this.#entries.delete(threadId);
    this.#standing.delete(entry);
    this.#heard.delete(entry);
    this.#listenToJvms();
    if (this.isEmpty) this.#deafen();
  }

  /** Stops listening. The subscription stays open for a while. */
  #deafen(): void {
    this.#unlisten?.();
    this.#unlisten = undefined;
    this.#isOpen = false;
  }

  get #clientChannel(): string {
    return clientChannel(this.#channel, this.#clientId);
  }

  #threadId({ holder }: FairWaiter): string {
    return holder.slice(this.#clientId.length + 1);
  }

  /**
   * If listening fails, the calls get no messages. The answers to the regular questions of `FairQueues` tell them a little later what the
   * messages would have told. Each such answer makes this client try to listen again.
   */
  #listen(): void {
    this.#unlisten ??= this.#subscriptions.listen(this.#clientChannel, {
      onMessage: (message) => {
        const turn = turnMessage(message);
        if (turn !== undefined) this.#entries.get(turn.threadId)?.told(turn.given);
      },
      onReady: () => this.#ready(),
      onFailure: () => {
        this.#unlisten = undefined;
        this.#isOpen = false;
      },
    });
  }

  /** Messages may have been missed: one command asks for all calls in the queue. A call that is not in the queue yet asks once it is. */
  #ready(): void {
    this.#isOpen = true;
    this.#heard.clear();
    for (const entry of this.#standing) this.#heard.add(entry);
    this.#ask(this.#standing);
  }

  #listenToJvms(): void {
    const head = this.#meetsJvm ? firstOf(this.#standing) : undefined;
    if (this.#jvmListener?.entry === head) return;
    this.#jvmListener?.unlisten();
    this.#jvmListener = undefined;
    if (head === undefined) return;
    const unlisten = this.#subscriptions.listen(
      waiterChannel(this.#channel, head.holder),
      {
        onMessage: (message) => {
          if (isWakeUp(message)) head.told(false);
        },
        onReady: () => this.#ask([head]),
        onFailure: () => {
          if (this.#jvmListener?.entry === head) this.#jvmListener = undefined;
        },
      },
      { lingers: false },
    );
    this.#jvmListener = { entry: head, unlisten };
  }
}

interface StandsAnswer {
  readonly sentAt: Instant;
  readonly meetsJvm: boolean;
  readonly pushed: boolean;
}

function firstOf<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}
