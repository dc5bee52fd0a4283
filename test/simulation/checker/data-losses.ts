import type { VirtualTime } from "../world/virtual-time.js";
import type { Entered, Excuse } from "./checker.js";
import { LONGEST_TRUST_US } from "./excuses.js";

/**
 * A server that has lost its data, or ends its keys early since its clock was set, gives away what somebody believes in, until a
 * renewal, or the end of a fixed lease, tells that one.
 */
export class DataLosses implements Excuse {
  readonly name = "believed after a loss of data";
  readonly again = "token again: believed after a loss of data";
  readonly #time: VirtualTime;
  readonly #lossesUs: { readonly atUs: number; readonly forgets: boolean }[] = [];

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** It happens now. @param forgets whether more is lost than time */
  lost(forgets: boolean): void {
    this.#lossesUs.push({ atUs: this.#time.nowUs, forgets });
  }

  /** Whether a server has lost data, or time, since then. */
  since(sinceUs: number): boolean {
    return this.#lossesUs.some(({ atUs }) => atUs >= sinceUs);
  }

  excuses(_: string, one: Entered, other: Entered): boolean {
    return this.mayLack(one) || this.mayLack(other);
  }

  /** Whether what its server had of it may have been lost. */
  mayLack({ sinceUs }: Entered): boolean {
    return this.#mayBeGivenAway(sinceUs);
  }

  /** Tokens grow for as long as the server keeps its data, except for who hears of one late that was given away meanwhile. */
  mayRepeat(_: string, drawn: Entered, again: Entered): boolean {
    const isForgotten = this.#lossesUs.some(({ atUs, forgets }) => forgets && drawn.startUs <= atUs);
    return isForgotten || this.#mayBeGivenAway(again.startUs);
  }

  #mayBeGivenAway(startUs: number): boolean {
    return this.#lossesUs.some(({ atUs }) => startUs <= atUs && this.#time.nowUs <= atUs + LONGEST_TRUST_US);
  }
}
