import {
  type AcquireEvent,
  type ContendedEvent,
  events,
  type LeaseAbandonedEvent,
  type LeaseLostEvent,
} from "../../../src/events.js";
import type { Shared } from "../workload/family.js";
import type { Checker } from "./checker.js";
import type { Holders } from "./holders.js";
import type { Losses } from "./losses.js";
import type { Trouble } from "./trouble.js";
import { Waits } from "./waits.js";

/** What the events have told of one holder. */
interface Told {
  readonly name: string;
  acquired: number;
  lost: number;
  abandoned: number;
}

interface Knows {
  readonly checker: Checker;
  readonly losses: Losses;
  readonly holders: Holders;
  readonly trouble: Trouble;
}

/** Somebody who listens to all events of a run, and compares what they tell with what the checker knows. */
export class Listeners {
  readonly #knows: Knows;
  readonly #waits: Waits;
  readonly #told = new Map<string, Told>();
  /** How many calls of each client for each name were cancelled: what their answers bring may be lost before it is given back. */
  readonly #cancelled = new Map<string, number>();
  /** What events have told of failures that nobody sees otherwise. */
  readonly #failures: string[] = [];
  readonly #end: (() => void)[] = [];

  constructor(knows: Knows) {
    this.#knows = knows;
    this.#waits = new Waits(knows.checker);
  }

  begin(): void {
    const nothing = () => undefined;
    this.#listen(events.leaseLost, (event) => this.#onLost(event));
    // What a call that was cancelled gives back was given to nobody, and is told.
    this.#listen(events.release, nothing);
    this.#listen(events.leaseAbandoned, (event) => this.#onAbandoned(event));
    this.#listen(events.contended, (event) => this.#onContended(event));
    this.#listen(events.releaseFailed, nothing);
    this.#listen(events.renewalFailed, () => this.#failures.push("a renewal"));
    this.#listen(events.subscriptionFailed, () => this.#failures.push("a subscription"));
    this.#listen(events.renewalDone, (event) => this.#waits.renewed(event));
    for (const channel of [events.replicasShort, events.forced, events.clientOpen, events.clientClose]) {
      this.#listen(channel, nothing);
    }
    this.#waits.begin();
    this.#end.push(() => this.#waits.end());
    const { acquire } = events;
    const handlers = {
      start: nothing,
      end: nothing,
      asyncStart: nothing,
      asyncEnd: (event: AcquireEvent) => this.#onAcquire(event),
      error: nothing,
    };
    acquire.subscribe(handlers);
    this.#end.push(() => acquire.unsubscribe(handlers));
    const ofOthers = { start: nothing, asyncEnd: nothing };
    for (const channel of [events.command, events.latchAwait]) {
      channel.subscribe(ofOthers);
      this.#end.push(() => channel.unsubscribe(ofOthers));
    }
  }

  /** Channels are those of the whole process. */
  end(): void {
    for (const end of this.#end.splice(0)) end();
  }

  /**
   * Each lease is told once to be had, and once to be lost, so that no more can be told of than were given. A holder that nobody was told
   * of may have lost what it had before its call could give it, and so may one of whose client a call was cancelled besides. Permits have ids,
   * and are not counted.
   */
  compare(shared: readonly Shared[]): void {
    const { checker, trouble } = this.#knows;
    if (this.#failures.length > 0 && !trouble.hasBegun) {
      checker.fail("truth", `${this.#failures[0]} was told to have failed, and nothing has happened`);
    }
    const joint = new Set(shared.filter(({ kind }) => /multi|red/.test(kind)).map(({ name }) => name));
    for (const [owner, { name, ...counts }] of this.#told) {
      const given = checker.given.get(owner) ?? 0;
      if (joint.has(name) || given === 0) continue;
      for (const [what, count] of Object.entries(counts)) {
        const client = owner.slice(0, owner.lastIndexOf(":"));
        const more = what === "lost" ? (this.#cancelled.get(`${client} ${name}`) ?? 0) : 0;
        if (count <= given + more) continue;
        checker.fail("truth", `${count} leases of ${owner} were told to be ${what}, and ${given} were given`);
      }
    }
  }

  #listen<Event>(
    channel: { subscribe(listener: (event: Event) => void): void; unsubscribe(listener: unknown): void },
    listener: (event: Event) => void,
  ): void {
    channel.subscribe(listener);
    this.#end.push(() => channel.unsubscribe(listener));
  }

  #of({ name, holder, kind }: Pick<LeaseAbandonedEvent, "name" | "holder" | "kind">): Told | undefined {
    // A member of a joint lock may be lost before all of them are there: `a` and so on follow its name.
    if (name.includes(".") || /semaphore/.test(kind)) return undefined;
    const owner = holder.replace(/:write$/, "");
    const told = this.#told.get(owner) ?? { name, acquired: 0, abandoned: 0, lost: 0 };
    this.#told.set(owner, told);
    return told;
  }

  #onAcquire(event: AcquireEvent): void {
    this.#waits.ended(event);
    const { name, kind, holder, outcome } = event;
    if (outcome === "cancelled") {
      const call = `${event.clientId} ${name}`;
      this.#cancelled.set(call, (this.#cancelled.get(call) ?? 0) + 1);
    }
    const told = holder === undefined ? undefined : this.#of({ name, kind, holder });
    if (told !== undefined && outcome === "acquired") told.acquired += 1;
  }

  #onAbandoned(event: LeaseAbandonedEvent): void {
    const told = this.#of(event);
    if (told !== undefined) told.abandoned += 1;
  }

  #onLost(event: LeaseLostEvent): void {
    const { name, holder, reason } = event;
    const { checker, losses } = this.#knows;
    if (!name.includes(".") || checker.startOf(name, holder) !== undefined) losses.told(event);
    // What a client holds for a call that its close has cancelled was not given to anybody, and is told all the same.
    const told = reason === "closed" ? undefined : this.#of(event);
    if (told === undefined) return;
    told.lost += 1;
  }

  /** Who is in the way has had the lock. */
  #onContended(event: ContendedEvent): void {
    this.#waits.contended(event);
    const { name, kind, holder, own } = event;
    const { checker, holders } = this.#knows;
    // Of a fair lock and by a writer some are told of that only wait. Behind other calls none may have been seen yet, or one of their own
    // client to which the lock was handed on, so that Redis need not have its field.
    if (holder === "" || own || !holders.knows(name) || /fair|read|write/.test(kind)) return;
    if (holders.endUs(name, holder) !== undefined) return;
    checker.fail("truth", `"${name}" was told to be held by ${holder}, who never had it`);
  }
}
