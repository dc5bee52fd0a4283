import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import { ServerReplyError, type Ticket } from "./driver.js";

/** With the text of the script, or with its SHA-1. */
export type ScriptCommand = "EVAL" | "EVALSHA";

/** What sends scripts to a server. */
export interface ScriptSender {
  /** Rejects as the Redis client does. */
  send(command: ScriptCommand, call: ScriptCall, ticket: Ticket): Promise<RawReply>;
}

/** The arguments of the command. */
export function wordsOf(command: ScriptCommand, { script, keys, args }: ScriptCall): string[] {
  return [command, command === "EVAL" ? script.lua : script.sha1, String(keys.length), ...keys, ...args];
}

/** Which scripts the servers know. The text goes along only the first time. */
export class KnownScripts {
  readonly #toError: (failure: unknown) => unknown;
  /** The SHA-1 of those that went in full to a server since its connection was made. */
  readonly #known = new Map<string, Set<string>>();
  /** The servers that run scripts and have no EVALSHA for this user: each call to them goes in full until their connection is lost. */
  readonly #inFull = new Set<string>();
  #closed = false;

  /** @param toError makes an error of the server of what the Redis client rejects with, where it is one */
  constructor(toError: (failure: unknown) => unknown) {
    this.#toError = toError;
  }

  /**
   * Runs a script. Sends it again with its text, unless the caller has given the call up, after a NOSCRIPT and where EVALSHA is refused: by an
   * ACL, by `rename-command`, by a proxy.
   */
  run(call: ScriptCall, ticket: Ticket, sender: ScriptSender, server = ""): Promise<RawReply> {
    const { sha1 } = call.script;
    const known = this.#known.get(server) ?? new Set();
    this.#known.set(server, known);
    // In full at first, rather than after a NOSCRIPT, when later calls would overtake this one.
    const command = known.has(sha1) && !this.#inFull.has(server) ? "EVALSHA" : "EVAL";
    known.add(sha1);
    return sender.send(command, call, ticket).then(assertRun, (failure: unknown) => {
      const error = this.#toError(failure);
      if (command === "EVAL" || !(error instanceof ServerReplyError)) throw error;
      const isRefused = refusesDigests(error);
      if (isRefused) this.#inFull.add(server);
      if (!(isRefused || error.code === "NOSCRIPT") || ticket.givenUp || this.#closed) throw error;
      return sender.send("EVAL", call, ticket).then(assertRun, (again: unknown) => {
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
    if (server === undefined) {
      this.#known.clear();
      this.#inFull.clear();
    } else {
      this.#known.delete(server);
      this.#inFull.delete(server);
    }
  }
}

/** No script of ours answers with the word that Redis has for a command of a transaction. */
function assertRun(reply: RawReply): RawReply {
  if (reply !== "QUEUED") return reply;
  throw new Error(
    "a MULTI is open on the connection of the Redis client: the script was queued, and runs with EXEC. Give holdfast a client of its own, " +
      "as its duplicate() makes one",
  );
}

/** Whether a server has refused the command, in whatever words, and not something that a script has sent. */
function refusesDigests({ message, fromScript }: ServerReplyError): boolean {
  return !fromScript && /\bevalsha\b/i.test(message);
}
