import type { Clock } from "../clock.js";
import { ClientClosedError } from "../errors.js";

/** What one client has under way: commands, and the pauses before others. */
export class UnderWay {
  readonly #clock: Clock;
  /** What rejects each. */
  readonly #pending = new Set<(error: Error) => void>();
  /** What ends the optional pauses. */
  readonly #optional = new Set<() => void>();
  #onIdle: (() => void) | undefined;
  #hurries = false;
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get busy(): boolean {
    return this.#pending.size > 0;
  }

  /** @throws ClientClosedError once it has been stopped */
  assertOpen(): void {
    if (this.#stopped) throw new ClientClosedError();
  }

  /** @param giveUp rejects it; to be handed to `settled` as soon as it is over */
  add(giveUp: (error: Error) => void): void {
    this.#pending.add(giveUp);
  }

  settled(giveUp: (error: Error) => void): void {
    this.#pending.delete(giveUp);
    if (this.#pending.size === 0) this.#onIdle?.();
  }

  /** Resolves when nothing is under way. For one caller at a time. */
  idle(): Promise<void> {
    if (this.#pending.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /**
   * Lets time pass.
   * @param how `keepAlive`: whether it keeps the process alive; `optional`: whether it ends as soon as there is no time left
   * @throws ClientClosedError
   */
  async pause(ms: number, how: { readonly keepAlive?: boolean; readonly optional?: boolean }): Promise<void> {
    const { keepAlive = false, optional = false } = how;
    this.assertOpen();
    if (optional && this.#hurries) return;
    await new Promise<void>((resolve, reject) => {
      const end = () => {
        timer.cancel();
        this.#optional.delete(goOn);
        this.settled(giveUp);
      };
      const giveUp = (error: Error) => {
        end();
        reject(error);
      };
      const goOn = () => {
        end();
        resolve();
      };
      const timer = this.#clock.schedule(ms, goOn, keepAlive);
      this.add(giveUp);
      if (optional) this.#optional.add(goOn);
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
    for (const reject of [...this.#pending]) reject(new ClientClosedError());
  }
}
