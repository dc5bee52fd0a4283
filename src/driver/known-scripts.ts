import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import { ServerReplyError, type Ticket } from "./driver.js";

/** With the text of the script, or with its SHA-1. */
export type ScriptCommand = "EVAL" | "EVALSHA";

/** What sends scripts to a server. */
export interface ScriptSender {
  /** Rejects as the Redis client does. */
  send(command: ScriptCommand, call: ScriptCall, ticket: Ticket): Promise<RawReply>;
}

/** What is sent, word by word. */
export function wordsOf(command: ScriptCommand, { script, keys, args }: ScriptCall): string[] {
  return [command, command === "EVAL" ? script.lua : script.sha1, String(keys.length), ...keys, ...args];
}

/** Which scripts the servers know. The text goes along only the first time. */
export class KnownScripts {
  readonly #toError: (failure: unknown) => unknown;
  /** The SHA-1 of those that went in full to a server since its connection was made. */
  readonly #known = new Map<string, Set<string>>();
  #closed = false;

  /** @param toError makes an error of the server of what the Redis client rejects with, where it is one */
  constructor(toError: (failure: unknown) => unknown) {
    this.#toError = toError;
  }

  /** Runs a script. After a NOSCRIPT, sends it again with its text, unless the caller has given the call up. */
  run(call: ScriptCall, ticket: Ticket, sender: ScriptSender, server = ""): Promise<RawReply> {
    const { sha1 } = call.script;
    const known = this.#known.get(server) ?? new Set();
    this.#known.set(server, known);
    // In full at first, rather than after a NOSCRIPT, when later calls would overtake this one.
    const command = known.has(sha1) ? "EVALSHA" : "EVAL";
    known.add(sha1);
    return sender.send(command, call, ticket).catch((failure: unknown) => {
      const error = this.#toError(failure);
      const isUnknown = error instanceof ServerReplyError && error.code === "NOSCRIPT";
      if (!isUnknown || command === "EVAL" || ticket.givenUp || this.#closed) throw error;
      return sender.send("EVAL", call, ticket).catch((again: unknown) => {
        throw this.#toError(again);
      });
    });
  }

  /** From now on a NOSCRIPT rejects: nothing is sent again. */
  close(): void {
    this.#closed = true;
  }

  /** The connection to a server was lost, or to any: the next server there need not be the one before. */
  forget(server?: string): void {
    if (server === undefined) this.#known.clear();
    else this.#known.delete(server);
  }
}
