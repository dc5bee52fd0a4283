// @ts-check
import { setTimeout as pause } from "node:timers/promises";

/** Stands for the database and the bank. It is in Redis here so that the example needs nothing else. */
export class Ledger {
  #redis;

  /** @param {import("ioredis").Redis} redis */
  constructor(redis) {
    this.#redis = redis;
  }

  /** @param {string} id */
  async isPaid(id) {
    return (await this.#redis.exists(`ledger:${id}`)) === 1;
  }

  /** @param {string} id its part after the dash says how many milliseconds the bank takes: `lamp-300` @param {AbortSignal} signal */
  async pay(id, signal) {
    await this.#redis.publish("ledger", id);
    await pause(Number(id.split("-")[1]), undefined, { signal });
    await this.#redis.incr(`ledger:${id}`);
  }

  /** How often it was paid. @param {string} id */
  async payments(id) {
    return Number(await this.#redis.get(`ledger:${id}`));
  }
}
