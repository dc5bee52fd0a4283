import { type ChildProcess, fork } from "node:child_process";
import { real } from "../world/trap.js";
import type { Failure } from "./failure.js";
import type { Order, Report } from "./messages.js";
import { Silence } from "./silence.js";

/** So many seeds are handed out at once, so that no worker waits for the coordinator. */
const HAND = 20;
const FEW = 8;

export interface PlayerEvents {
  readonly reported: (player: Player, report: Report) => void;
  /** Its process is gone, or was ended because it fell silent, before what it had been given was done. */
  readonly lost: (player: Player, loss: Loss) => void;
}

export interface Loss {
  /** What it played when it was lost; undefined: it was shrinking. */
  readonly playing: number | undefined;
  /** What it had found and would have shrunk. */
  readonly unshrunk: readonly Failure[];
  /** What it would have played next. */
  readonly unplayed: readonly number[];
  readonly how: string;
}

/** A schedule leaves nothing behind, and most of what it makes is gone before such a young generation is full. */
const YOUNG_MB = 32;

/** A worker process, with the seeds that it was given and has not finished. */
export class Player {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #seeds: number[] = [];
  readonly #shrinks: Failure[] = [];
  readonly #silence: Silence;
  #isGone = false;

  constructor(name: string, program: string, longestSilenceMs: number, events: PlayerEvents) {
    this.name = name;
    this.#child = fork(program, [], {
      execArgv: [...process.execArgv, "--expose-gc", `--max-semi-space-size=${YOUNG_MB}`],
    });
    this.#silence = new Silence(this.#child.pid);
    this.#silence.broken(real.now());
    this.#child.on("message", (report: Report) => {
      if (this.#isGone) return;
      this.#silence.broken(real.now());
      if ("finished" in report) this.#seeds.splice(this.#seeds.indexOf(report.finished), 1);
      if ("shrunk" in report) this.#shrinks.shift();
      events.reported(this, report);
    });
    this.#child.on("error", (error) => this.#lose(events, `cannot be reached: ${error.message}`));
    this.#child.on("exit", (code, signal) =>
      this.#lose(events, `ended with ${signal ?? `exit code ${code}`}`),
    );
    this.#lookAfter(longestSilenceMs, events);
  }

  get isIdle(): boolean {
    return this.#seeds.length === 0 && this.#shrinks.length === 0;
  }

  /** How many seeds it should be given now. */
  get appetite(): number {
    return this.#isGone || this.#shrinks.length > 0 || this.#seeds.length >= FEW ? 0 : HAND;
  }

  play(first: number, count: number, only: readonly string[] | undefined): void {
    if (this.isIdle) this.#silence.broken(real.now());
    for (let seed = first; seed < first + count; seed += 1) this.#seeds.push(seed);
    this.#tell({ seeds: [first, count], ...(only === undefined ? {} : { only }) });
  }

  shrink(failure: Failure, seconds: number): void {
    this.#shrinks.push(failure);
    this.#tell({ shrink: failure, seconds });
  }

  /** Lets go of it, whatever it does. */
  end(): void {
    this.#isGone = true;
    this.#child.kill("SIGKILL");
  }

  #tell(order: Order): void {
    // What cannot be told to it is noticed when its process is gone.
    this.#child.send(order, () => {});
  }

  #lookAfter(longestSilenceMs: number, events: PlayerEvents): void {
    const timer = real.setInterval(() => {
      if (this.#isGone) real.clearInterval(timer);
      else if (this.#silence.lastsMs(real.now()) > longestSilenceMs && !this.isIdle) {
        this.#lose(events, `finished nothing in ${longestSilenceMs / 1_000} s`);
      }
    }, longestSilenceMs / 20);
    timer.unref();
  }

  #lose(events: PlayerEvents, how: string): void {
    if (this.#isGone) return;
    this.end();
    // Orders are obeyed one after the other, and a player that shrinks is given no seeds: those it has come first.
    const [playing, ...unplayed] = this.#seeds;
    events.lost(this, { playing, unshrunk: this.#shrinks, unplayed, how });
  }
}
