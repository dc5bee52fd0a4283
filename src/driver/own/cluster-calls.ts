import { type Clock, systemClock } from "../../clock.js";
import type { ScriptCall } from "../../protocol/script-call.js";
import {
  DriverClosedError,
  type ReplicaDemand,
  type ReplicatedReply,
  ServerReplyError,
  type Ticket,
  WaitRefusedError,
} from "../driver.js";
import type { MasterEvents, MasterLink } from "./master-link.js";
import { type Masters, MOST_REDIRECTS, newMaster } from "./masters.js";
import { ReplicatedCalls } from "./replicated-calls.js";

/** How to reach the masters of a cluster. */
export interface ReachableMasters extends Masters {
  opening(master: string): (events: MasterEvents) => MasterLink;
  /** Makes an error of the server of what the Redis client rejects with, where it is one. */
  toError(error: unknown): unknown;
  /** Default: that of the process. */
  readonly clock?: Clock;
}

/** A master that was not needed for so long is given up; should it be needed again, it is reached anew. */
const UNUSED_MS = 60_000;

/** Runs scripts on the masters of a cluster and waits for their replicas, following redirections. */
export class ClusterCalls {
  readonly #masters: ReachableMasters;
  readonly #clock: Clock;
  readonly #calls = new Map<string, { readonly calls: ReplicatedCalls; usedMs: number }>();
  #closed = false;

  constructor(masters: ReachableMasters) {
    this.#masters = masters;
    this.#clock = masters.clock ?? systemClock;
  }

  async run(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply> {
    const [key = ""] = call.keys;
    let master = this.#masters.masterOf(key);
    let asking = false;
    for (let redirects = 0; ; redirects += 1) {
      if (master === undefined) {
        await this.#masters.refresh();
        master = this.#masters.masterOf(key);
      }
      if (master === undefined) throw new Error("no master is known that has the slot of the key");
      try {
        return await this.#at(master).run(call, ticket, demand, asking);
      } catch (error) {
        const { code = "", message = "" } = error instanceof ServerReplyError ? error : {};
        if (code !== "MOVED" && code !== "ASK") {
          // The master may have failed, or be outvoted, and another be there by now.
          const failed = code === "CLUSTERDOWN" || !(error instanceof ServerReplyError);
          if (failed && !(error instanceof WaitRefusedError)) void this.#masters.refresh();
          throw error;
        }
        if (redirects === MOST_REDIRECTS || ticket.givenUp) throw error;
        asking = code === "ASK";
        const [, , redirectedTo] = message.split(" ");
        master = asking ? redirectedTo : await newMaster(this.#masters, key, master, redirectedTo);
      }
    }
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

  #open(master: string): { readonly calls: ReplicatedCalls; usedMs: number } {
    const { opening, toError } = this.#masters;
    const clock = this.#clock;
    this.#closeUnused();
    const opened = { calls: new ReplicatedCalls({ open: opening(master), toError, clock }), usedMs: 0 };
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
