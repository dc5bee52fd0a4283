import type { ScriptCall } from "../../../src/protocol/script-call.js";
import type { SimServer } from "../world/sim-server.js";
import type { Checker } from "./checker.js";

const TOKEN = /^redisson_lock_token:\{(.+)\}$/;

interface Drawn {
  readonly key: string;
  readonly name: string;
  readonly token: number;
  readonly holders: string;
}

/** A fenced lock draws one token for whoever enters, and none for anybody else: its holder has the newest. */
export class DrawnTokens {
  readonly #checker: Checker;
  #before: readonly Drawn[] = [];

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  starts(server: SimServer, { keys, script }: ScriptCall): void {
    // A look may be at a semaphore.
    const named = script.name.startsWith("lock-inspect") ? [] : keys;
    this.#before = named.flatMap((key) => {
      const [, name] = TOKEN.exec(key) ?? [];
      return name === undefined ? [] : [drawn(server, key, name)];
    });
  }

  ran(server: SimServer, { script }: ScriptCall, by: string): void {
    for (const { key, name, token, holders } of this.#before) {
      const after = drawn(server, key, name);
      const most = token + (holders === after.holders ? 0 : 1);
      if (after.token <= most) continue;
      this.#checker.fail(
        "order",
        `${script.name} of ${by} has drawn token ${after.token} of "${name}" after ${token}, and ${most} was enough`,
      );
    }
  }
}

function drawn(server: SimServer, key: string, name: string): Drawn {
  const token = Number(server.command("GET", key) ?? 0);
  return { key, name, token, holders: JSON.stringify(server.command("HGETALL", name)) };
}
