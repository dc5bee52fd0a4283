import type { LockOptions } from "../../../src/options.js";
import type { Asked } from "../workload/caller.js";
import type { Member } from "../workload/member.js";
import type { ClientPlan } from "../workload/plan.js";
import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Checker, Entered } from "./checker.js";
import { clientOf, isChosen } from "./fields.js";
import type { Keyspace } from "./keyspace.js";

const US = 1_000;
/** A TTL is told in whole milliseconds, and a hold is told to end at such. */
const GRAIN_MS = 3;
/** Between an answer and the lease that is made of it there is no time, but the clock of a process may be fast. */
const FAST = 1.002;

/** What a lease was asked for. */
interface Term {
  /** The longest TTL that one of its commands may write, in milliseconds. */
  longestMs: number;
  /** How long after it was handed out it is over, in milliseconds; Infinity: it is renewed, or was set anew. */
  lastsMs: number;
  /** Whether nothing prolongs it: neither the watchdog nor its program. */
  isFixed: boolean;
  readonly commandTimeoutMs: number;
}

/** What a server may keep under a field. */
interface Bound {
  readonly longestMs: number;
  readonly untilUs: number;
}

/** What is held of one of the locks of a red lease. */
interface RedPart {
  readonly hold: {
    readonly stay: { readonly field: string };
    believedMs(at: { readonly monotonicMs: number; readonly wallMs: number }): number;
  };
}

/**
 * Each lock of a red lease is kept, and believed, for no longer than the lease was asked for, whenever it was taken: members that were
 * missing are taken in the background, while the lease goes on.
 */
export class RedTerms {
  readonly #time: VirtualTime;
  readonly #checker: Checker;
  readonly #keyspace: Keyspace;
  readonly #terms = new WeakMap<object, Term>();
  /** By field: what all leases of its thread have asked for. */
  readonly #bounds = new Map<string, Bound>();
  /** By client and name: the longest that a call within another hold has asked for, whatever became of it. */
  readonly #withinMs = new Map<string, number>();
  /** By client: all clients of its process, one for each server. */
  readonly #companions = new Map<string, readonly string[]>();

  constructor(time: VirtualTime, checker: Checker, keyspace: Keyspace) {
    this.#time = time;
    this.#checker = checker;
    this.#keyspace = keyspace;
  }

  /** A call is about to be made: one within a hold has the same fields, and may prolong them before it is given its lease. */
  asks({ names, around = [], ...asked }: Asked, { clients, plan }: Member): void {
    if (around.length === 0) return;
    // Once it is given back, the holds around it have the field for as long as they have asked.
    const longestMs = Math.max(...[asked, ...around].map((each) => longestOf(each, plan)));
    const ids = clients.map(({ clientId }) => clientId);
    for (const id of ids) this.#companions.set(id, ids);
    for (const name of names) for (const id of ids) this.#within(`${id} ${name}`, longestMs);
  }

