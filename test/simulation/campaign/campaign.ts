import { real } from "../world/trap.js";
import { type Failure, gist } from "./failure.js";
import type { Report } from "./messages.js";
import type { CampaignOptions } from "./options.js";
import { type Loss, Player } from "./player.js";
import { Tally } from "./tally.js";

/** More than these tell nothing new. */
const MOST_BROKEN = 20;
/** Of each sort of failure the first is shrunk, but of no more sorts than these. */
const MOST_SHRUNK = 5;
const GLANCE_MS = 100;

export interface CampaignEvents {
  readonly played?: (seed: number, digest: string) => void;
  /** A promise was broken in a way that is new, and this is the smallest schedule that does it. */
  readonly found?: (failure: Failure, tries: number) => void;
  readonly glance?: (tally: Tally, elapsedMs: number) => void;
}

export type End = "all were played" | "the time is over" | "interrupted" | "enough promises were broken";

/** Plays many schedules in several processes. */
export class Campaign {
  readonly tally = new Tally();
  readonly #options: CampaignOptions;
  readonly #program: string;
  readonly #events: CampaignEvents;
  readonly #players: Player[] = [];
  /** Seeds of a lost worker. */
  readonly #again: number[] = [];
  readonly #gists = new Set<string>();
  readonly #startMs = real.now();
  #nextSeed: number;
  #end: End | undefined;
  #isOver = false;

  /** @param program what each worker runs: it calls `serve` */
  constructor(options: CampaignOptions, program: string, events: CampaignEvents) {
    this.#options = options;
    this.#program = program;
    this.#events = events;
    this.#nextSeed = options.firstSeed;
  }

  get elapsedMs(): number {
    return real.now() - this.#startMs;
  }

  /** Hands out no more, and waits for nothing. */
  interrupt(): void {
    this.#end = "interrupted";
    this.#isOver = true;
  }

  async play(): Promise<End> {
    const workers = Math.min(this.#options.workers, this.#options.schedules);
    for (let nth = 1; nth <= workers; nth += 1) this.#hire(`worker ${nth}`);
    while (!this.#isOver) {
      await new Promise((resolve) => real.setTimeout(resolve, GLANCE_MS));
      this.#events.glance?.(this.tally, this.elapsedMs);
      if (this.elapsedMs > this.#options.minutes * 60_000) this.#end ??= "the time is over";
      if (this.#end !== undefined && this.#players.every((player) => player.isIdle)) this.#isOver = true;
    }
    for (const player of this.#players) player.end();
    return this.#end ?? "all were played";
  }

  #hire(name: string): void {
    const player = new Player(name, this.#program, this.#options.longestSilenceMs, {
      reported: (from, report) => this.#reported(from, report),
      lost: (from, loss) => this.#lost(from, loss),
    });
    this.#players.push(player);
    this.#feed(player);
  }

  #feed(player: Player): void {
    const appetite = player.appetite;
    if (appetite === 0 || this.#end !== undefined) return;
    const { firstSeed, schedules, only } = this.#options;
    const again = this.#again.shift();
    if (again !== undefined) {
      player.play(again, 1, only);
      return;
    }
    const count = Math.min(appetite, firstSeed + schedules - this.#nextSeed);
    if (count > 0) player.play(this.#nextSeed, count, only);
    else this.#end = "all were played";
    this.#nextSeed += count;
  }

  #reported(player: Player, report: Report): void {
    if ("finished" in report) {
      this.tally.add(report.stats);
      this.#events.played?.(report.finished, report.digest);
      const { failure } = report;
      if (failure !== undefined) {
        this.#broken(failure);
        if (this.#isNew(failure)) player.shrink(failure, this.#options.shrinkSeconds);
      }
    } else if ("shrunk" in report) this.#events.found?.(report.shrunk, report.tries);
    else if ("memory" in report) this.tally.remember(player.name, report.memory);
    this.#feed(player);
  }

  #isNew(failure: Failure): boolean {
    const size = this.#gists.size;
    this.#gists.add(gist(failure));
    return this.#gists.size > size && size < MOST_SHRUNK;
  }

  #lost(player: Player, { playing, unshrunk, unplayed, how }: Loss): void {
    this.#players.splice(this.#players.indexOf(player), 1);
    if (playing !== undefined) {
      this.#broken({ seed: playing, rule: "world", text: `the process that played this schedule ${how}` });
    }
    for (const failure of unshrunk) this.#events.found?.(failure, 0);
    this.#again.push(...unplayed);
    if (this.#again.length > 0 && this.#end === "all were played") this.#end = undefined;
    if (this.#end === undefined) this.#hire(player.name);
  }

  #broken({ seed, rule, text }: Pick<Failure, "seed" | "rule" | "text">): void {
    this.tally.broken.push({ seed, rule, text });
    if (this.tally.broken.length >= MOST_BROKEN) this.#end = "enough promises were broken";
  }
}
