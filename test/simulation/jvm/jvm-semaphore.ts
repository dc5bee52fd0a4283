import type { RawReply } from "../../../src/protocol/script-call.js";
import { named, type Values } from "./jvm-calls.js";
import { semaphoreEffect } from "./jvm-channels.js";
import { type JvmServices, JvmWait } from "./jvm-services.js";

/** An RSemaphore as one thread uses it. Its threads wait for messages only: without one they sleep on. */
export class JvmSemaphore {
  readonly #services: JvmServices;
  readonly #name: string;
  readonly #threadId: number;

  constructor(services: JvmServices, name: string, threadId: number) {
    this.#services = services;
    this.#name = name;
    this.#threadId = threadId;
  }

  async trySetPermits(permits: number, ttlMs?: number): Promise<boolean> {
    const call = ttlMs === undefined ? "semaphore set" : "semaphore set with end";
    return (await this.#run(call, { permits, ...(ttlMs === undefined ? {} : { ttlMs }) })) === 1;
  }

  async acquire(permits = 1): Promise<void> {
    if (await this.#take(permits)) return;
    const { channels } = this.#services;
    const entry = await channels.subscribeAtAllCosts(this.#channel, semaphoreEffect);
    try {
      while (!(await this.#take(permits))) await entry.take(this.#threadId);
    } finally {
      channels.unsubscribe(this.#channel);
    }
  }

  async tryAcquire(permits = 1, waitMs = 0): Promise<boolean> {
    const wait = new JvmWait(this.#services.clock, waitMs);
    if (await this.#take(permits)) return true;
    if (wait.leftMs <= 0) return false;
    const { channels } = this.#services;
    const entry = await channels.subscribe(this.#channel, semaphoreEffect, wait.leftMs);
    if (entry === undefined) return false;
    try {
      while (wait.leftMs > 0) {
        if (await this.#take(permits)) return true;
        await entry.take(this.#threadId, wait.leftMs);
      }
      return false;
    } finally {
      channels.unsubscribe(this.#channel);
    }
  }

  async release(permits = 1): Promise<void> {
    if (permits > 0) await this.#run("semaphore release", { permits });
  }

  async releaseIfExists(permits = 1): Promise<boolean> {
    return permits > 0 && (await this.#run("semaphore release if exists", { permits })) === 1;
  }

  async addPermits(permits: number): Promise<void> {
    await this.#run("semaphore add", { permits });
  }

  async drainPermits(): Promise<number> {
    return Number(await this.#run("semaphore drain"));
  }

  async availablePermits(): Promise<number> {
    return Number(await this.#run("count", {}, true));
  }

  async delete(): Promise<boolean> {
    return (await this.#run("semaphore delete")) === 1;
  }

  async #take(permits: number): Promise<boolean> {
    return permits === 0 || (await this.#run("semaphore acquire", { permits })) === 1;
  }

  get #channel(): string {
    return named("redisson_sc:{<name>}", this.#name);
  }

  #run(call: string, values: Values = {}, repeats = false): Promise<RawReply> {
    return this.#services.calls.run(call, { name: this.#name, ...values }, { repeats });
  }
}
