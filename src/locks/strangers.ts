import type { Client } from "../client.js";
import type { Stay } from "../threads/stay.js";
import { Thread } from "../threads/thread.js";

/** The threads of one attempt at several locks, if the scopes around the caller give none: one thread for all locks of a client. */
export class Strangers {
  readonly #threads = new Map<Client, Thread<Stay>>();

  to(client: Client): Thread<Stay> {
    const thread = this.#threads.get(client) ?? new Thread();
    this.#threads.set(client, thread);
    return thread;
  }
}
