import type { ReplicaOptions } from "../../../src/client-options.js";
import { hashSlot } from "../../../src/protocol/hash-slot.js";
import type { Stream } from "../chooser/chooser.js";
import { pick } from "../draw.js";
import type { ConnectParts } from "./fleet.js";
import type { VirtualTime } from "./virtual-time.js";

/** How one process relies on replicas. */
export interface Reliance {
  readonly replicas: ReplicaOptions;
  /** Whether each server that can be made the master has what it believes in. */
  readonly isSafe: boolean;
  readonly commandTimeoutMs: number;
  /** When it was last told that replicas are short, or did not know of one that had connected since it counted them. */
  shortUs: number;
  /** How many replicas there are. */
  readonly all: number;
  /** When it first counted so many; Infinity: it never did; undefined: it has counted none. */
  allUs?: number;
  /** When it last heard of another master. */
  heardUs: number;
  /** Since when it can send something; Infinity: it can not. */
  connectedUs: () => number;
}

/** When a master was made that may lack something, and until when the one before it could be written to. */
export interface Loss {
  readonly fromUs: number;
  readonly untilUs: number;
  /** Whether the one before it goes on taking writes. */
  readonly goesOn: boolean;
}

/** From when on another server was the master, and until when nobody had heard of that. */
export interface Promotion {
  readonly fromUs: number;
  readonly untilUs: number;
}

/** A slot has come to another master. */
export interface Move {
  readonly slot: number;
  readonly atUs: number;
}

/** What a topology with replicas remembers of its clients, and of what was lost. */
export class Reliances {
  readonly losses: Loss[] = [];
  readonly moves: Move[] = [];
  /** The first of those that Sentinels have named. */
  promotion?: Promotion;
  readonly #time: VirtualTime;
  readonly #byProcess = new Map<string, Reliance>();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** @param all how many replicas a master has */
  plan(stream: Stream, { name, plan }: Pick<ConnectParts, "name" | "plan">, all: number): Reliance {
    const replicas = pick<ReplicaOptions>(stream, [
      { mode: "require", min: all },
      { mode: "auto" },
      { mode: "require", min: all },
      { mode: "auto" },
      { mode: "off" },
      { mode: "require" },
      { mode: "require", min: "majority" },
      { mode: "require", min: "all" },
    ]);
    // Where there is one replica, at least that one is waited for whatever is said.
    const isSafe = replicas.mode === "require" && (all === 1 || replicas.min === all);
    const { commandTimeoutMs } = plan.options;
    const never = Number.NEGATIVE_INFINITY;
    const told = { shortUs: never, heardUs: never, connectedUs: () => never };
    const reliance: Reliance = { replicas, isSafe, commandTimeoutMs, all, ...told };
    this.#byProcess.set(name, reliance);
    return reliance;
  }

  /** A process is told that replicas are short. */
  short(process: string): void {
    const reliance = this.#byProcess.get(process);
    if (reliance !== undefined) reliance.shortUs = this.#time.nowUs;
  }

  /** Whether a process was told so since then. */
  isShort(process: string, sinceUs: number): boolean {
    return (this.#byProcess.get(process)?.shortUs ?? Number.NEGATIVE_INFINITY) >= sinceUs;
  }

  /** A process has asked a master behind Sentinels for its replicas, and heard of so many. */
  counted(process: string, replicas: number): void {
    const reliance = this.#byProcess.get(process);
    if (reliance === undefined || (reliance.allUs ?? NEVER_US) < NEVER_US) return;
    reliance.allUs = replicas >= reliance.all ? this.#time.nowUs : NEVER_US;
  }

  /** A process hears of another master. */
  heard(process: string): void {
    const reliance = this.#byProcess.get(process);
    if (reliance !== undefined) reliance.heardUs = this.#time.nowUs;
  }

  of(process: string): Reliance | undefined {
    return this.#byProcess.get(process);
  }

  /** How often the slot of a name has moved since then. */
  movesOf(name: string, sinceUs: number): readonly Move[] {
    const slot = hashSlot(name);
    return this.moves.filter((move) => move.slot === slot && move.atUs >= sinceUs);
  }

  /** Whether a process may believe, of a name for which it asked then, in something that a new master lacks. */
  isUnsafe(process: string, name: string, sinceUs: number): boolean {
    const reliance = this.#byProcess.get(process);
    if (reliance === undefined) return false;
    // What has moved with its slot is waited for by nobody else.
    if (reliance.replicas.mode === "auto")
      return reliance.shortUs >= sinceUs || this.movesOf(name, sinceUs).length > 0;
    return !reliance.isSafe;
  }

  /** Whether a process that waits for the replicas which there are had never seen all of them then: it misses none of the others. */
  wasNew(process: string, atUs: number): boolean {
    const { replicas, allUs } = this.#byProcess.get(process) ?? {};
    return replicas?.mode === "auto" && allUs !== undefined && atUs <= allUs;
  }

  /** Whether a process that waits for the replicas which there are had seen all of them by then, so that it misses one that is gone. */
  misses(process: string, atUs: number): boolean {
    const { replicas, allUs } = this.#byProcess.get(process) ?? {};
    return replicas?.mode === "auto" && allUs !== undefined && allUs < atUs;
  }

  /**
   * When a process that has heard of the master which was made then has begun to ask it, and has had the time to be answered, pauses
   * between its questions included; undefined: it has not.
   */
  askedUs(process: string, { fromUs }: Loss): number | undefined {
    const { heardUs, connectedUs, commandTimeoutMs } = this.#byProcess.get(process) ?? NOBODY;
    const sinceUs = connectedUs();
    const isAtOnce = sinceUs <= heardUs + AT_ONCE_US;
    const answeredUs = Math.max(heardUs, sinceUs) + commandTimeoutMs * US + (isAtOnce ? 0 : PAUSE_US);
    return heardUs >= fromUs && this.#time.nowUs > answeredUs ? heardUs : undefined;
  }
}

const US = 1_000;
const NEVER_US = Number.POSITIVE_INFINITY;
const NOBODY = { heardUs: Number.NEGATIVE_INFINITY, connectedUs: () => 0, commandTimeoutMs: 0 };
/** Who hears of another master connects to it. */
const AT_ONCE_US = 5 * US;
/** Where there was no connection, the next question comes after a pause. */
const PAUSE_US = 1_000 * US;
