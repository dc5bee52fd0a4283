import type { ScriptCall } from "../protocol/script-call.js";
import {
  DriverClosedError,
  type ReplicaDemand,
  type ReplicatedReply,
  ServerReplyError,
  type Ticket,
} from "./driver.js";
import { type MasterEvents, type MasterLink, ReplicatedCalls } from "./replicated-calls.js";

/** What is known of the masters of a cluster. A master is named by its address, "host:port". */
export interface Masters {
  opening(master: string): (events: MasterEvents) => MasterLink;
  /** The master that has the slot of a key; undefined while none is known. */
  masterOf(key: string): string | undefined;
  /** Asks the cluster anew who has which slot. Never rejects. */
  refresh(): Promise<void>;
  /** Makes an error of the server of what the Redis client rejects with, where it is one. */
  toError(error: unknown): unknown;
}

/** A slot that is being moved redirects once, to a master that knows. */
const MOST_REDIRECTS = 3;

/** Runs scripts on the masters of a cluster and waits for their replicas, following redirections. */
export class ClusterCalls {
  readonly #masters: Masters;
  readonly #calls = new Map<string, ReplicatedCalls>();
  #closed = false;

  constructor(masters: Masters) {
    this.#masters = masters;
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
          // The master may have failed, and another be there by now.
          if (!(error instanceof ServerReplyError)) void this.#masters.refresh();
          throw error;
        }
        if (redirects === MOST_REDIRECTS || ticket.givenUp) throw error;
        asking = code === "ASK";
        const [, , redirectedTo] = message.split(" ");
        master = asking ? redirectedTo : await this.#newMaster(key, master, redirectedTo);
      }
    }
  }

  /** What the client knows after a look goes before the address in the redirection, which it may reach by another one. */
  async #newMaster(key: string, old: string, redirectedTo: string | undefined): Promise<string | undefined> {
    await this.#masters.refresh();
    const known = this.#masters.masterOf(key);
    return known === undefined || known === old ? redirectedTo : known;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#calls.values()].map((calls) => calls.close()));
  }

  #at(master: string): ReplicatedCalls {
    if (this.#closed) throw new DriverClosedError();
    const { opening, toError } = this.#masters;
    const calls = this.#calls.get(master) ?? new ReplicatedCalls({ open: opening(master), toError });
    this.#calls.set(master, calls);
    return calls;
  }
}
