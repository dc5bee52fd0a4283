import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import type { Ticket } from "./driver.js";
import { fromIoredis } from "./ioredis-errors.js";
import { KnownScripts, type ScriptCommands } from "./known-scripts.js";

interface Runner {
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
}

/** Runs scripts on a client of the caller's. */
export class IoredisScripts implements ScriptCommands {
  readonly #redis: Runner;
  readonly #known = new KnownScripts();
  /** What rejects the commands under way, as ioredis leaves some without an answer for ever. */
  readonly #unanswered = new Set<(error: Error) => void>();

  constructor(redis: Runner) {
    this.#redis = redis;
  }

  run(call: ScriptCall, ticket: Ticket, place?: string): Promise<RawReply> {
    return this.#known.run(call, ticket, this, place).catch((error: unknown) => {
      throw fromIoredis(error);
    });
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
    for (const reject of this.#unanswered) reject(error);
    this.#unanswered.clear();
  }

  #answered(answer: Promise<unknown>): Promise<RawReply> {
    return new Promise((resolve, reject) => {
      this.#unanswered.add(reject);
      (answer as Promise<RawReply>).then(
        (reply) => {
          this.#unanswered.delete(reject);
          resolve(reply);
        },
        (error: unknown) => {
          this.#unanswered.delete(reject);
          reject(error);
        },
      );
    });
  }
}
