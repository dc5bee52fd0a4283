import type { RawReply } from "../../../src/protocol/script-call.js";
import { named, type Values } from "./jvm-calls.js";
import { semaphoreEffect } from "./jvm-channels.js";
import { JvmPermitError } from "./jvm-errors.js";
import { type JvmServices, JvmWait } from "./jvm-services.js";

/** The time when a permit without a lease ends. */
const PERMANENT_MS = 922_337_203_685_477;
/** Bytes up to this one are the same as text. */
const HIGHEST_BYTE = 127;

/** Ids of what was granted, or until when it is certain that a lease ends; nothing when none does. */
type Attempt = { readonly ids: readonly string[] } | { readonly nextEndMs: number | undefined };

/** An RPermitExpirableSemaphore as one thread uses it. Ids have only bytes that are ASCII, as the port carries text. */
export class JvmPermits {
  readonly #services: JvmServices;
  readonly #name: string;
  readonly #threadId: number;

  constructor(services: JvmServices, name: string, threadId: number) {
    this.#services = services;
    this.#name = name;
    this.#threadId = threadId;
  }

  async trySetPermits(permits: number): Promise<boolean> {
    return (await this.#run("semaphore set", { permits })) === 1;
  }

  async setPermits(permits: number): Promise<void> {
    await this.#run("permits set total", { permits });
  }

  async addPermits(permits: number): Promise<void> {
    await this.#run("permits add", { permits });
  }

  /** @returns the ids of the permits */
  async acquire(permits = 1, leaseMs?: number): Promise<readonly string[]> {
    const first = await this.#ask(permits, leaseMs);
    if ("ids" in first) return first.ids;
    const { channels } = this.#services;
    const entry = await channels.subscribeAtAllCosts(this.#channel, semaphoreEffect);
    try {
      for (;;) {
        const attempt = await this.#ask(permits, leaseMs);
        if ("ids" in attempt) return attempt.ids;
        await entry.take(this.#threadId, this.#untilMs(attempt.nextEndMs));
      }
    } finally {
      channels.unsubscribe(this.#channel);
    }
  }

  /** @returns no ids when it was refused */
  async tryAcquire(permits = 1, waitMs = 0, leaseMs?: number): Promise<readonly string[]> {
    const wait = new JvmWait(this.#services.clock, waitMs);
    const first = await this.#ask(permits, leaseMs);
    if ("ids" in first) return first.ids;
    if (wait.leftMs <= 0) return [];
    const { channels } = this.#services;
    const entry = await channels.subscribe(this.#channel, semaphoreEffect, wait.leftMs);
    if (entry === undefined) return [];
    try {
      while (wait.leftMs > 0) {
        const attempt = await this.#ask(permits, leaseMs);
        if ("ids" in attempt) return attempt.ids;
        const untilMs = this.#untilMs(attempt.nextEndMs) ?? wait.leftMs;
        await entry.take(this.#threadId, Math.min(untilMs, wait.leftMs));
      }
      return [];
    } finally {
      channels.unsubscribe(this.#channel);
    }
  }

  /** One id, or several of which either all are released or none. */
  async tryRelease(ids: string | readonly string[]): Promise<boolean> {
    if (typeof ids === "string") return (await this.#run("permit release", { permitId: bytesOf(ids) })) === 1;
    const values = { permits: ids.length, permitId: ids.map(bytesOf) };
    return (await this.#run("permits release", values)) === ids.length;
  }

  /** @throws JvmPermitError when they are not acquired */
  async release(ids: string | readonly string[]): Promise<void> {
    if (!(await this.tryRelease(ids))) throw new JvmPermitError(`${ids} of ${this.#name} is not acquired`);
  }

  async updateLeaseTime(id: string, leaseMs: number): Promise<boolean> {
    const values = { permitId: bytesOf(id), endMs: this.#endMs(leaseMs) };
    return (await this.#run("permit update lease", values)) === 1;
  }

  /** -1 of a permanent one. @throws JvmPermitError when it is not acquired */
  async getLeaseTime(id: string): Promise<number> {
    const leftMs = Number(await this.#run("permit lease", { permitId: bytesOf(id) }));
    if (leftMs === 0) throw new JvmPermitError(`${id} of ${this.#name} is not acquired`);
    return leftMs;
  }

  async availablePermits(): Promise<number> {
    return Number(await this.#run("permits available"));
  }

  async acquiredPermits(): Promise<number> {
    return Number(await this.#run("permits acquired"));
  }

  async getPermits(): Promise<number> {
    return Number(await this.#run("permits total"));
  }

  async delete(): Promise<boolean> {
    return Number(await this.#run("permits delete")) > 0;
  }

  async #ask(permits: number, leaseMs?: number): Promise<Attempt> {
    const ids = Array.from({ length: permits }, () => this.#services.calls.randomId(HIGHEST_BYTE));
    const values = { permits, endMs: this.#endMs(leaseMs), permitId: ids.map(bytesOf) };
    const reply = await this.#run("permits acquire", values);
    if (reply === "OK") return { ids };
    return { nextEndMs: reply === null ? undefined : Number(String(reply).slice(1)) };
  }

  #endMs(leaseMs: number | undefined): number {
    return leaseMs === undefined ? PERMANENT_MS : this.#nowMs + leaseMs;
  }

  #untilMs(endMs: number | undefined): number | undefined {
    return endMs === undefined ? undefined : Math.max(endMs - this.#nowMs, 0);
  }

  get #nowMs(): number {
    return Math.floor(this.#services.clock.wallMs());
  }

  get #channel(): string {
    return named("redisson_sc:{<name>}", this.#name);
  }

  #run(call: string, values: Values = {}): Promise<RawReply> {
    const common = { name: this.#name, nowMs: this.#nowMs, permanent: PERMANENT_MS };
    return this.#services.calls.run(call, { ...common, ...values });
  }
}

/** @throws RangeError for an id that no JVM of the simulator has made: the port would carry other bytes */
function bytesOf(id: string): string {
  const bytes = Buffer.from(id, "hex");
  if (bytes.some((byte) => byte > HIGHEST_BYTE)) throw new RangeError(`the port can not carry the id ${id}`);
  return bytes.toString("latin1");
}
