import type { Clock } from "holdfast";
import type { CommandProcess } from "./command-process.js";
import { pause } from "./process-clock.js";

/** How long a program may take to tidy up its terminal before it stops itself. */
const STOPS_WITHIN_MS = 250;
const LOOK_MS = 5;

/** Stops a command together with holdfast, for Ctrl-Z on the terminal: a command must not run while its lock is not renewed. */
export class Suspension {
  readonly #command: CommandProcess;
  readonly #clock: Clock;
  #isUnderWay = false;

  constructor(command: CommandProcess, clock: Clock) {
    this.#command = command;
    this.#clock = clock;
  }

  /** Does nothing during a suspension. */
  readonly begin = (): void => {
    if (!this.#isUnderWay) void this.#suspend();
  };

  async #suspend(): Promise<void> {
    const command = this.#command;
    this.#isUnderWay = true;
    // Ctrl-Z sent SIGTSTP to the command too, because it is on the same terminal. The command may tidy up before it stops itself.
    if (!command.isGroup) {
      const untilMs = this.#clock.monotonicMs() + STOPS_WITHIN_MS;
      while (command.isStopped !== true && this.#clock.monotonicMs() < untilMs)
        await pause(this.#clock, LOOK_MS);
    }
    // SIGTSTP would not work: a group apart from the terminal ignores it.
    command.send("SIGSTOP");
    // Nothing of this process runs from here until SIGCONT, whose handler checks the lease before the command continues.
    process.kill(process.pid, "SIGSTOP");
    this.#isUnderWay = false;
  }
}
