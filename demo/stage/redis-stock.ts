import type { Redis } from "ioredis";
import { stockKey } from "../names.js";
import type { Stock } from "../tasks/task.js";

/** Should the demo itself be killed, the key is not for ever. */
const KEPT_FOR_MS = 120_000;

export class RedisStock implements Stock {
  readonly #redis: Redis;
  readonly #key: string;

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#key = stockKey(prefix);
  }

  async read(): Promise<number> {
    return Number(await this.#redis.get(this.#key));
  }

  async write(left: number): Promise<void> {
    await this.#redis.set(this.#key, left, "PX", KEPT_FOR_MS);
  }
}
