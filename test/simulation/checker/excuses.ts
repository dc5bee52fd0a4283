import type { VirtualTime } from "../world/virtual-time.js";
import type { Belief, Excuse } from "./checker.js";

/** Who had a lock when it was freed by force believes in it until the next renewal, or until the end of a fixed lease. */
export class ForcedUnlocks implements Excuse {
  readonly name = "believed after forceUnlock";
  readonly #time: VirtualTime;
  readonly #forcedUs = new Map<string, number>();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** A script has freed a lock by force. */
  forced(name: string, atUs: number): void {
    this.#forcedUs.set(name, atUs);
  }

  excuses(name: string, one: Belief, other: Belief): boolean {
    const forcedUs = this.#forcedUs.get(name) ?? Number.NEGATIVE_INFINITY;
    return Math.min(one.startUs, other.startUs) <= forcedUs && forcedUs <= this.#time.nowUs;
  }
}
