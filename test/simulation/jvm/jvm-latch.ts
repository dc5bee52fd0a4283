import type { RawReply } from "../../../src/protocol/script-call.js";
import { named, type Values } from "./jvm-calls.js";
import { latchEffect } from "./jvm-channels.js";
import { type JvmServices, JvmWait } from "./jvm-services.js";

/** An RCountDownLatch as one thread uses it. Its threads wait for a message only. */
export class JvmLatch {
  readonly #services: JvmServices;
  readonly #name: string;
  readonly #threadId: number;

  constructor(services: JvmServices, name: string, threadId: number) {
    this.#services = services;
    this.#name = name;
    this.#threadId = threadId;
  }

  async trySetCount(count: number): Promise<boolean> {
    return (await this.#run("latch set", { count })) === 1;
  }

  async countDown(): Promise<void> {
    await this.#run("latch count down");
  }

  async getCount(): Promise<number> {
    return Number(await this.#run("count", {}, true));
  }

  /** @returns whether it was open within the time; there is no limit without one */
  async await(waitMs?: number): Promise<boolean> {
    const wait = waitMs === undefined ? undefined : new JvmWait(this.#services.clock, waitMs);
    if ((await this.getCount()) === 0) return true;
    const { channels } = this.#services;
    const entry =
      wait === undefined
        ? await channels.subscribeAtAllCosts(this.#channel, latchEffect)
        : await channels.subscribe(this.#channel, latchEffect, wait.leftMs);
    if (entry === undefined) return false;
    try {
      while ((await this.getCount()) > 0) {
        if (wait !== undefined && wait.leftMs <= 0) return false;
        await entry.pass(this.#threadId, wait?.leftMs);
      }
      return true;
    } finally {
      channels.unsubscribe(this.#channel);
    }
  }

  async delete(): Promise<boolean> {
    return (await this.#run("latch delete")) === 1;
  }

  get #channel(): string {
    return named("redisson_countdownlatch__channel__{<name>}", this.#name);
  }

  #run(call: string, values: Values = {}, repeats = false): Promise<RawReply> {
    return this.#services.calls.run(call, { name: this.#name, ...values }, { repeats });
  }
}
