import {
  type ChannelListener,
  type Driver,
  DriverClosedError,
  type DriverTraits,
  ServerReplyError,
  type Ticket,
  type Unsubscribe,
} from "../../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { CommandLink } from "./command-link.js";
import type { MessageLink } from "./message-link.js";

/** `EVALSHA`, and `EVAL` where the server does not know the script. */
export function runOn(link: CommandLink, call: ScriptCall, ticket: Ticket, by: string): Promise<RawReply> {
  return new Promise((answered, reject) => {
    const { keys } = call;
    const withText = () =>
      link.send({ keys, act: (server) => server.run(call, by, true), answered, failed: reject });
    const failed = (error: Error) => {
      const isUnknown = error instanceof ServerReplyError && error.code === "NOSCRIPT";
      if (isUnknown && !ticket.givenUp) withText();
      else reject(error);
    };
    link.send({ keys, act: (server) => server.run(call, by, false), answered, failed });
  });
}

/** The adapter of a run: one connection for commands, and one for messages, to one server. */
export class SimDriver implements Driver {
  readonly traits: DriverTraits;
  readonly commands: CommandLink;
  readonly messages: MessageLink;
  #isClosed = false;

  constructor(server: string, commands: CommandLink, messages: MessageLink) {
    this.traits = { server, topology: "standalone" };
    this.commands = commands;
    this.messages = messages;
  }

  get resets(): number {
    return this.commands.resets;
  }

  get outage(): Error | undefined {
    return this.commands.outage;
  }

  run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    if (this.#isClosed) return Promise.reject(new DriverClosedError());
    const by = this.commands.process.name;
    return runOn(this.commands, call, ticket, by);
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    return this.messages.subscribe(channel, listener);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.messages.end();
    return Promise.resolve();
  }
}
