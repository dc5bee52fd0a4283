import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import { type ScriptCommand, type ScriptSender, wordsOf } from "../known-scripts.js";
import type { CommandConnection } from "./connection.js";

/** Sends scripts on a connection of our own. */
export class ConnectionScripts implements ScriptSender {
  readonly #connection: CommandConnection;
  /** Whether a script was sent since this was last set to false. */
  late = false;
  /** Sends ASKING before each script, for a slot that this master is still importing. */
  readonly asking: ScriptSender = {
    send: (command, call) => {
      this.#connection.send(["ASKING"]).catch(toldByTheScript);
      return this.send(command, call);
    },
  };

  constructor(connection: CommandConnection) {
    this.#connection = connection;
  }

  send(command: ScriptCommand, call: ScriptCall): Promise<RawReply> {
    this.late = true;
    return this.#connection.send(wordsOf(command, call)) as Promise<RawReply>;
  }
}

/** Ignored: if ASKING fails, the script behind it is redirected once more, and that answer is reported. */
function toldByTheScript(): void {}
