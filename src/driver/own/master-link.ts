import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import { type ScriptCommand, type ScriptSender, wordsOf } from "../known-scripts.js";

/** A connection of our own to a master. It lives once. */
export interface MasterLink {
  /** Sends a command once connected. Those of one turn travel together, in order. Rejects as the Redis client does. */
  send(command: readonly string[]): Promise<unknown>;
  /** Ends it at once. Resolves in bounded time also when the server is gone. Safe twice. */
  close(): Promise<void>;
}

export interface MasterEvents {
  onEnd(cause: unknown): void;
}

/** Sends scripts on a connection. */
export class LinkScripts implements ScriptSender {
  readonly #link: MasterLink;
  /** Whether something was sent since this was last set to false. */
  late = false;
  /** The same for a slot that this master is getting only now. */
  readonly asking: ScriptSender = {
    send: (command, call) => {
      this.#link.send(["ASKING"]).catch(toldByTheScript);
      return this.send(command, call);
    },
  };

  constructor(link: MasterLink) {
    this.#link = link;
  }

  send(command: ScriptCommand, call: ScriptCall): Promise<RawReply> {
    this.late = true;
    return this.#link.send(wordsOf(command, call)) as Promise<RawReply>;
  }
}

/** What can not ask is redirected again. */
function toldByTheScript(): void {}
