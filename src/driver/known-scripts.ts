import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import type { Ticket } from "./driver.js";

/** The two ways to run a script, each rejecting as the Redis client does. */
export interface ScriptCommands {
  eval(call: ScriptCall): Promise<RawReply>;
  evalsha(call: ScriptCall): Promise<RawReply>;
}

/** Which scripts the servers know. The text goes along only the first time. */
export class KnownScripts {
  /** The SHA-1 of those that went in full to a place since its connection was made. */
  readonly #known = new Map<string, Set<string>>();
  #closed = false;

  /** Runs a script, once more in full where its server has forgotten it, unless it was given up by then. */
  run(call: ScriptCall, ticket: Ticket, commands: ScriptCommands, place = ""): Promise<RawReply> {
    const known = this.#known.get(place) ?? new Set();
    this.#known.set(place, known);
    // In full at first, rather than after a NOSCRIPT, when later calls would overtake this one.
    if (!known.has(call.script.sha1)) {
      known.add(call.script.sha1);
      return commands.eval(call);
    }
    return commands.evalsha(call).catch((error: unknown) => {
      const unknown = error instanceof Error && error.message.startsWith("NOSCRIPT");
      if (!unknown || ticket.givenUp || this.#closed) throw error;
      return commands.eval(call);
    });
  }

  /** Nothing is sent a second time any more. */
  close(): void {
    this.#closed = true;
  }

  /** The connection to a place was lost, or to any: the next server there need not be the one before. */
  forget(place?: string): void {
    if (place === undefined) this.#known.clear();
    else this.#known.delete(place);
  }
}
