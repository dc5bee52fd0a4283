import { believedMs } from "../../../src/lease.js";
import type { Rule, Violation } from "../outcome.js";
import type { SimProcess } from "../world/sim-process.js";
import type { VirtualTime } from "../world/virtual-time.js";
import { Calls } from "./calls.js";
import type { History } from "./history.js";

/** Somebody has something, as far as he knows. */
export interface Belief {
  readonly process: SimProcess;
  /** What the library gave for it. */
  readonly lease: object;
  /** What it excludes others from, with who has it there. */
  readonly parts: readonly Part[];
  readonly kind: string;
  /** When the call began that brought it, in virtual time. */
  readonly startUs: number;
  /** How it is called in the history. */
  readonly label: string;
  /** For how long it is believed yet, where that is not the library's. In milliseconds; 0: it is over. */
  readonly leftMs?: () => number;
}

export interface Part {
  readonly name: string;
  /** Holds that have an owner in common do not exclude each other. */
  readonly owners: readonly string[];
  readonly mode: "exclusive" | "shared";
}

/** A belief, and what has become of it. */
interface Kept extends Belief {
  /** It has ended, and may never come back. */
  isOver: boolean;
}

/** Something that is documented as possible, with the condition under which it is. */
export interface Excuse {
  readonly name: string;
  /** Whether tokens may come again. */
  readonly mayRepeat?: boolean;
  /** Whether two beliefs in one name may overlap for it at this moment. */
  excuses(name: string, one: Belief, other: Belief): boolean;
}

const MOST_VIOLATIONS = 5;

/** Knows what is promised, and sees all that happens. */
export class Checker {
  readonly violations: Violation[] = [];
  readonly exceptions: Record<string, number> = {};
  readonly calls: Calls;
  readonly excuses: Excuse[] = [];
  /** Called when somebody begins or ends to believe something, with all that is believed then. */
  whenChanged: (believed: readonly Belief[]) => void = () => undefined;
  /** How many leases were handed out, or were lost before they could be, by their holder. */
  readonly given: Map<string, number> = new Map();
  readonly #time: VirtualTime;
  readonly #history: History;
  readonly #beliefs = new Set<Kept>();
  readonly #byLease = new Map<object, Kept>();
  readonly #excused = new Set<string>();
  readonly #tokens = new Map<string, bigint>();

  constructor(time: VirtualTime, history: History) {
    this.#time = time;
    this.#history = history;
    this.calls = new Calls(time);
  }

  get hasFailed(): boolean {
    return this.violations.length > 0;
  }

  fail(rule: Rule, text: string): void {
    if (this.violations.length >= MOST_VIOLATIONS) return;
    this.violations.push({ rule, text, atUs: this.#time.nowUs });
    this.#history.add("world", `VIOLATION (${rule}): ${text}`);
  }

  /** Something has happened that is documented as possible. */
  excuse(name: string): void {
    this.exceptions[name] = (this.exceptions[name] ?? 0) + 1;
  }

  /** The library has handed out a lease. */
  entered(belief: Belief, token?: bigint): void {
    const kept: Kept = { ...belief, isOver: false };
    this.#beliefs.add(kept);
    this.#byLease.set(belief.lease, kept);
    const { process, label } = belief;
    this.#history.add(process.name, `believes ${label}, for ${round(this.#leftMs(kept))} ms`);
    for (const { name, owners } of belief.parts) {
      this.calls.changed(name);
      for (const owner of owners) this.gave(owner);
    }
    if (token !== undefined) this.#tokenGrows(belief, token);
    this.look();
  }

  gave(holder: string): void {
    const owner = holder.replace(/:write$/, "");
    this.given.set(owner, (this.given.get(owner) ?? 0) + 1);
  }

  /** Its owner gives it back from this moment on. */
  left(lease: object): void {
    const belief = this.#byLease.get(lease);
    if (belief === undefined) return;
    this.#history.add(belief.process.name, `gives back ${belief.label}`);
    this.#drop(belief);
  }

  /** Whether a lease that was handed out is still believed. */
  believes(lease: object): boolean {
    const belief = this.#byLease.get(lease);
    return belief !== undefined && !belief.isOver && this.#leftMs(belief) > 0;
  }

  /** All that is believed at this moment. */
  get believed(): readonly Belief[] {
    return [...this.#beliefs].filter((belief) => this.#leftMs(belief) > 0);
  }

  /** Looks at all that is believed: no two may exclude each other, and what has ended has done so for good. */
  look(): void {
    if (this.#beliefs.size === 0) return;
    const live: Kept[] = [];
    for (const belief of this.#beliefs) {
      if (belief.process.isDead) {
        this.#drop(belief);
        continue;
      }
      const isLive = this.#leftMs(belief) > 0;
      if (isLive && belief.isOver) this.fail("exclusion", `${belief.label} has ended, and is believed again`);
      if (isLive) live.push(belief);
      else if (!belief.isOver) {
        belief.isOver = true;
        for (const { name } of belief.parts) this.calls.changed(name);
        this.#history.add(belief.process.name, `believes ${belief.label} no more`);
      }
    }
    for (let at = 0; at < live.length; at += 1) {
      for (let other = at + 1; other < live.length; other += 1) this.#compare(live[at], live[other]);
    }
  }

  #compare(one: Kept | undefined, other: Kept | undefined): void {
    if (one === undefined || other === undefined) return;
    for (const part of one.parts) {
      const clash = other.parts.find((its) => excludes(part, its));
      if (clash === undefined) continue;
      const excuse = this.excuses.find((each) => each.excuses(part.name, one, other));
      if (excuse === undefined) {
        this.fail("exclusion", `"${part.name}": ${one.label} and ${other.label} are both believed`);
        return;
      }
      const pair = `${excuse.name} ${one.label} ${other.label}`;
      if (!this.#excused.has(pair)) this.excuse(excuse.name);
      this.#excused.add(pair);
    }
  }

  #drop(belief: Kept): void {
    this.#beliefs.delete(belief);
    this.#byLease.delete(belief.lease);
    for (const { name } of belief.parts) this.calls.changed(name);
    this.whenChanged([...this.#beliefs]);
  }

  /** For how long it would answer that it is held, seen from outside. */
  #leftMs({ lease, process, leftMs }: Belief): number {
    return leftMs?.() ?? believedMs(lease, process.instant);
  }

  #tokenGrows(belief: Belief, token: bigint): void {
    const {
      parts: [part],
      label,
    } = belief;
    const name = part?.name ?? "";
    const last = this.#tokens.get(name);
    const excuse =
      this.excuses.find(({ mayRepeat }) => mayRepeat === true) ??
      this.excuses.find((each) => each.excuses(name, belief, belief));
    if (last !== undefined && token <= last && excuse !== undefined)
      this.excuse(`token again: ${excuse.name}`);
    else if (last !== undefined && token <= last) {
      this.fail("order", `${label} has token ${token}, and ${last} was handed out before`);
    }
    this.#tokens.set(name, token);
  }
}

function excludes(one: Part, other: Part): boolean {
  if (one.name !== other.name || one.owners.some((owner) => other.owners.includes(owner))) return false;
  return one.mode === "exclusive" || other.mode === "exclusive";
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
