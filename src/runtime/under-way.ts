import type { Clock, Timer } from "../clock.js";
import { ClientClosedError } from "../errors.js";
import { Link, Ring } from "../linked.js";

/** A command under way. */
export abstract class Pending extends Link {
  /** When the command's time is up, on the monotonic clock. Does not change while the command is under way. */
  abstract readonly expiresMs: number;
  /** Whether `idle` does not wait for the command. */
  abstract readonly isAside: boolean;
  /** Ends the command because its time is up. */
  abstract expire(): void;
  /** Ends the command with an error. */
  abstract giveUp(error: Error): void;
}

/** The pause before a command is sent again. */
class Pause extends Link {
  readonly giveUp: (error: Error) => void;

  constructor(giveUp: (error: Error) => void) {
    super();
    this.giveUp = giveUp;
  }
}

interface PauseOptions {
  readonly keepAlive?: boolean;
  readonly optional?: boolean;
  readonly begun?: ((end: () => void) => void) | undefined;
}

/** The commands that one client has under way, and the pauses before they are sent again. */
export class UnderWay {
  readonly #clock: Clock;
  readonly #commands = new Ring<Pending>();
  /** The commands with `isAside`, for which `idle` does not wait. */
  readonly #aside = new Ring<Pending>();
  readonly #pauses = new Ring<Pause>();
  /** The functions that end the optional pauses. */
  readonly #optional = new Set<() => void>();
  #onIdle: (() => void) | undefined;
  #hurries = false;
  /**
   * Fires at the earliest `expiresMs` of the commands that were under way when it was set, even if those have been answered since. It
   * serves all commands: nearly all are answered in time, so a timer for each would be set and cancelled for nothing.
   */
  #alarm: Timer | undefined;
  /** When the alarm fires; Infinity if it is not set. */
  #alarmMs = Number.POSITIVE_INFINITY;
  /** Whether nothing may begin any more. */
  isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get busy(): boolean {
    return !this.#commands.isEmpty || !this.#pauses.isEmpty;
  }

  /** Expires the command at its `expiresMs`, unless `settled` is called with it before that time. */
  add(pending: Pending): void {
    (pending.isAside ? this.#aside : this.#commands).add(pending);
    if (pending.expiresMs < this.#alarmMs) this.#setAlarm(pending.expiresMs);
  }

  settled(ended: Pending | Pause): void {
    ended.unlink();
    if (this.#onIdle !== undefined && !this.busy) this.#onIdle();
  }

  /** Resolves when nothing is under way. Only for one caller at a time. */
  idle(): Promise<void> {
    if (!this.busy) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /**
   * Waits.
   * @param how `keepAlive`: whether the pause keeps the process alive; `optional`: whether `hurry` ends the pause; `begun`: gets a function
   * that ends the pause early
   * @throws ClientClosedError
   */
  async pause(ms: number, how: PauseOptions): Promise<void> {
    const { keepAlive = false, optional = false, begun } = how;
    if (this.isStopped) throw new ClientClosedError();
    if (optional && this.#hurries) return;
    await new Promise<void>((resolve, reject) => {
      const end = () => {
        timer.cancel();
        this.#optional.delete(goOn);
        this.settled(pending);
      };
      const pending = new Pause((error) => {
        end();
        reject(error);
      });
      const goOn = () => {
        end();
        resolve();
      };
      const timer = this.#clock.schedule(ms, goOn, keepAlive);
      this.#pauses.add(pending);
      if (optional) this.#optional.add(goOn);
      begun?.(goOn);
    });
  }

  /** Skips all optional pauses from now on. */
  hurry(): void {
    this.#hurries = true;
    for (const goOn of [...this.#optional]) goOn();
  }

  /** Fails everything under way, and all later pauses, with {@link ClientClosedError}. */
  stop(): void {
    this.isStopped = true;
    this.#alarm?.cancel();
    for (const pending of [...this.#commands, ...this.#aside, ...this.#pauses])
      pending.giveUp(new ClientClosedError());
  }

  #setAlarm(ms: number): void {
    this.#alarm?.cancel();
    this.#alarmMs = ms;
    this.#alarm = this.#clock.schedule(Math.max(ms - this.#clock.monotonicMs(), 0), this.#onAlarm);
  }

  readonly #onAlarm = (): void => {
    const nowMs = this.#clock.monotonicMs();
    this.#alarmMs = Number.POSITIVE_INFINITY;
    try {
      for (const pending of [...this.#commands, ...this.#aside]) {
        // The caller of an expired command may have ended other commands too, for example by stopping the client.
        if (pending.isLinked && pending.expiresMs <= nowMs) pending.expire();
      }
    } finally {
      let nextMs = this.#alarmMs;
      for (const { expiresMs } of this.#commands) nextMs = Math.min(nextMs, expiresMs);
      for (const { expiresMs } of this.#aside) nextMs = Math.min(nextMs, expiresMs);
      if (nextMs < this.#alarmMs) this.#setAlarm(nextMs);
    }
  };
}
