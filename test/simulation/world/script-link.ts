import { ServerReplyError } from "../../../src/driver/driver.js";
import type { CommandConnection, ConnectionEvents } from "../../../src/driver/own/connection.js";
import type { RawReply, ScriptCall, ScriptSource } from "../../../src/protocol/script-call.js";
import { CommandLink } from "./command-link.js";
import type { ConnectParts, Line } from "./fleet.js";
import type { MessageLink } from "./message-link.js";
import type { SimServer } from "./sim-server.js";

/** The scripts that a client has sent, by their text and by their SHA-1. */
export class ScriptBook {
  readonly #scripts = new Map<string, ScriptSource>();

  add({ script }: ScriptCall): void {
    this.#scripts.set(script.sha1, script);
    this.#scripts.set(script.lua, script);
  }

  find(text: string): ScriptSource {
    const script = this.#scripts.get(text);
    if (script === undefined) throw new Error("a script was sent that nobody has asked for");
    return script;
  }
}

interface Options {
  readonly name: string;
  readonly server: SimServer;
  readonly scripts: ScriptBook;
  readonly messages: MessageLink;
  /** What the server does with a script; the plain way is to run it. */
  readonly run?: (server: SimServer, call: ScriptCall, withText: boolean, asking: boolean) => RawReply;
}

/** A connection of a driver's own to one master, on which it asks for replicas. */
export class ScriptLink implements CommandConnection {
  readonly #link: CommandLink;
  readonly #options: Options;
  readonly #by: string;
  /** Of the latest write on this connection. */
  #offset = 0;
  #isAsking = false;

  constructor(parts: ConnectParts, options: Options, events: ConnectionEvents) {
    const { time, chooser, process, watch, lines } = parts;
    const { name, server, messages } = options;
    const { distance } = parts.plan;
    this.#options = options;
    this.#by = process.name;
    const delays = chooser.stream(`${name}.delays`);
    const end = () => {
      lines.splice(lines.indexOf(line), 1);
      events.onEnd(new Error("Connection is closed."));
    };
    const rules = { resends: false, queues: false };
    this.#link = new CommandLink({
      ...{ name, time, process, distance, delays, rules, watch },
      server: () => server,
      ended: end,
    });
    const line: Line = { commands: this.#link, messages, server: () => server };
    lines.push(line);
  }

  send(command: readonly string[]): Promise<unknown> {
    // Of a script; what else there is names no keys.
    const [, , count = "0", ...words] = command;
    const keys = words.slice(0, Number(count));
    return new Promise((answered, failed) => {
      this.#link.send({ keys, act: (server) => this.#act(server, command), answered, failed });
    });
  }

  close(): Promise<void> {
    this.#link.leave(0);
    return Promise.resolve();
  }

  #act(server: SimServer, [name, ...args]: readonly string[]): RawReply | Promise<RawReply> {
    const [first = "", second = ""] = args;
    switch (name) {
      case "EVAL":
      case "EVALSHA":
        return this.#run(server, args, name === "EVAL");
      case "WAIT":
        return server.wait(this.#offset, Number(first), Number(second));
      case "INFO":
        return `role:master\r\nconnected_slaves:${server.replicas.size}\r\n`;
      case "ASKING":
        this.#isAsking = true;
        return "OK";
      default:
        throw new ServerReplyError(`ERR unknown command '${name}'`);
    }
  }

  #run(
    server: SimServer,
    [text = "", count = "0", ...words]: readonly string[],
    withText: boolean,
  ): RawReply {
    const script = this.#options.scripts.find(text);
    const call = { script, keys: words.slice(0, Number(count)), args: words.slice(Number(count)) };
    const before = server.offset;
    const isAsking = this.#isAsking;
    this.#isAsking = false;
    try {
      const { run } = this.#options;
      return run === undefined ? server.run(call, this.#by, withText) : run(server, call, withText, isAsking);
    } finally {
      if (server.offset > before) this.#offset = server.offset;
    }
  }
}
