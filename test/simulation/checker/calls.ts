import type { VirtualTime } from "../world/virtual-time.js";

/** A call of the library that is under way. */
export interface PendingCall {
  readonly process: string;
  readonly what: string;
  readonly names: readonly string[];
  readonly startUs: number;
  /** Since when the clock of its process shows what it showed when the call began. */
  readonly clockSinceUs: number;
  /** How long it may wait by its own options, in milliseconds; Infinity: for ever. */
  readonly waitMs: number;
  /** Whether nothing but the waiting is part of it: no body, and no call within. */
  readonly isAlone: boolean;
  /** For how long it may be under way besides its commands, in milliseconds; Infinity: others take part in it, or it says nothing. */
  readonly mostMs: number;
  /** Whether it is about a lock that its caller shares with others. */
  readonly reads: boolean;
  /** Whether it asks again and again while it waits, and hears of no release. */
  readonly polls: boolean;
  /** Whether others of the process call with the same thread id. */
  readonly sharesId: boolean;
  /** What it was to be cancelled by. */
  readonly signal: AbortSignal | undefined;
  readonly isDead: () => boolean;
}

/** All calls that are under way, and when something last changed about each name. */
export class Calls {
  readonly pending: Set<PendingCall> = new Set();
  readonly #time: VirtualTime;
  readonly #changedUs = new Map<string, number>();
  /** When a call that did not read has last ended, by name. */
  readonly #writtenUs = new Map<string, number>();
  readonly #begun = new Map<string, number[]>();
  /** When the last call of a process about a name has ended, by both. */
  readonly #endedUs = new Map<string, number>();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  begin(call: Omit<PendingCall, "startUs">): PendingCall {
    const pending = { ...call, startUs: this.#time.nowUs };
    this.pending.add(pending);
    const begun = this.#begun.get(call.process);
    if (begun === undefined) this.#begun.set(call.process, [pending.startUs]);
    else begun.push(pending.startUs);
    return pending;
  }

  /** Whether there is one that a signal may cancel. */
  hasWith(signal: AbortSignal): boolean {
    return [...this.pending].some((call) => call.signal === signal);
  }

  /** How many calls a process had begun by then. Default: by now. */
  begunBy(process: string, untilUs: number = Number.POSITIVE_INFINITY): number {
    const begun = this.#begun.get(process) ?? [];
    return begun.findLastIndex((startUs) => startUs <= untilUs) + 1;
  }

  /** The other calls of its process for one of its names. */
  others(call: PendingCall): readonly PendingCall[] {
    return [...this.pending].filter(
      (other) =>
        other !== call &&
        other.process === call.process &&
        other.names.some((name) => call.names.includes(name)),
    );
  }

  end(call: PendingCall): void {
    this.pending.delete(call);
    for (const name of call.names) {
      this.#endedUs.set(`${call.process} ${name}`, this.#time.nowUs);
      if (!call.reads) this.#writtenUs.set(name, this.#time.nowUs);
    }
  }

  endedUs(process: string, name: string): number {
    return this.#endedUs.get(`${process} ${name}`) ?? 0;
  }

  /** Whether a call is under way that does not share a lock, and when one has last ended. */
  written(name: string): { readonly isWriting: boolean; readonly us: number } {
    const isWriting = [...this.pending].some((call) => !call.reads && call.names.includes(name));
    return { isWriting, us: this.#writtenUs.get(name) ?? 0 };
  }

  /** Somebody has entered or left. */
  changed(name: string): void {
    this.#changedUs.set(name, this.#time.nowUs);
  }

  changedUs(name: string): number {
    return this.#changedUs.get(name) ?? 0;
  }
}
