import { script } from "../../../src/driver/conformance/conformance-case.js";
import { ServerReplyError, type Ticket } from "../../../src/driver/driver.js";
import type { CommandConnection, ConnectionEvents } from "../../../src/driver/own/connection.js";
import { type MasterOptions, ReplicatedCalls } from "../../../src/driver/own/replicated-calls.js";
import type { ScriptCall } from "../../../src/protocol/script-call.js";

/** What a master answers to a command; an error is a refusal, a promise keeps whoever asks waiting. */
export type Answering = (name: string, command: readonly string[]) => unknown;

/** A master that does as the test says, and writes down what it was sent. */
export class ScriptedMaster {
  /** All commands of all connections, each as one text; scripts by their names. */
  readonly log: string[] = [];
  readonly links: ScriptedLink[] = [];
  /** How many replicas it says it has, and how many of them acknowledge. */
  replicas = 1;
  acknowledging: number | undefined;
  /** Answers before the master does; undefined leaves the answer to it. */
  answering: Answering = () => undefined;

  readonly open = (events: ConnectionEvents): CommandConnection => {
    const link = new ScriptedLink(this, events);
    this.links.push(link);
    return link;
  };

  /** The calls that this master runs. */
  calls(options: Pick<MasterOptions, "confirm" | "mayBeReplaced"> = {}): ReplicatedCalls {
    return new ReplicatedCalls({ open: this.open, toError: (error) => error, ...options });
  }

  get link(): ScriptedLink {
    const link = this.links.at(-1);
    if (link === undefined) throw new Error("nobody has connected");
    return link;
  }

  /** What was sent since the last look. */
  sent(): string[] {
    return this.log.splice(0);
  }

  async answer(command: readonly string[]): Promise<unknown> {
    this.log.push(textOf(command));
    const [name = ""] = command;
    const answer = (await this.answering(name, command)) ?? this.#answerOf(name);
    if (answer instanceof Error) throw answer;
    return answer;
  }

  #answerOf(name: string): unknown {
    if (name === "WAIT") return this.acknowledging ?? this.replicas;
    if (name === "INFO") return `# Replication\r\nrole:master\r\nconnected_slaves:${this.replicas}\r\n`;
    return "done";
  }
}

export class ScriptedLink implements CommandConnection {
  readonly #master: ScriptedMaster;
  readonly #events: ConnectionEvents;
  readonly #unanswered = new Set<(error: Error) => void>();
  closed = false;

  constructor(master: ScriptedMaster, events: ConnectionEvents) {
    this.#master = master;
    this.#events = events;
  }

  send(command: readonly string[]): Promise<unknown> {
    if (this.closed) return Promise.reject(new Error("the connection is closed"));
    return new Promise((resolve, reject) => {
      this.#unanswered.add(reject);
      const answer = this.#master.answer(command);
      answer.then(resolve, reject).finally(() => this.#unanswered.delete(reject));
    });
  }

  async close(): Promise<void> {
    this.#end(new Error("the connection was closed"));
  }

  /** The server is gone. */
  break(): void {
    this.#end(new Error("the connection broke"));
  }

  /** As Redis clients do: what is under way is rejected, and the end is told once. */
  #end(cause: Error): void {
    if (this.closed) return;
    this.closed = true;
    for (const reject of this.#unanswered) reject(cause);
    this.#events.onEnd(cause);
  }
}

export function reply(message: string): ServerReplyError {
  return new ServerReplyError(message);
}

/** The names of scripts by their digests. */
const names = new Map<string, string>();

/** A script call; what was sent shows the name of the script and the keys. */
export function callOf(name: string, ...keys: string[]): ScriptCall {
  const source = script(name, `return "${name}"`);
  names.set(source.lua, name).set(source.sha1, name);
  return { script: source, keys, args: [] };
}

export function ticket(): Ticket {
  return { givenUp: false };
}

/** `EVAL a k`, `EVALSHA a`, `WAIT 1 1000`. */
function textOf(command: readonly string[]): string {
  const [name = "", source = "", , ...keys] = command;
  return name.startsWith("EVAL") ? [name, names.get(source), ...keys].join(" ") : command.join(" ");
}