  #within(within: string, longestMs: number): void {
    this.#withinMs.set(within, Math.max(longestMs, this.#withinMs.get(within) ?? 0));
  }

  /** A lease is about to be handed out. */
  began(lease: object, options: LockOptions, plan: ClientPlan): void {
    const longestMs = longestOf(options, plan);
    const lastsMs = options.leaseMs ?? options.maxHoldMs ?? Number.POSITIVE_INFINITY;
    const { commandTimeoutMs } = plan.options;
    const isFixed = options.leaseMs !== undefined;
    this.#terms.set(lease, { longestMs, lastsMs, isFixed, commandTimeoutMs });
  }

  /** A lease is about to be set anew. */
  extends(lease: object, leaseMs: number): void {
    const term = this.#terms.get(lease);
    if (term === undefined) return;
    term.longestMs = Math.max(term.longestMs, leaseMs);
    term.lastsMs = Number.POSITIVE_INFINITY;
    term.isFixed = false;
    // It may be given back before the next look, and its command is carried out later.
    const belief = this.#checker.believed.find((each) => each.lease === lease);
    if (belief === undefined) return;
    this.#bindAll(belief, term);
    // A missing lock is taken again for the hold around it first: what is asked for there next is of a field that this lease does not know yet.
    for (const { name, owners } of belief.parts) {
      for (const id of owners.flatMap((owner) => this.#companions.get(clientOf(owner)) ?? [])) {
        if (this.#withinMs.has(`${id} ${name}`)) this.#within(`${id} ${name}`, leaseMs);
      }
    }
  }

  look(servers: readonly SimServer[]): void {
    const beliefs = this.#checker.believed.filter(({ kind }) => kind === "red");
    for (const belief of beliefs) {
      const term = this.#terms.get(belief.lease);
      if (term === undefined) continue;
      for (const part of partsOf(belief.lease)) this.#isBelieved(belief, term, part);
      this.#bindAll(belief, term);
    }
    for (const { parts } of beliefs) {
      const [{ name } = { name: "" }] = parts;
      for (const server of servers) this.#isKept(server, name);
    }
  }

  #isBelieved({ enteredUs, process, label }: Entered, { lastsMs }: Term, { hold }: RedPart): void {
    if (lastsMs === Number.POSITIVE_INFINITY) return;
    const overMs = hold.believedMs(process.instant) - this.#leftMs(enteredUs, lastsMs * FAST);
    if (overMs <= GRAIN_MS) return;
    const text = `${hold.stay.field} of ${label} is believed for ${Math.round(overMs)} ms longer than was asked for`;
    this.#checker.fail("exclusion", text);
  }

  /** The time of its machine counts, which may have slept: then it is over sooner. */
  #leftMs(enteredUs: number, lastsMs: number): number {
    return Math.max(0, lastsMs - (this.#time.nowUs - enteredUs) / US);
  }

  #bindAll(belief: Entered, term: Term): void {
    for (const field of belief.parts[0]?.owners ?? []) this.#bind(field, belief, term);
  }

  #bind(field: string, { enteredUs }: Entered, term: Term): void {
    const { longestMs, lastsMs, isFixed, commandTimeoutMs } = term;
    const bound = this.#bounds.get(field) ?? { longestMs: 0, untilUs: 0 };
    // A command may be under way for so long before it is carried out. One that renews may be carried out at any time.
    const untilUs = isFixed ? enteredUs + (lastsMs + commandTimeoutMs) * US : Number.POSITIVE_INFINITY;
    this.#bounds.set(field, {
      longestMs: Math.max(longestMs, bound.longestMs),
      untilUs: Math.max(untilUs, bound.untilUs),
    });
  }

  /** A field that is of no lease yet, and one that several threads share, may be there for as long as another call has asked. */
  #isKept(server: SimServer, name: string): void {
    const { nowUs } = this.#time;
    const { fields, endsUs } = this.#keyspace.latest(server, name);
    const bounds = [...fields.keys()].map((field) => (isChosen(field) ? undefined : this.#bounds.get(field)));
    const mostUs = bounds.map((bound) => bound && Math.min(nowUs + bound.longestMs * US, bound.untilUs));
    const known = mostUs.filter((us) => us !== undefined);
    if (known.length === 0 || known.length < mostUs.length) return;
    const withinMs = [...fields.keys()].map((field) => this.#withinMs.get(`${clientOf(field)} ${name}`) ?? 0);
    const overMs = (endsUs - Math.max(...known, nowUs + Math.max(...withinMs) * US)) / US;
    if (overMs <= GRAIN_MS) return;
    const who = [...fields.keys()].join(", ");
    const text = `"${name}" is kept for ${who} on ${server.name} for ${Math.round(overMs)} ms longer than was asked for`;
    this.#checker.fail("leftovers", text);
  }
}

function longestOf({ leaseMs, watchdogMs }: LockOptions, plan: ClientPlan): number {
  return leaseMs ?? watchdogMs ?? plan.options.watchdogMs;
}

function partsOf(lease: object): readonly RedPart[] {
  return (lease as { readonly believed: { readonly members: readonly RedPart[] } }).believed.members;
}
