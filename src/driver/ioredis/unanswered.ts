import { Link, Ring } from "../../linked.js";
import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import type { ScriptCommand } from "../known-scripts.js";
import type { IoredisClient, IoredisCluster } from "./client.js";

/** The scripts under way on a client of the caller's: ioredis never answers some of them. */
export class Unanswered {
  readonly #commands = new Ring<UnansweredCommand>();

  send(
    redis: Pick<IoredisClient | IoredisCluster, "eval" | "evalsha">,
    command: ScriptCommand,
    { script, keys, args }: ScriptCall,
  ): Promise<RawReply> {
    const answer =
      command === "EVAL"
        ? redis.eval(script.lua, keys.length, ...keys, ...args)
        : redis.evalsha(script.sha1, keys.length, ...keys, ...args);
    return this.wait(answer as Promise<RawReply>);
  }

  /** The answer to a command that was sent. */
  wait(answer: Promise<RawReply>): Promise<RawReply> {
    return new Promise((resolve, reject) => {
      const sent = new UnansweredCommand((error) => {
        sent.unlink();
        reject(error);
      });
      this.#commands.add(sent);
      answer.then((reply) => {
        sent.unlink();
        resolve(reply);
      }, sent.fail);
    });
  }

  /** Rejects all scripts under way. A later answer is dropped. */
  reject(error: Error): void {
    for (const command of [...this.#commands]) command.fail(error);
  }
}

class UnansweredCommand extends Link {
  readonly fail: (error: unknown) => void;

  constructor(fail: (error: unknown) => void) {
    super();
    this.fail = fail;
  }
}
