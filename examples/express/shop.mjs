// @ts-check
import { setTimeout as pause } from "node:timers/promises";

/**
 * Stands for the database and the bank of the examples with a web framework. All processes have the same orders, which are in Redis here
 * so that the example needs nothing else; each step is published, so that play-orders.mjs can look on.
 */
export class Shop {
  #redis;

  /** @param {Pick<import("ioredis").Redis, "incr" | "exists" | "publish" | "multi">} redis */
  constructor(redis) {
    this.#redis = redis;
  }

  /** @param {string} id */
  async isPaid(id) {
    await this.#redis.incr(`shop:${id}:entered`);
    return (await this.#redis.exists(`shop:${id}:paid`)) === 1;
  }

  /** @param {string} id @param {AbortSignal} signal */
  async checkStock(id, signal) {
    await pause(50, undefined, { signal });
    await this.#redis.publish("shop", `${id} is in stock`);
  }

  /**
   * A real bank is also given a key of idempotency, such as the id of the order: where the lock was lost in the middle, it knows whether it
   * has the payment already.
   *
   * @param {string} id its part after the dash says how many milliseconds the bank takes: `lamp-700`
   * @param {AbortSignal} signal
   */
  async pay(id, signal) {
    await pause(Number(id.split("-")[1]), undefined, { signal });
    await this.#redis
      .multi()
      .incr(`shop:${id}:payments`)
      .set(`shop:${id}:paid`, "1")
      .publish("shop", `${id} is paid`)
      .exec();
  }
}
