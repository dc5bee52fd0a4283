import { type Clock, systemClock } from "../../clock.js";
import type { ScriptCall } from "../../protocol/script-call.js";
import { DriverClosedError, type ReplicaDemand, type ReplicatedReply, type Ticket } from "../driver.js";
import type { MasterEvents, MasterLink } from "./master-link.js";
import { atServerOf, type Servers } from "./redirects.js";
import { type MasterOptions, ReplicatedCalls } from "./replicated-calls.js";

/** How to reach the masters. */
export interface Masters extends Servers, Omit<MasterOptions, "open"> {
  /** Opens a connection for scripts and for asking what replicas have. */
  reach(master: string, events: MasterEvents): MasterLink;
}

/** A master that was not needed for so long is given up; should it be needed again, it is reached anew. */
const UNUSED_MS = 60_000;

interface Used {
  readonly calls: ReplicatedCalls;
  usedMs: number;
}

/** Runs scripts on the masters of their keys and waits for their replicas, following redirections. */
export class MasterCalls {
  readonly #masters: Masters;
  readonly #clock: Clock;
  readonly #calls = new Map<string, Used>();
  #closed = false;

  constructor(masters: Masters) {
    this.#masters = masters;
    this.#clock = masters.clock ?? systemClock;
  }

  run(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply> {
    return atServerOf(
      this.#masters,
      call.keys[0] ?? "",
      (master, asking) => this.#at(master).run(call, ticket, demand, asking),
      () => ticket.givenUp,
    );
  }

  /** As {@link ReplicatedCalls.move}. */
  move(): void {
    for (const { calls } of this.#calls.values()) calls.move();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#calls.values()].map(({ calls }) => calls.close()));
  }

  #at(master: string): ReplicatedCalls {
    if (this.#closed) throw new DriverClosedError();
    const known = this.#calls.get(master) ?? this.#open(master);
    known.usedMs = this.#clock.monotonicMs();
    return known.calls;
  }

  #open(master: string): Used {
    const masters = this.#masters;
    this.#closeUnused();
    const calls = new ReplicatedCalls({
      open: (events) => masters.reach(master, events),
      toError: masters.toError,
      clock: this.#clock,
      ...(masters.confirm && { confirm: masters.confirm }),
    });
    const opened = { calls, usedMs: 0 };
    this.#calls.set(master, opened);
    return opened;
  }

  /** Where there is a new master, another may be none any more. */
  #closeUnused(): void {
    const sinceMs = this.#clock.monotonicMs() - UNUSED_MS;
    for (const [master, { calls, usedMs }] of this.#calls) {
      if (usedMs >= sinceMs) continue;
      this.#calls.delete(master);
      void calls.close();
    }
  }
}
