import { readFileSync } from "node:fs";

/** Of the numbers that Linux tells programs, on every machine. */
const TICK_MS = 10;

/** What a process has had of the processor, and whether it wants more. */
interface Share {
  readonly usedMs: number;
  readonly isReady: boolean;
}

/**
 * How long a process is silent, as it has it: while others keep it from the processor no time passes. Where the system does not tell of that, by
 * the clock.
 */
export class Silence {
  readonly #pid: number | undefined;
  #share: Share | undefined;
  #sinceMs = 0;
  #silentMs = 0;

  constructor(pid: number | undefined) {
    this.#pid = pid;
  }

  /** It has told something. */
  broken(nowMs: number): void {
    this.#silentMs = 0;
    this.#look(nowMs);
  }

  /** To be asked often: what was between two looks counts as one. */
  lastsMs(nowMs: number): number {
    const [before, sinceMs] = [this.#share, this.#sinceMs];
    const now = this.#look(nowMs);
    this.#silentMs += before !== undefined && now?.isReady ? now.usedMs - before.usedMs : nowMs - sinceMs;
    return this.#silentMs;
  }

  #look(nowMs: number): Share | undefined {
    this.#share = this.#pid === undefined ? undefined : shareOf(this.#pid);
    this.#sinceMs = nowMs;
    return this.#share;
  }
}

/** See proc(5): behind the name, which may have anything in it, come the state and, as the 12th and 13th from there, the ticks. */
function shareOf(pid: number): Share | undefined {
  try {
    const [state, ...numbers] = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    const ticks = Number(numbers[10]) + Number(numbers[11]);
    return { usedMs: ticks * TICK_MS, isReady: state === "R" };
  } catch {
    return undefined;
  }
}
