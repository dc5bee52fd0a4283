import { Link, Ring } from "../../linked.js";
import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import type { Ticket } from "../driver.js";
import { KnownScripts, type ScriptCommands } from "../known-scripts.js";
import { fromIoredis } from "./errors.js";

interface Runner {
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
}

/** Runs scripts on a client of the caller's. */
export class IoredisScripts implements ScriptCommands {
  readonly #redis: Runner;
  readonly #known = new KnownScripts();
  /** The commands under way: ioredis leaves some without an answer for ever. */
  readonly #unanswered = new Ring<Unanswered>();

  constructor(redis: Runner) {
    this.#redis = redis;
  }

  run(call: ScriptCall, ticket: Ticket, place?: string): Promise<RawReply> {
    return this.#known.run(call, ticket, this, place);
  }

  eval({ script, keys, args }: ScriptCall): Promise<RawReply> {
    return this.#answered(this.#redis.eval(script.lua, keys.length, ...keys, ...args));
  }

  evalsha({ script, keys, args }: ScriptCall): Promise<RawReply> {
    return this.#answered(this.#redis.evalsha(script.sha1, keys.length, ...keys, ...args));
  }

  /** As {@link KnownScripts.forget}. */
  forget(place?: string): void {
    this.#known.forget(place);
  }

  /** What is under way is answered, but sent no second time. */
  close(): void {
    this.#known.close();
  }

  rejectUnanswered(error: Error): void {
    for (const command of [...this.#unanswered]) command.fail(error);
  }

  #answered(answer: Promise<unknown>): Promise<RawReply> {
    return new Promise((resolve, reject) => {
      const command = new Unanswered((error) => {
        command.unlink();
        reject(fromIoredis(error));
      });
      this.#unanswered.add(command);
      answer.then((reply) => {
        command.unlink();
        resolve(reply as RawReply);
      }, command.fail);
    });
  }
}

class Unanswered extends Link {
  readonly fail: (error: unknown) => void;

  constructor(fail: (error: unknown) => void) {
    super();
    this.fail = fail;
  }
}
