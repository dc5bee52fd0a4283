import type { Clock } from "../../../src/clock.js";
import type { Driver, PubSubFamily, Unsubscribe } from "../../../src/driver/driver.js";
import { JvmTimeoutError } from "./jvm-errors.js";
import type { JvmThreads } from "./jvm-threads.js";

/** Redisson's limit for a subscription that a thread without a limit waits for. */
export const SUBSCRIPTION_TIMEOUT_MS = 7_500;

/** What a message does to the threads that wait, by the sort of the channel. */
export type Effect = (message: string, entry: ChannelEntry) => void;

/** A message `0` lets one thread ask again, a `1` (a writer has gone) all that are parked. */
export const lockEffect: Effect = (message, entry) => {
  if (message === "0") entry.release(1);
  if (message === "1") entry.release(entry.parked);
};

/** A message tells how many permits there are. */
export const semaphoreEffect: Effect = (message, entry) =>
  entry.release(Math.min(entry.subscribers, Math.max(Number(message), 0)));

/** A message `0` opens the gate, a `1` closes it. */
export const latchEffect: Effect = (message, entry) => {
  if (message === "0") entry.open();
  if (message === "1") entry.close();
};

/**
 * RedissonLockEntry and RedissonCountDownLatchEntry: what the threads of one client that wait for one thing share. A permit
 * that came while no thread was parked serves the next that parks.
 */
export class ChannelEntry {
  /** How many threads have subscribed and not unsubscribed. */
  subscribers = 0;
  readonly #threads: JvmThreads;
  readonly #parked: (() => boolean)[] = [];
  #permits = 0;
  #isOpen = false;

  constructor(threads: JvmThreads) {
    this.#threads = threads;
  }

  /** How many threads wait for a permit, or for the gate. */
  get parked(): number {
    return this.#parked.length;
  }

  /** Takes a permit, or waits for one. @returns false when the time is up */
  async take(threadId: number, ms?: number): Promise<boolean> {
    if (this.#permits > 0) {
      this.#permits -= 1;
      return true;
    }
    return ms !== undefined && ms <= 0 ? false : this.#park(threadId, ms);
  }

  /** Waits for the gate to be open. */
  async pass(threadId: number, ms?: number): Promise<boolean> {
    return this.#isOpen || this.#park(threadId, ms);
  }

  release(count: number): void {
    for (let left = count; left > 0; left -= 1) {
      if (!this.#wakeFirst()) this.#permits += 1;
    }
  }

  open(): void {
    this.#isOpen = true;
    while (this.#parked.length > 0) this.#wakeFirst();
  }

  close(): void {
    this.#isOpen = false;
  }

  #wakeFirst(): boolean {
    return this.#parked.shift()?.() ?? false;
  }

  #park(threadId: number, ms: number | undefined): Promise<boolean> {
    return this.#threads.wait(threadId, ms, (wake) => {
      this.#parked.push(wake);
      return () => void this.#parked.splice(this.#parked.indexOf(wake), 1);
    });
  }
}

interface Subscription {
  readonly entry: ChannelEntry;
  readonly begun: Promise<Unsubscribe>;
}

/** PublishSubscribeService: one subscription of the client to each channel, for as long as a thread needs it. */
export class JvmChannels {
  readonly #driver: Driver;
  readonly #clock: Clock;
  readonly #threads: JvmThreads;
  readonly #family: PubSubFamily;
  readonly #subscriptions = new Map<string, Subscription>();

  constructor(driver: Driver, clock: Clock, threads: JvmThreads, family: PubSubFamily) {
    this.#driver = driver;
    this.#clock = clock;
    this.#threads = threads;
    this.#family = family;
  }

  /** How many channels it listens to, or begins to. */
  get size(): number {
    return this.#subscriptions.size;
  }

  /** @returns the entry of the channel, from when messages arrive on; undefined when it was not had in time, or refused */
  async subscribe(channel: string, effect: Effect, limitMs: number): Promise<ChannelEntry | undefined> {
    try {
      return await this.#subscribed(channel, effect, limitMs);
    } catch {
      // Redisson writes a line into its log, and takes the time for over.
      return undefined;
    }
  }

  /** As `subscribe`, for a thread that waits without limit. @throws JvmTimeoutError, or what the driver throws */
  async subscribeAtAllCosts(channel: string, effect: Effect): Promise<ChannelEntry> {
    const entry = await this.#subscribed(channel, effect, SUBSCRIPTION_TIMEOUT_MS);
    if (entry === undefined) throw new JvmTimeoutError(`no subscription to ${channel} was had`);
    return entry;
  }

  async #subscribed(channel: string, effect: Effect, limitMs: number): Promise<ChannelEntry | undefined> {
    const subscription = this.#subscriptions.get(channel) ?? this.#begin(channel, effect);
    subscription.entry.subscribers += 1;
    let isListening = false;
    try {
      isListening = await this.#within(limitMs, subscription.begun);
    } finally {
      if (!isListening) this.unsubscribe(channel);
    }
    return isListening ? subscription.entry : undefined;
  }

  /** The thread needs the channel no more. */
  unsubscribe(channel: string): void {
    const subscription = this.#subscriptions.get(channel);
    if (subscription === undefined) return;
    subscription.entry.subscribers -= 1;
    if (subscription.entry.subscribers > 0) return;
    this.#subscriptions.delete(channel);
    subscription.begun.then((end) => end()).catch(() => undefined);
  }

  shutDown(): void {
    for (const { begun } of this.#subscriptions.values()) begun.then((end) => end()).catch(() => undefined);
    this.#subscriptions.clear();
  }

  #begin(channel: string, effect: Effect): Subscription {
    const entry = new ChannelEntry(this.#threads);
    // When messages arrive again after a reconnect, Redisson wakes no thread: what was missed is.
    const listener = { onMessage: (message: string) => effect(message, entry), onReady: () => undefined };
    const begun = this.#driver.subscribe(channel, listener, this.#family);
    begun.catch(() => undefined);
    const subscription = { entry, begun };
    this.#subscriptions.set(channel, subscription);
    return subscription;
  }

  #within(ms: number, begun: Promise<unknown>): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.schedule(Math.max(ms, 0), () => resolve(false));
      begun.then(
        () => {
          timer.cancel();
          resolve(true);
        },
        (error) => {
          timer.cancel();
          reject(error);
        },
      );
    });
  }
}
