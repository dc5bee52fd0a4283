import { MemoryStore } from "../../../src/memory/memory-store.js";
import type { Script } from "../../../src/protocol/define-script.js";
import { lockAcquire, lockRelease, lockSucceed } from "../../../src/protocol/lock-scripts.js";
import type { ModelAnswer, ModelCommand, StoredHolds } from "./model-lock-server.js";

const KEY = "lock";
const CHANNEL = "channel";
/** No TTL ends while a sequence is played. */
const LEASE_MS = 1_000_000_000;

/** The real scripts on an embedded server, beside the model of one. */
export class LockScriptsBeside {
  #nowMs = 0;
  readonly #store = new MemoryStore({
    wallMs: () => this.#nowMs,
    publish: () => 0,
    listeners: () => 0,
    channels: () => [],
  });

  /** @returns what the script answers to a command of the model */
  run(command: ModelCommand, notAfterMs: number, nowMs: number): ModelAnswer {
    this.#nowMs = nowMs;
    switch (command.does) {
      case "acquire": {
        const { field: holder, heldCount } = command;
        const rest = { leaseMs: LEASE_MS, kin: "", waits: true, fenced: false, channel: CHANNEL };
        const locks = [{ key: KEY, holder, heldCount, ...rest }];
        return statusOf(this.#ask(lockAcquire, { notAfterMs, locks }));
      }
      case "release": {
        const { fields, heldCount, keptCount } = command;
        const rest = { heldCount, keptCount, ttlMs: LEASE_MS, keptMs: [], channel: CHANNEL };
        const locks = fields.map((holder) => ({ key: KEY, holder, ...rest }));
        return statusOf(this.#ask(lockRelease, { notAfterMs, locks }));
      }
      case "name": {
        const { successor, predecessors } = command;
        return statusOf([
          this.#ask(lockSucceed, { notAfterMs, key: KEY, leaseMs: LEASE_MS, successor, predecessors }),
        ]);
      }
    }
  }

  removeAll(): void {
    this.#store.flush();
  }

  /** @throws Error where the keys are not what the model has */
  compare(fields: StoredHolds): void {
    const flat = this.#store.command("HGETALL", [KEY]) as readonly string[];
    const stored = Array.from({ length: flat.length / 2 }, (_, at) => `${flat[2 * at]}=${flat[2 * at + 1]}`);
    const modelled = [...fields].map(([field, { length }]) => `${field}=${length}`);
    if (stored.sort().join() !== modelled.sort().join()) {
      throw new Error(`Redis has ${stored}, the model ${modelled}`);
    }
  }

  #ask<Input, Reply>(script: Script<Input, Reply>, input: Input): Reply {
    const { script: source, keys, args } = script.encode(input);
    return script.decode(this.#store.evaluate(source, keys, args), keys.length).reply;
  }
}

/** The answer for all locks of a command: what was done for any of them. */
function statusOf(answers: readonly { readonly status: string }[]): ModelAnswer {
  const { status } = answers.find((answer) => answer.status !== "absent") ?? { status: "absent" };
  return status as ModelAnswer;
}
