import { randomUUID } from "node:crypto";
import { redisServer } from "../support/redis-server.mjs";
import { FREE_HASHES, STORE_HASHES } from "./raw-lua.mjs";

/** @import { Library } from "../support/contracts.js" */

/**
 * One call that waits for its group to be answered.
 *
 * @typedef {object} Part
 * @property {string} name
 * @property {string} value
 * @property {() => void} resolve
 * @property {(error: Error) => void} reject
 */

/** As many as holdfast sends together. */
const MOST_PARTS = 100;

/**
 * Sends what is asked for in one turn as one script call, which stores or frees hashes, and does nothing else: what a client that
 * groups its commands can reach at the most.
 *
 * @type {Library}
 */
export const rawGroups = {
  name: "raw-groups",
  role: "raw",
  server: redisServer,
  packages: ["ioredis"],
  claims: { kinds: [], waits: false, renews: false },

  async open({ port }) {
    const { Redis } = await import("ioredis");
    const redis = new Redis({ host: "127.0.0.1", port });
    const storeSha = String(await redis.script("LOAD", STORE_HASHES));
    const freeSha = String(await redis.script("LOAD", FREE_HASHES));
    /** @type {Map<number, Groups>} those who acquire with one lease */
    const stores = new Map();
    const free = new Groups((names, values) => redis.evalsha(freeSha, names.length, ...names, ...values));
    const id = randomUUID();
    let holders = 0;
    return {
      async acquire(name, { ttlMs = 30_000 }) {
        const store =
          stores.get(ttlMs) ??
          new Groups((names, values) => redis.evalsha(storeSha, names.length, ...names, ttlMs, ...values));
        stores.set(ttlMs, store);
        holders += 1;
        const value = `${id}:${holders}`;
        await store.join(name, value);
        return { name, value };
      },
      release: (/** @type {{ name: string, value: string }} */ { name, value }) => free.join(name, value),
    };
  },
};

class Groups {
  #send;
  /** @type {Part[]} */
  #parts = [];

  /** @param {(names: string[], values: string[]) => Promise<unknown>} send resolves with how many had their effect */
  constructor(send) {
    this.#send = send;
  }

  /**
   * @param {string} name
   * @param {string} value
   * @returns {Promise<void>}
   */
  join(name, value) {
    return new Promise((resolve, reject) => {
      if (this.#parts.length === 0) queueMicrotask(() => this.#flush());
      this.#parts.push({ name, value, resolve, reject });
    });
  }

  #flush() {
    const parts = this.#parts;
    this.#parts = [];
    for (let at = 0; at < parts.length; at += MOST_PARTS) {
      void this.#sendTogether(parts.slice(at, at + MOST_PARTS));
    }
  }

  /** @param {readonly Part[]} parts */
  async #sendTogether(parts) {
    const names = parts.map(({ name }) => name);
    const values = parts.map(({ value }) => value);
    try {
      if ((await this.#send(names, values)) !== parts.length) throw new Error("one of a group was not free");
      for (const { resolve } of parts) resolve();
    } catch (error) {
      for (const { reject } of parts) reject(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
