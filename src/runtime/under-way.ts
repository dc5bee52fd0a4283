import type { Clock } from "../clock.js";
import { ClientClosedError } from "../errors.js";
import { Link, Ring } from "../linked.js";

/** A command that is under way, or the pause before it is sent again. */
export abstract class Pending extends Link {
  /** Ends it. */
  abstract giveUp(error: Error): void;
}

class Pause extends Pending {
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

/** What one client has under way: commands, and the pauses before they are sent again. */
export class UnderWay {
  readonly #clock: Clock;
  readonly #pending = new Ring<Pending>();
  /** What ends the optional pauses. */
  readonly #optional = new Set<() => void>();
  #onIdle: (() => void) | undefined;
  #hurries = false;
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get busy(): boolean {
    return !this.#pending.isEmpty;
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  /** To be handed to `settled` as soon as it is over. */
  add(pending: Pending): void {
    this.#pending.add(pending);
  }

  settled(pending: Pending): void {
    pending.unlink();
    if (this.#onIdle !== undefined && !this.busy) this.#onIdle();
  }

  /** Resolves when nothing is under way. For one caller at a time. */
  idle(): Promise<void> {
    if (!this.busy) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /**
   * Lets time pass.
   * @param how `keepAlive`: whether it keeps the process alive; `optional`: whether it ends as soon as there is no time left;
   * `begun`: gets what ends it early
   * @throws ClientClosedError
   */
  async pause(ms: number, how: PauseOptions): Promise<void> {
    const { keepAlive = false, optional = false, begun } = how;
    if (this.#stopped) throw new ClientClosedError();
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
      this.add(pending);
      if (optional) this.#optional.add(goOn);
      begun?.(goOn);
    });
  }

  /** There is no time left for optional pauses. */
  hurry(): void {
    this.#hurries = true;
    for (const goOn of [...this.#optional]) goOn();
  }

  /** Ends what is under way with {@link ClientClosedError}, and all that comes. */
  stop(): void {
    this.#stopped = true;
    for (const pending of [...this.#pending]) pending.giveUp(new ClientClosedError());
  }
}
