import { types } from "node:util";
import type { Clock } from "../clock.js";
import { ClientClosedError, type Holdfast, type LockSource } from "../index.js";
import { inRootContext } from "../root-context.js";
import { type LocksSeen, watchLocks } from "../watch/index.js";
import type { InspectorSettings } from "./inspector-options.js";
import { intervalMs } from "./pace.js";

/** Receives the results of the looks. */
export interface Onlooker {
  seen(seen: LocksSeen): void;
  /** Redis does not answer, or refuses. The poll asks again. */
  failed(error: unknown): void;
  /** The reason why the channels cannot be read; undefined if they can, as far as is known. */
  blind(reason: string | undefined): void;
  /** The client was closed: no more looks are possible. */
  closed(): void;
}

type PollSettings = Pick<InspectorSettings, "refreshMs" | "group" | "clock">;

/** The pause after a failure. */
const RETRY_MS = 3_000;
/** The most locks of one look: it ends there, even if there are more. */
const MOST_LOCKS = 10_000;

const BOTH: readonly LockSource[] = ["presence", "channels"];

/** From `start` to `stop`, looks at all locks again and again, once for all viewers. */
export class Poll {
  readonly #holdfast: Holdfast;
  readonly #settings: PollSettings;
  readonly #onlooker: Onlooker;
  #running: Run | undefined;

  constructor(holdfast: Holdfast, settings: PollSettings, onlooker: Onlooker) {
    this.#holdfast = holdfast;
    this.#settings = settings;
    this.#onlooker = onlooker;
  }

  /**
   * Starts nothing new while the poll runs. @returns a promise that resolves with the first result: the locks, or the reason why they can
   * not be read
   */
  start(): Promise<void> {
    if (this.#running === undefined) {
      const run = new Run(this.#holdfast, this.#settings, this.#onlooker);
      this.#running = run;
      // The poll outlives the request that has started it.
      void inRootContext(() => run.go());
    }
    return this.#running.told;
  }

  /** Ends the running commands. Calling it twice, or before `start`, is safe. */
  stop(): void {
    this.#running?.stop();
    this.#running = undefined;
  }
}

/** The looks between a `start` and its `stop`. */
class Run {
  readonly told: Promise<void>;
  readonly #holdfast: Holdfast;
  readonly #settings: PollSettings;
  readonly #onlooker: Onlooker;
  readonly #stopping = new AbortController();
  #resolveTold: () => void = () => undefined;
  #sources = BOTH;

  constructor(holdfast: Holdfast, settings: PollSettings, onlooker: Onlooker) {
    this.#holdfast = holdfast;
    this.#settings = settings;
    this.#onlooker = onlooker;
    this.told = new Promise((resolve) => {
      this.#resolveTold = resolve;
    });
  }

  stop(): void {
    this.#stopping.abort();
    this.#resolveTold();
  }

  async go(): Promise<void> {
    this.#onlooker.blind(undefined);
    while (!this.#isOver) {
      try {
        await this.#look();
      } catch (error) {
        if (this.#isOver) return;
        if (error instanceof ClientClosedError) {
          this.#onlooker.closed();
          return;
        }
        if (this.#goesOnWithout(error)) continue;
        this.#onlooker.failed(error);
        this.#resolveTold();
        await this.#pause(RETRY_MS);
      }
    }
  }

  async #look(): Promise<void> {
    const { refreshMs, group, clock } = this.#settings;
    const meter = new Meter(clock);
    const looks = watchLocks(this.#holdfast, {
      everyMs: refreshMs,
      sources: this.#sources,
      limit: MOST_LOCKS,
      signal: this.#stopping.signal,
      clock: meter,
      ...(group === undefined ? {} : { group }),
    });
    for await (const seen of looks) {
      if (this.#isOver) return;
      const { tookMs } = meter;
      this.#onlooker.seen(seen);
      this.#resolveTold();
      const load = { locks: seen.locks.length, clients: seen.fleet.clients.length, tookMs };
      // `watchLocks` itself waits for `refreshMs` before the next look.
      await this.#pause(intervalMs(load, refreshMs) - refreshMs);
    }
  }

  /** If channels are refused, or the driver reaches only one master, presence still works. */
  #goesOnWithout(error: unknown): boolean {
    const message = types.isNativeError(error) ? error.message : String(error);
    const isRefused = error instanceof TypeError || /NOPERM.*\bpubsub\b/i.test(message);
    if (this.#sources !== BOTH || !isRefused) return false;
    this.#sources = ["presence"];
    this.#onlooker.blind(message);
    return true;
  }

  get #isOver(): boolean {
    return this.#stopping.signal.aborted;
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping;
    if (ms <= 0 || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        signal.removeEventListener("abort", end);
        timer.cancel();
        resolve();
      };
      const timer = this.#settings.clock.schedule(ms, end);
      signal.addEventListener("abort", end);
    });
  }
}

/** A clock that notes when the last pause ended: the look has taken the time since. */
class Meter implements Clock {
  readonly #clock: Clock;
  #sinceMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
  }

  get tookMs(): number {
    return this.#clock.monotonicMs() - this.#sinceMs;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  wallMs(): number {
    return this.#clock.wallMs();
  }

  schedule(delayMs: number, callback: () => void): ReturnType<Clock["schedule"]> {
    return this.#clock.schedule(delayMs, () => {
      this.#sinceMs = this.#clock.monotonicMs();
      callback();
    });
  }
}
