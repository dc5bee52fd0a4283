import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import type { Ticket } from "./driver.js";

/** The two ways to run a script, each rejecting as the Redis client does. */
export interface ScriptCommands {
  eval(call: ScriptCall): Promise<RawReply>;
  evalsha(call: ScriptCall): Promise<RawReply>;
}

/** Which scripts the servers know. The text goes along only the first time. */
export class KnownScripts {
  /** Those that went in full to a place since its connection was made, by place and SHA-1. */
  readonly #known = new Set<string>();
  #closed = false;

  /** Runs a script, once more in full where its server has forgotten it, unless it was given up by then. */
  async run(call: ScriptCall, ticket: Ticket, commands: ScriptCommands, place = ""): Promise<RawReply> {
    const name = `${place} ${call.script.sha1}`;
    // In full at first, rather than after a NOSCRIPT, when later calls would overtake this one.
    if (!this.#known.has(name)) {
      this.#known.add(name);
      return commands.eval(call);
    }
    try {
      return await commands.evalsha(call);
    } catch (error) {
      const unknown = error instanceof Error && error.message.startsWith("NOSCRIPT");
      if (!unknown || ticket.givenUp || this.#closed) throw error;
      return commands.eval(call);
    }
  }

  /** Nothing is sent a second time any more. */
  close(): void {
    this.#closed = true;
  }

  /** A connection was lost: the next server need not be the one before. */
  forget(): void {
    this.#known.clear();
  }
}
