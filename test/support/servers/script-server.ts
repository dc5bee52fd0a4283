import { setImmediate as turn } from "node:timers/promises";
import { FakeClock, MemoryServer } from "../../../src/memory/index.js";
import type { Script } from "../../../src/protocol/define-script.js";
import type { RawReply } from "../../../src/protocol/script-call.js";

/** An embedded server on which scripts are run one by one, while no time passes but what a test lets pass. */
export class ScriptServer {
  readonly clock: FakeClock = new FakeClock();
  readonly #server = new MemoryServer({ clock: this.clock });
  readonly #messages: string[] = [];

  /** @param channel whose messages are heard */
  constructor(channel: string) {
    this.#server.subscribe(channel, (message) => this.#messages.push(message));
  }

  run<Input, Reply>(script: Script<Input, Reply>, input: Input): Reply {
    const call = script.encode(input);
    return script.decode(this.#server.evaluate(call.script, call.keys, call.args), call.keys.length).reply;
  }

  /** As {@link run}, undecoded. */
  answer<Input>(script: Script<Input, unknown>, input: Input): RawReply {
    const call = script.encode(input);
    return this.#server.evaluate(call.script, call.keys, call.args);
  }

  raw(command: string, ...args: readonly (string | number)[]): RawReply {
    return this.#server.command(command, ...args);
  }

  /** Whether the server is at its `maxmemory`. */
  full(isFull: boolean): void {
    this.#server.full(isFull);
  }

  /** What was published since this was last asked. */
  async heard(): Promise<readonly string[]> {
    await turn();
    await this.clock.advance(0);
    return this.#messages.splice(0);
  }
}
