import { type Clock, systemClock } from "../../clock.js";
import type { ScriptCall } from "../../protocol/script-call.js";
import {
  DriverClosedError,
  type PubSubFamily,
  type ReplicaDemand,
  type ReplicatedReply,
  type Ticket,
} from "../driver.js";
import type { CommandConnection, ConnectionEvents } from "./connection.js";
import { type MasterOptions, ReplicatedCalls } from "./replicated-calls.js";
import type { Slots } from "./slots.js";

/** How to reach the masters. */
export interface Masters extends Omit<MasterOptions, "open"> {
  /** The masters of a cluster. If absent, one master has all keys, and its name is "". */
  readonly slots?: Slots;
  /** Opens a connection for scripts and for questions about replicas. */
  open(master: string, family: PubSubFamily, events: ConnectionEvents): CommandConnection;
}

/** A connection to a master is closed after this long without a call. The next call opens it again. */
const UNUSED_MS = 60_000;

interface Used {
  readonly calls: ReplicatedCalls;
  usedMs: number;
}

/** Runs each script on the master of its keys and waits for the master's replicas; follows redirections. */
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
    if (this.#closed) return Promise.reject(new DriverClosedError());
    const run = (master: string, asking: boolean) => this.#at(master).run(call, ticket, demand, asking);
    const { slots } = this.#masters;
    return slots === undefined ? run("", false) : slots.at(call.keys[0] ?? "", run, () => ticket.givenUp);
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
      open: (events) => masters.open(master, "classic", events),
      toError: masters.toError,
      clock: this.#clock,
      ...(masters.confirm && { confirm: masters.confirm }),
      ...(masters.mayBeReplaced && { mayBeReplaced: masters.mayBeReplaced }),
    });
    const opened = { calls, usedMs: 0 };
    this.#calls.set(master, opened);
    return opened;
  }

  /** Called when another master is reached: the master that it replaced gets no more calls. */
  #closeUnused(): void {
    const sinceMs = this.#clock.monotonicMs() - UNUSED_MS;
    for (const [master, { calls, usedMs }] of this.#calls) {
      if (usedMs >= sinceMs) continue;
      this.#calls.delete(master);
      void calls.close();
    }
  }
}
