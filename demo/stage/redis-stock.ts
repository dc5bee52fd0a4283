import type { Redis } from "ioredis";
import { stockKey, stockTokenKey } from "../names.js";
import type { Stock } from "../tasks/task.js";

/** Should the demo itself be killed, the key is not for ever. */
const KEPT_FOR_MS = 120_000;

/** What a store does with a fencing token: it keeps the greatest, and refuses smaller ones. */
const WRITE_FENCED = `
  local greatest = tonumber(redis.call("GET", KEYS[2]) or "0")
  if tonumber(ARGV[2]) < greatest then return 0 end
  redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[3])
  redis.call("SET", KEYS[2], ARGV[2], "PX", ARGV[3])
  return 1`;

export class RedisStock implements Stock {
  readonly #redis: Redis;
  readonly #key: string;
  readonly #tokenKey: string;

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#key = stockKey(prefix);
    this.#tokenKey = stockTokenKey(prefix);
  }

  async read(): Promise<number> {
    return Number(await this.#redis.get(this.#key));
  }

  async write(left: number): Promise<void> {
    await this.#redis.set(this.#key, left, "PX", KEPT_FOR_MS);
  }

  async writeFenced(left: number, token: bigint): Promise<boolean> {
    const args = [left, String(token), KEPT_FOR_MS];
    return (await this.#redis.eval(WRITE_FENCED, 2, this.#key, this.#tokenKey, ...args)) === 1;
  }
}
