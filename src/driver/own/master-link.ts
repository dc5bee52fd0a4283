import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import type { ScriptCommands } from "../known-scripts.js";

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
export class ScriptSender implements ScriptCommands {
  readonly #link: MasterLink;
  /** Whether something was sent since this was last set to false. */
  late = false;
  /** The same for a slot that this master is getting only now. */
  readonly asking: ScriptCommands = {
    eval: (call) => this.#ask(() => this.eval(call)),
    evalsha: (call) => this.#ask(() => this.evalsha(call)),
  };

  constructor(link: MasterLink) {
    this.#link = link;
  }

  eval(call: ScriptCall): Promise<RawReply> {
    return this.#send("EVAL", call.script.lua, call);
  }

  evalsha(call: ScriptCall): Promise<RawReply> {
    return this.#send("EVALSHA", call.script.sha1, call);
  }

  #send(command: string, script: string, { keys, args }: ScriptCall): Promise<RawReply> {
    this.late = true;
    return this.#link.send([command, script, String(keys.length), ...keys, ...args]) as Promise<RawReply>;
  }

  #ask(send: () => Promise<RawReply>): Promise<RawReply> {
    this.#link.send(["ASKING"]).catch(toldByTheScript);
    return send();
  }
}

/** What can not ask is redirected again. */
function toldByTheScript(): void {}
