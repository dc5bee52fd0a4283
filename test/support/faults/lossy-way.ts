import { beforeEach, expect } from "vitest";
import type { Holdfast } from "../../../src/holdfast.js";
import type { Lease } from "../../../src/lease.js";
import { until } from "../run/until.js";
import { type KeyJournal, keepJournal } from "../servers/key-journal.js";
import { type LocksOnRedis, locksOnRedis } from "../servers/locks-on-redis.js";
import type { ClientOptions } from "../servers/server-clients.js";
import { cutBeforeForward, dropNextReply } from "./proxy-faults.js";
import type { Fault, TcpProxy } from "./tcp-proxy.js";

export const HOUR_MS = 3_600_000;

/** A connection that breaks: the server has done what the lost reply told of, or has never seen the request. */
export interface Loss {
  readonly loss: string;
  fault(on: string): Fault;
}

export const losses: readonly Loss[] = [
  { loss: "the reply is lost", fault: (on) => dropNextReply({ on }) },
  { loss: "the request is lost", fault: (on) => cutBeforeForward({ on }) },
];

/** Closing a client waits for clean-up until no copy of a command can arrive any more. */
const commandTimeoutMs = 2_000;

/** What must hold for each command about a lock whose reply or request is lost. To be made once in a file. */
export class LossyWay {
  readonly redis: LocksOnRedis = locksOnRedis();
  #proxy: TcpProxy | undefined;
  #journal: KeyJournal | undefined;

  constructor() {
    beforeEach(async () => {
      this.#proxy = await this.redis.proxy();
      this.#journal = await keepJournal(this.redis.server);
    });
  }

  get proxy(): TcpProxy {
    if (this.#proxy === undefined) throw new Error("the proxy is opened before each test, not earlier");
    return this.#proxy;
  }

  get journal(): KeyJournal {
    if (this.#journal === undefined) throw new Error("the journal is opened before each test, not earlier");
    return this.#journal;
  }

  behindProxy(connection: ClientOptions = {}): Holdfast {
    return this.redis.holdfast(
      { watchdogMs: 4_500, commandTimeoutMs },
      { port: this.proxy.port, ...connection },
    );
  }

  /** Loses the next command about a lock while the work is under way. */
  async #losing<T>(name: string, { fault }: Loss, work: () => Promise<T>): Promise<T> {
    const { struck } = this.proxy.inject(fault(name));
    const [result] = await Promise.all([work(), struck]);
    return result;
  }

  async #freed(lease: Lease): Promise<void> {
    await lease.unlock();
    expect(await this.redis.plain.exists(lease.name)).toBe(0);
  }

  async acquisitionCountsOnce(holdfast: Holdfast, name: string, loss: Loss): Promise<void> {
    const lease = await this.#losing(name, loss, () => holdfast.getLock(name).lock({ leaseMs: HOUR_MS }));
    expect(await this.redis.plain.hgetall(name)).toEqual({ [lease.holder]: "1" });
    expect(lease.state).toBe("held");
    await this.#freed(lease);
  }

  async entryCountsOnce(holdfast: Holdfast, name: string, loss: Loss): Promise<void> {
    const lock = holdfast.getLock(name);
    const outer = await lock.lock({ leaseMs: HOUR_MS });
    const { threadId } = outer;
    const inner = await this.#losing(name, loss, () => lock.lock({ leaseMs: HOUR_MS, threadId }));
    expect(await this.redis.plain.hgetall(name)).toEqual({ [outer.holder]: "2" });
    await inner.unlock();
    expect(await this.redis.plain.hgetall(name)).toEqual({ [outer.holder]: "1" });
    await this.#freed(outer);
  }

  async releaseIsDoneOnce(holdfast: Holdfast, name: string, loss: Loss): Promise<void> {
    const lease = await holdfast.getLock(name).lock({ leaseMs: HOUR_MS });
    await this.journal.read();
    await this.#losing(name, loss, () => lease.unlock());
    expect(lease.state).toBe("released");
    expect(await this.journal.read()).toEqual([
      `hdel ${name}`,
      `del ${name}`,
      `0 -> redisson_lock__channel:{${name}}`,
    ]);
  }

  async partialReleaseIsDoneOnce(holdfast: Holdfast, name: string, loss: Loss): Promise<void> {
    const lock = holdfast.getLock(name);
    const outer = await lock.lock({ leaseMs: HOUR_MS });
    const inner = await lock.lock({ leaseMs: HOUR_MS, threadId: outer.threadId });
    await this.#losing(name, loss, () => inner.unlock());
    expect(await this.redis.plain.hgetall(name)).toEqual({ [outer.holder]: "1" });
    expect(outer.state).toBe("held");
    await this.#freed(outer);
  }

  async renewalIsMadeUpFor(holdfast: Holdfast, name: string, loss: Loss): Promise<void> {
    const lease = await holdfast.getLock(name).lock();
    const { signal } = lease;
    const fields = await this.redis.plain.hgetall(name);
    await this.journal.read();
    await this.#losing(name, loss, async () => undefined);
    const leftMs = lease.remainingMs();
    await until(() => lease.remainingMs() > leftMs || signal.aborted);
    expect([lease.state, signal.aborted]).toEqual(["held", false]);
    expect(await this.redis.plain.hgetall(name)).toEqual(fields);
    expect(new Set(await this.journal.read())).toEqual(new Set([`expire ${name}`]));
    await this.#freed(lease);
  }
}
