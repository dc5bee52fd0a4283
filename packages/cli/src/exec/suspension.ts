import type { Clock } from "holdfast";
import type { CommandProcess } from "./command-process.js";
import { pause } from "./process-clock.js";

/** So long a program may take to tidy up its terminal before it stops by itself. */
const STOPS_WITHIN_MS = 250;
const LOOK_MS = 5;

/** Stops a command and holdfast with it, as the terminal's Ctrl-Z wants it: a command must not run while its lock is not renewed. */
export class Suspension {
  readonly #command: CommandProcess;
  readonly #clock: Clock;
  #isUnderWay = false;

  constructor(command: CommandProcess, clock: Clock) {
    this.#command = command;
    this.#clock = clock;
  }

  /** Harmless while it is under way. */
  readonly begin = (): void => {
    if (!this.#isUnderWay) void this.#suspend();
  };

  async #suspend(): Promise<void> {
    const command = this.#command;
    this.#isUnderWay = true;
    // What shares the terminal was sent SIGTSTP by that, and may tidy up before it stops by itself.
    if (!command.isGroup) {
      const untilMs = this.#clock.monotonicMs() + STOPS_WITHIN_MS;
      while (command.isStopped !== true && this.#clock.monotonicMs() < untilMs)
        await pause(this.#clock, LOOK_MS);
    }
    // Not SIGTSTP: a group apart from the terminal does not heed it.
    command.send("SIGSTOP");
    // Nothing of this process runs from here until SIGCONT, whose handler looks at the lease before it lets the command go on.
    process.kill(process.pid, "SIGSTOP");
    this.#isUnderWay = false;
  }
}
