import type { VirtualTime } from "../world/virtual-time.js";

/** What befell whom, for as long as it may explain an answer. */
interface Woe {
  readonly sort: string;
  /** A process or a server; undefined: everybody. */
  readonly of: string | undefined;
  readonly fromUs: number;
  untilUs: number;
}

/** A connection that was cut is there again after so long; a copy of what was sent on it may come later. */
const LONGEST_CUT_US = 2_100_000;

function outageUs({ sort, fromUs, untilUs }: Woe): number {
  return Math.min(untilUs - fromUs, sort === "late copy" ? LONGEST_CUT_US : Number.POSITIVE_INFINITY);
}

/** Who pauses for as long as it has tried in vain, and a little longer, may miss that it could have succeeded in between. */
const SHORTEST_GAP_US = 1_000_000;

/** @param woes in the order in which they began */
function longestSpellUs(woes: readonly Woe[]): number {
  let spell = { fromUs: 0, untilUs: 0 };
  let longestUs = 0;
  for (const woe of woes) {
    const { fromUs } = woe;
    const untilUs = fromUs + outageUs(woe);
    const goesOnUs = 2 * spell.untilUs - spell.fromUs + SHORTEST_GAP_US;
    if (longestUs === 0 || fromUs > goesOnUs) spell = { fromUs, untilUs };
    else spell.untilUs = Math.max(spell.untilUs, untilUs);
    longestUs = Math.max(longestUs, spell.untilUs - spell.fromUs);
  }
  return longestUs;
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

  /** Whether anything was done to anybody. */
  get hasBegun(): boolean {
    return this.#woes.length > 0;
  }

  /** When the last of all that has begun is mended. */
  get endsUs(): number {
    return this.#woes.reduce((latest, { untilUs }) => Math.max(latest, untilUs), 0);
  }

  /**
   * Until when one of these was in trouble, and for how long its longest outage lasted, with the gaps that it may have slept through;
   * undefined: never.
   * @param except sorts that are none to what is asked about
   */
  latestOf(
    of: string,
    except: readonly string[] = [],
  ): { readonly endsUs: number; readonly longestUs: number } | undefined {
    const woes = this.#woes.filter(
      (woe) => (woe.of === undefined || woe.of === of) && !except.includes(woe.sort),
    );
    if (woes.length === 0) return undefined;
    return {
      endsUs: Math.max(...woes.map(({ untilUs }) => untilUs)),
      longestUs: longestSpellUs(woes),
    };
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

  /** Whether all that has happened is of these sorts. */
  isOnly(...sorts: readonly string[]): boolean {
    return this.#woes.every(({ sort }) => sorts.includes(sort));
  }

  /** Whether anything of these sorts has happened at all. */
  happened(...sorts: readonly string[]): boolean {
    return this.#woes.some(({ sort }) => sorts.includes(sort));
  }

  /**
   * Whether these sorts befell one from `fromUs` to `untilUs`, but for gaps that it may have slept through: who tries on pauses
   * for no longer than it has tried already, nor than `longestPauseUs`.
   */
  lasted(
    of: string,
    sorts: readonly string[],
    { fromUs, untilUs, longestPauseUs }: { fromUs: number; untilUs: number; longestPauseUs: number },
  ): boolean {
    let reachedUs = fromUs;
    for (const woe of this.#woes) {
      if ((woe.of !== undefined && woe.of !== of) || !sorts.includes(woe.sort)) continue;
      const gapUs = Math.min(reachedUs - fromUs, longestPauseUs) + SHORTEST_GAP_US;
      if (woe.fromUs > reachedUs + gapUs) break;
      reachedUs = Math.max(reachedUs, woe.fromUs + outageUs(woe));
    }
    return reachedUs >= untilUs;
  }

  /** From when to when a sort of trouble befell anybody. */
  allOf(sort: string): readonly Pick<Woe, "fromUs" | "untilUs">[] {
    return this.#woes.filter((woe) => woe.sort === sort);
  }

  /** From when to when these sorts befell somebody. */
  spellsOf(of: string, sorts: readonly string[]): readonly Pick<Woe, "fromUs" | "untilUs">[] {
    return this.#woes.filter((woe) => woe.of === of && sorts.includes(woe.sort));
  }
}
