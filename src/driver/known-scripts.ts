import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import { ServerReplyError, type Ticket } from "./driver.js";

/** EVAL sends the text of the script, EVALSHA its SHA-1. */
export type ScriptCommand = "EVAL" | "EVALSHA";

/** Sends scripts to a server. */
export interface ScriptSender {
  /** Rejects as the Redis client does. */
  send(command: ScriptCommand, call: ScriptCall, ticket: Ticket): Promise<RawReply>;
}

/** The arguments of the command. */
export function wordsOf(command: ScriptCommand, { script, keys, args }: ScriptCall): string[] {
  return [command, command === "EVAL" ? script.lua : script.sha1, String(keys.length), ...keys, ...args];
}

/** Which scripts the servers know. A script's text is sent only the first time. */
export class KnownScripts {
  readonly #toError: (failure: unknown) => unknown;
  /** For each server, the SHA-1 of the scripts whose text was sent since the connection was made. */
  readonly #known = new Map<string, Set<string>>();
  /** The servers that refuse EVALSHA to this user but run EVAL: each call sends the full text until the connection is lost. */
  readonly #inFull = new Set<string>();
  #closed = false;

  /** @param toError turns a rejection of the Redis client into an error of the server, if the server has answered with an error */
  constructor(toError: (failure: unknown) => unknown) {
    this.#toError = toError;
  }

  /**
   * Runs a script. Sends the script again with its text after a NOSCRIPT, or if an ACL, `rename-command` or a proxy refuses EVALSHA. A call
   * that the caller has given up is not sent again.
   */
  run(call: ScriptCall, ticket: Ticket, sender: ScriptSender, server = ""): Promise<RawReply> {
    const { sha1 } = call.script;
    const known = this.#known.get(server) ?? new Set();
    this.#known.set(server, known);
    // The first call sends the full text. EVALSHA could get a NOSCRIPT, and later calls would then overtake this one.
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

  /** From now on a NOSCRIPT rejects the call, and the script is not sent again. */
  close(): void {
    this.#closed = true;
  }

  /** The connection to this server was lost, or all connections if no server is named. The next connection may lead to another server. */
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

/** "QUEUED" is the answer to a command inside MULTI; no script of ours returns it. */
function assertRun(reply: RawReply): RawReply {
  if (reply !== "QUEUED") return reply;
  throw new Error(
    "a MULTI is open on the connection of the Redis client: the script was queued, and runs with EXEC. Give holdfast a client of its own, " +
      "made with duplicate()",
  );
}

/** Whether the server refused EVALSHA itself, in any wording, and not a command that a script sent. */
function refusesDigests({ message, fromScript }: ServerReplyError): boolean {
  return !fromScript && /\bevalsha\b/i.test(message);
}
