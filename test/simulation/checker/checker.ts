import { believedMs } from "../../../src/lease.js";
import type { Rule, Violation } from "../outcome.js";
import type { SimProcess } from "../world/sim-process.js";
import type { VirtualTime } from "../world/virtual-time.js";
import { Calls } from "./calls.js";
import type { ExceptionName, Overlap, TokenAgain } from "./exceptions.js";
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
  /** Nobody renews it. */
  readonly isFixed?: boolean | undefined;
  /** Nobody has it: its lock is kept after its release. */
  readonly isKept?: boolean;
  /** On its process' monotonic clock: by then it is over, however it is renewed. */
  readonly latestMs?: number | undefined;
  /** For how long it is believed yet, where that is not the library's. In milliseconds; 0: it is over. */
  readonly leftMs?: () => number;
}

export interface Part {
  readonly name: string;
  /** Holds that have an owner in common do not exclude each other. */
  readonly owners: readonly string[];
  readonly mode: "exclusive" | "shared";
}

/** A belief since it was handed out. */
export interface Entered extends Belief {
  readonly enteredUs: number;
  /** When the call began that brought it; of one that was handed on inside its client, the first one's call. */
  readonly sinceUs: number;
}

/** A belief, and what has become of it. */
interface Kept extends Entered {
  /** When it has ended; undefined: it has not. */
  overUs: number | undefined;
}

/** Something that is documented as possible, with the condition under which it is. */
export interface Excuse {
  readonly name: Overlap;
  /** How it is called that a token comes again for it. */
  readonly again?: TokenAgain;
  /**
   * Whether a token, or one that is smaller, may come again after it was drawn for something.
   * @param again what it comes for
   */
  mayRepeat?(name: string, drawn: Entered, again: Entered): boolean;
  /** Whether two beliefs in one name may overlap for it at this moment. */
  excuses(name: string, one: Entered, other: Entered): boolean;
}

const MOST_VIOLATIONS = 5;
/** By which two readings of one moment may differ. */
const GRAIN_MS = 0.01;

/** A lease that was over by itself. */
interface Lapse {
  readonly lease: object;
  readonly atUs: number;
  /** Whether it has not been given back. */
  readonly isLeft: boolean;
}

/** Knows what is promised, and sees all that happens. */
export class Checker {
  readonly violations: Violation[] = [];
  readonly exceptions: Partial<Record<ExceptionName, number>> = {};
  readonly calls: Calls;
  readonly excuses: Excuse[] = [];
  /** Called when somebody begins or ends to believe something, with all that is believed then. */
  whenChanged: (believed: readonly Belief[]) => void = () => undefined;
  /** How many leases were handed out, or were lost before they could be, by their holder. */
  readonly given: Map<string, number> = new Map();
  /** Who has dropped a lease of which name without giving it back: `<process> <name>`. */
  readonly forgotten: Set<string> = new Set();
  readonly #time: VirtualTime;
  readonly #history: History;
  readonly #beliefs = new Set<Kept>();
  readonly #byLease = new Map<object, Kept>();
  readonly #excused = new Set<string>();
  readonly #tokens = new Map<string, { readonly token: bigint; readonly drawn: Entered }>();
  /** When the call began that brought the first lease of each holder. */
  readonly #startUs = new Map<string, number>();
  /** Of which kind the first lease of each holder was. */
  readonly #kinds = new Map<string, string>();
  /** For how long the lease of each holder was believed, in milliseconds, when it was handed out: the shortest of those within each other. */
  readonly #firstMs = new Map<string, number>();
  /** The leases of each name that were over before they were given back. */
  readonly #lapsed = new Map<string, readonly Lapse[]>();
  /** When what nobody shares was last given back, by name. */
  readonly #sharedUs = new Map<string, number>();
  /** What was last given back, by process and name. */
  readonly #givenBack = new Map<string, { readonly atUs: number; readonly sinceUs: number }>();

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
  excuse(name: ExceptionName): void {
    this.exceptions[name] = (this.exceptions[name] ?? 0) + 1;
  }

