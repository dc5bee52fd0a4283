import type { VirtualTime } from "../world/virtual-time.js";

/** A call of the library that is under way. */
export interface PendingCall {
  readonly process: string;
  readonly what: string;
  readonly names: readonly string[];
  readonly startUs: number;
  /** How long it may wait by its own options, in milliseconds; Infinity: for ever. */
  readonly waitMs: number;
  /** Whether nothing but the waiting is part of it: no body, and no call within. */
  readonly isAlone: boolean;
  readonly isDead: () => boolean;
}

/** All calls that are under way, and when something last changed about each name. */
export class Calls {
  readonly pending: Set<PendingCall> = new Set();
  readonly #time: VirtualTime;
  readonly #changedUs = new Map<string, number>();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  begin(call: Omit<PendingCall, "startUs">): PendingCall {
    const pending = { ...call, startUs: this.#time.nowUs };
    this.pending.add(pending);
    return pending;
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
  }

  /** Somebody has entered or left. */
  changed(name: string): void {
    this.#changedUs.set(name, this.#time.nowUs);
  }

  changedUs(name: string): number {
    return this.#changedUs.get(name) ?? 0;
  }
}
