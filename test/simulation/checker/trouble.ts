import type { VirtualTime } from "../world/virtual-time.js";

/** What befell whom, for as long as it may explain an answer. */
interface Woe {
  readonly sort: string;
  /** A process or a server; undefined: everybody. */
  readonly of: string | undefined;
  readonly fromUs: number;
  untilUs: number;
}

/** All that was done to a fleet. */
export class Trouble {
  /** By sort: how many hit something under way. */
  readonly hits: Record<string, number> = {};
  readonly #time: VirtualTime;
  readonly #woes: Woe[] = [];

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** A fault begins. @param lastsUs how long until it is mended */
  begin(sort: string, of: string | undefined, lastsUs: number, hasHit: boolean): void {
    const fromUs = this.#time.nowUs;
    this.#woes.push({ sort, of, fromUs, untilUs: fromUs + lastsUs });
    if (hasHit) this.hits[sort] = (this.hits[sort] ?? 0) + 1;
  }

  /** When the last of all that has begun is mended. */
  get endsUs(): number {
    return this.#woes.reduce((latest, { untilUs }) => Math.max(latest, untilUs), 0);
  }

  /** Whether something has befallen one of these that was not over before `sinceUs`. */
  has(of: string, sinceUs: number, sorts?: readonly string[]): boolean {
    return this.#woes.some(
      (woe) =>
        (woe.of === undefined || woe.of === of) &&
        woe.untilUs >= sinceUs &&
        (sorts === undefined || sorts.includes(woe.sort)),
    );
  }

  /** Whether anything of these sorts was not over before `sinceUs`, whomever it befell. */
  hasSince(sinceUs: number, sorts: readonly string[]): boolean {
    return this.#woes.some(({ sort, untilUs }) => untilUs >= sinceUs && sorts.includes(sort));
  }

  /** Whether anything of these sorts has happened at all. */
  happened(...sorts: readonly string[]): boolean {
    return this.#woes.some(({ sort }) => sorts.includes(sort));
  }
}