  /** The library has handed out a lease. */
  entered(belief: Belief, token?: bigint): void {
    const sinceUs = Math.min(...belief.parts.map(({ name }) => this.#sinceUs(belief, name)));
    const kept: Kept = { ...belief, enteredUs: this.#time.nowUs, sinceUs, overUs: undefined };
    this.#beliefs.add(kept);
    this.#byLease.set(belief.lease, kept);
    const { process, label } = belief;
    this.#history.add(process.name, `believes ${label}, for ${round(this.leftMs(kept))} ms`);
    for (const { name, owners } of belief.parts) {
      this.calls.changed(name);
      for (const owner of owners) {
        this.gave(owner);
        const hold = `${name} ${owner}`;
        if (!this.#startUs.has(hold)) this.#startUs.set(hold, kept.sinceUs);
        if (!this.#kinds.has(hold)) this.#kinds.set(hold, kept.kind);
        this.#firstMs.set(
          hold,
          Math.min(this.leftMs(kept), this.#firstMs.get(hold) ?? Number.POSITIVE_INFINITY),
        );
      }
    }
    if (token !== undefined) this.#tokenGrows(kept, token);
    this.look();
  }

  /** What is handed on is there at the very moment at which another one gives it back. */
  #sinceUs({ process, startUs }: Belief, name: string): number {
    const given = this.#givenBack.get(`${process.name} ${name}`);
    return given?.atUs === this.#time.nowUs ? Math.min(given.sinceUs, startUs) : startUs;
  }

  gave(holder: string): void {
    const owner = holder.replace(/:write$/, "");
    this.given.set(owner, (this.given.get(owner) ?? 0) + 1);
  }

  /** When the call began that brought the first lease of a lock to a holder; undefined: none was handed out. */
  startOf(name: string, holder: string): number | undefined {
    return this.#startUs.get(`${name} ${holder.replace(/:write$/, "")}`);
  }

  /** Undefined where it has had no lease. */
  kindOf(name: string, holder: string): string | undefined {
    return this.#kinds.get(`${name} ${holder.replace(/:write$/, "")}`);
  }

  /** For how long a lease of a holder was believed when it was handed out, at least. */
  firstMsOf(name: string, holder: string): number {
    return this.#firstMs.get(`${name} ${holder.replace(/:write$/, "")}`) ?? 0;
  }

  /** Its owner gives it back from this moment on. @param byLease whether by itself: then what has outlived it is taken away as well */
  left(lease: object, byLease = true): void {
    const belief = this.#byLease.get(lease);
    if (belief === undefined) return;
    const { process, parts, label, sinceUs } = belief;
    const isOver = this.leftMs(belief) <= 0;
    // Nobody may have looked since it was over.
    if (isOver && (!byLease || belief.overUs === undefined)) this.#hasLapsed(belief);
    for (const { name } of parts) {
      if (isOver && byLease)
        this.#lapsed.set(
          name,
          this.#lapsedOf(name).map((one) => (one.lease === lease ? { ...one, isLeft: false } : one)),
        );
      this.#givenBack.set(`${process.name} ${name}`, { atUs: this.#time.nowUs, sinceUs });
    }
    this.#history.add(process.name, `gives back ${label}`);
    this.#drop(belief);
  }

  /** Whether a lease that was handed out is still believed. */
  believes(lease: object): boolean {
    const belief = this.#byLease.get(lease);
    return belief !== undefined && belief.overUs === undefined && this.leftMs(belief) > 0;
  }

  /** Whether somebody, or a process, has been given something of this name that was not given back, believed or not. */
  isHad(name: string, process?: string): boolean {
    for (const belief of this.#beliefs) {
      if (process !== undefined && belief.process.name !== process) continue;
      if (belief.parts.some((part) => part.name === name)) return true;
    }
    return false;
  }

  /** Since when all who have a lock share it; Infinity: somebody does not, or nobody has it. */
  sharedSinceUs(name: string): number {
    const modes = [...this.#beliefs].flatMap(({ parts }) =>
      parts.flatMap((part) => (part.name === name ? [part.mode] : [])),
    );
    const isShared = modes.length > 0 && modes.every((mode) => mode === "shared");
    return isShared ? (this.#sharedUs.get(name) ?? 0) : Number.POSITIVE_INFINITY;
  }

  /** When a lease of this name was last over by itself and not given back since: what is stored of it falls by its TTL. */
  lapsedUs(name: string): number | undefined {
    return this.#lapsedOf(name).findLast(({ isLeft }) => isLeft)?.atUs;
  }

  /** The same, given back or not: what has fallen before tells nobody that it is free. */
  overUs(name: string): number | undefined {
    return this.#lapsedOf(name).at(-1)?.atUs;
  }

  /** All that is believed at this moment. */
  get believed(): readonly Entered[] {
    return [...this.#beliefs].filter((belief) => this.leftMs(belief) > 0);
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
      const leftMs = this.leftMs(belief);
      const isLive = leftMs > 0;
      this.#keepsTerm(belief, leftMs);
      if (isLive && belief.overUs !== undefined) this.#isBack(belief, belief.overUs);
      if (isLive) live.push(belief);
      else if (belief.overUs === undefined) {
        belief.overUs = this.#time.nowUs;
        for (const { name } of belief.parts) this.calls.changed(name);
        this.#hasLapsed(belief);
        this.#history.add(belief.process.name, `believes ${belief.label} no more`);
      }
    }
    for (let at = 0; at < live.length; at += 1) {
      for (let other = at + 1; other < live.length; other += 1) this.#compare(live[at], live[other]);
    }
  }

  /**
   * What has ended is over for good, once its process has looked. Before that its wall clock may have been set forward and back; and what
   * is believed for as long as it is stored may be stored again.
   */
  #isBack(belief: Kept, overUs: number): void {
    const { process, label, leftMs } = belief;
    if (leftMs === undefined && process.setBackUs < overUs)
      this.fail("exclusion", `${label} has ended, and is believed again`);
    belief.overUs = undefined;
    this.#history.add(process.name, `believes ${label} again`);
  }

  /** `maxHoldMs` ends a hold, however it is renewed. */
  #keepsTerm({ latestMs, process, label }: Kept, leftMs: number): void {
    if (latestMs === undefined || leftMs <= 0) return;
    const overMs = process.instant.monotonicMs + leftMs - latestMs;
    if (overMs <= GRAIN_MS) return;
    this.fail("truth", `${label} is believed for ${round(overMs)} ms longer than its maxHoldMs`);
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

  #hasLapsed({ parts, lease }: Belief): void {
    const lapse = { lease, atUs: this.#time.nowUs, isLeft: true };
    for (const { name } of parts) this.#lapsed.set(name, [...this.#lapsedOf(name), lapse]);
  }

  #lapsedOf(name: string): readonly Lapse[] {
    return this.#lapsed.get(name) ?? [];
  }

  #drop(belief: Kept): void {
    this.#beliefs.delete(belief);
    this.#byLease.delete(belief.lease);
    for (const { name, mode } of belief.parts) {
      this.calls.changed(name);
      // Whoever reads comes in from then on.
      if (mode === "exclusive") this.#sharedUs.set(name, this.#time.nowUs);
    }
    this.whenChanged([...this.#beliefs]);
  }

  /** For how long it would answer that it is held, seen from outside. */
  leftMs({ lease, process, leftMs }: Belief): number {
    return leftMs?.() ?? believedMs(lease, process.instant);
  }

  #tokenGrows(belief: Entered, token: bigint): void {
    const {
      parts: [part],
      label,
    } = belief;
    const name = part?.name ?? "";
    const last = this.#tokens.get(name);
    this.#tokens.set(name, { token, drawn: belief });
    if (last === undefined || token > last.token) return;
    const excuse = this.excuses.find((each) => each.mayRepeat?.(name, last.drawn, belief) === true);
    if (excuse?.again !== undefined) this.excuse(excuse.again);
    else this.fail("order", `${label} has token ${token}, and ${last.token} was handed out before`);
  }
}

function excludes(one: Part, other: Part): boolean {
  if (one.name !== other.name || one.owners.some((owner) => other.owners.includes(owner))) return false;
  return one.mode === "exclusive" || other.mode === "exclusive";
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
