import { type Clock, systemClock } from "../clock.js";
import { ServerReplyError } from "../driver/driver.js";
import type { RawReply, ScriptSource } from "../protocol/script-call.js";
import { bytesOfText, textOfBytes } from "./byte-strings.js";
import { Channels } from "./channels.js";
import { MemoryStore } from "./memory-store.js";
import { Refusals, type RefusedCalls } from "./refusals.js";
import type { Snapshot } from "./snapshot.js";
import { wayTo } from "./way.js";

export interface MemoryServerOptions {
  /** Default: the clock of this process. */
  readonly clock?: Clock;
}

let serversSoFar = 0;

/**
 * A stand-in for a Redis server inside this process: it runs the same Lua scripts on its own keys, which expire on the given clock. No
 * other process sees the keys, so it coordinates only this process. The scripts run in fengari, which must be installed beside holdfast.
 */
export class MemoryServer {
  /** Unique among the memory servers of the process. */
  readonly name: string = `memory:${++serversSoFar}`;
  readonly clock: Clock;
  readonly #channels: Channels;
  readonly #store: MemoryStore;
  readonly #refusals = new Refusals();

  constructor(options: MemoryServerOptions = {}) {
    const { clock = systemClock } = options;
    const channels = new Channels(clock);
    this.clock = clock;
    this.#channels = channels;
    this.#store = new MemoryStore({
      wallMs: () => clock.wallMs(),
      publish: (channel, message) => channels.publish(channel, message),
      listeners: (channel) => channels.count(channel),
      channels: () => channels.names(),
      refusalOf: (command) => this.#refusals.ofCommand(command),
    });
  }

  /**
   * Runs a command at once: to prepare or read keys in a test. Throws `ServerReplyError` when refused.
   * @example const ttlMs = server.command("PTTL", "order:42");
   */
  command(name: string, ...args: readonly (string | number)[]): RawReply {
    return this.#store.command(name, args);
  }

  /**
   * Runs a script at once, as `EVAL` does. Throws `ServerReplyError` when the script ends with an error.
   * @example server.evaluate(script, ["order:42"], ["30000"]);
   */
  evaluate(script: ScriptSource, keys: readonly string[], args: readonly string[]): RawReply {
    const refusal = this.#refusals.ofScript(script.name);
    if (refusal !== undefined) throw new ServerReplyError(refusal);
    return this.#store.evaluate(script, keys, args);
  }

  /**
   * Listens to a channel. Messages arrive in later turns of the event loop, in the order of publishing. Returns a function that
   * unsubscribes: after its call no message arrives, not even one published before.
   * @example const unsubscribe = server.subscribe("news", (message) => log.warn(message));
   */
  subscribe(channel: string, onMessage: (message: string) => void): () => void {
    return this.#channels.subscribe(bytesOfText(channel), (message) => onMessage(textOfBytes(message)));
  }

  /**
   * All stored keys, as plain data for comparisons.
   * @example expect(Object.keys(server.dump())).toEqual(["order:42"]);
   */
  dump(): Snapshot {
    return this.#store.dump();
  }

  /**
   * Deletes all keys. Subscriptions stay.
   * @example server.flush();
   */
  flush(): void {
    this.#store.flush();
  }

  /**
   * With `true`, behaves like a server that has reached its `maxmemory` and may not evict keys; `false` ends this.
   * @example server.full(true);
   */
  full(isFull: boolean): void {
    this.#store.full(isFull);
  }

  /** Whether the server is currently unreachable for drivers. */
  get isAway(): boolean {
    return !wayTo(this).isOpen;
  }

  /**
   * Makes the server unreachable until {@link comeBack}: all connections break, messages are lost, calls fail. A call that was under way
   * may have run. Calls of holdfast are repeated for one `commandTimeoutMs` (default: 3,000 ms), then reject with `UnavailableError`;
   * leases that are not renewed meanwhile are lost when their time is over.
   *
   * The keys stay, and expire with time. `flush()` while it is away makes it come back empty, as after a restart without persistence.
   * `command`, `evaluate` and `dump` of the server itself still work. Calling it twice is safe.
   * @example
   * server.goAway();
   * await clock.advance(30_000);
   * lease.state; // "lost"
   */
  goAway(): void {
    wayTo(this).close();
  }

  /**
   * Makes the server reachable again: drivers reconnect and resubscribe, and calls that are still being repeated succeed. Calling it twice
   * is safe.
   * @example server.comeBack();
   */
  comeBack(): void {
    wayTo(this).open();
  }

  /**
   * From now on, each answer to a driver takes this long. The server runs the call at once; the answer is lost if the server goes away
   * first. With a delay of `commandTimeoutMs` or more, calls reject with `UnavailableError`, `outcomeUnknown: true`.
   *
   * @param delayMs milliseconds on the server's clock, 0 or more; 0 (the default): in a later turn of the event loop
   * @throws TypeError, RangeError
   * @example server.answerAfter(200);
   */
  answerAfter(delayMs: number): void {
    if (typeof delayMs !== "number")
      throw new TypeError(`delayMs must be a number of milliseconds, got ${delayMs}`);
    if (!(delayMs >= 0 && delayMs < Number.POSITIVE_INFINITY))
      throw new RangeError(
        `delayMs must be 0 or more, and finite, got ${delayMs}: to simulate a server that never answers, stop it`,
      );
    wayTo(this).delayMs = delayMs;
  }

  /**
   * From now on the server refuses scripts, or one command that scripts call, with an error: `refuse({ error: "READONLY You can't write
   * against a read only replica." })`, `refuse({ error: "NOPERM no permission", command: "PEXPIRE" })`. Changes that a script made before
   * the refused command stay, as on a real server. With `command`, a script that handles the refusal continues.
   *
   * @returns a function that ends the refusals; calling it twice is safe
   * @throws TypeError for an error that does not begin with a code such as `OOM` or `NOPERM`
   * @example const allow = server.refuse({ error: "OOM command not allowed" });
   */
  refuse(calls: RefusedCalls): () => void {
    return this.#refusals.add(calls);
  }
}
