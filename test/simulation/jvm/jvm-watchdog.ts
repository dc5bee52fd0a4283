import type { Clock, Timer } from "../../../src/clock.js";
import type { JvmCalls, Values } from "./jvm-calls.js";

/** lockWatchdogBatchSize: so many names are renewed by one script at most. */
const BATCH_SIZE = 100;

/** How one lock is renewed for one thread. */
interface Registration {
  readonly field: string;
  count: number;
}

/** The threads of a name, in the order in which they came. */
type Registrations = Map<number, Registration>;

export interface JvmWatchdogOptions {
  readonly calls: JvmCalls;
  readonly clock: Clock;
  readonly watchdogMs: number;
  /** Slots of a cluster, and with them their names, are renewed one by one; so are all names before 3.44. */
  readonly oneByOne: boolean;
  /** Of the threads that read, it names all; before 3.44 the first, and renews what others read on as well. */
  readonly allReaders: boolean;
}

/**
 * RenewalTask: every third of `watchdogMs` it renews what its threads hold without a lease. A mutex is renewed for the first
 * thread only that is registered for its name, a read lock for all. A lock that is gone is noticed here, and no one is told.
 *
 * Simplified: Redisson starts a timer more whenever the registry was empty, and so renews more often; here is one.
 */
export class JvmWatchdog {
  readonly #call: "lock renew" | "read renew";
  readonly #options: JvmWatchdogOptions;
  readonly #names = new Map<string, Registrations>();
  #timer: Timer | undefined;
  #isShutDown = false;

  constructor(call: "lock renew" | "read renew", options: JvmWatchdogOptions) {
    this.#call = call;
    this.#options = options;
  }

  /** How many names it renews. */
  get size(): number {
    return this.#names.size;
  }

  /** A thread has taken a lock without a lease. */
  add(name: string, threadId: number, field: string): void {
    const threads = this.#names.get(name) ?? new Map<number, Registration>();
    const registration = threads.get(threadId) ?? { field, count: 0 };
    registration.count += 1;
    threads.set(threadId, registration);
    this.#names.set(name, threads);
    this.#schedule();
  }

  /** A thread has released a lock, or has tried to; without one, the lock was freed by force. */
  remove(name: string, threadId?: number): void {
    const threads = this.#names.get(name);
    const registration = threadId === undefined ? undefined : threads?.get(threadId);
    if (threadId === undefined) threads?.clear();
    else if (registration !== undefined && --registration.count === 0) threads?.delete(threadId);
    if (threads?.size === 0) this.#names.delete(name);
  }

  shutDown(): void {
    this.#isShutDown = true;
    this.#timer?.cancel();
    this.#names.clear();
  }

  #schedule(): void {
    if (this.#isShutDown || this.#timer !== undefined || this.#names.size === 0) return;
    const { clock, watchdogMs } = this.#options;
    this.#timer = clock.schedule(Math.floor(watchdogMs / 3), () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const names = [...this.#names.keys()];
    const batchSize = this.#options.oneByOne ? 1 : BATCH_SIZE;
    try {
      for (let at = 0; at < names.length; at += batchSize) await this.#renew(names.slice(at, at + batchSize));
    } catch {
      // Redisson writes a line into its log, leaves out the other batches, and tries again at the next beat.
    }
    this.#timer = undefined;
    this.#schedule();
  }

  async #renew(names: readonly string[]): Promise<void> {
    const beats = names.flatMap((name) => this.#beatsOf(name));
    if (beats.length === 0) return;
    const { calls } = this.#options;
    const reply = await calls.send(
      this.#call,
      beats.map(({ values }) => values),
      true,
    );
    const [first] = beats;
    const results = Array.isArray(reply) ? reply : [reply];
    if (first === undefined || results.length !== beats.length) throw new TypeError(`not renewals: ${reply}`);
    beats.forEach(({ name, threadIds }, at) => {
      if (results[at] === 0) for (const threadId of threadIds) this.#drop(name, threadId);
    });
  }

  /** A mutex that is gone costs its thread one registration, a read lock all. */
  #drop(name: string, threadId: number): void {
    const registration = this.#names.get(name)?.get(threadId);
    if (registration === undefined) return;
    if (this.#call === "read renew") registration.count = 1;
    this.remove(name, threadId);
  }

  #beatsOf(name: string): readonly Beat[] {
    const threads = [...(this.#names.get(name) ?? [])];
    const all = this.#call === "read renew" && this.#options.allReaders;
    const renewed = all ? threads : threads.slice(0, 1);
    if (renewed.length === 0) return [];
    const holder = renewed.map(([, { field }]) => field);
    const { watchdogMs } = this.#options;
    const values = { name, watchdogMs, holder, holderCount: holder.length };
    return [{ name, threadIds: renewed.map(([threadId]) => threadId), values }];
  }
}

interface Beat {
  readonly name: string;
  readonly threadIds: readonly number[];
  readonly values: Values;
}
