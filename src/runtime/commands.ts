import type { Clock } from "../clock.js";
import { type Driver, DriverClosedError, ServerReplyError, type Ticket } from "../driver/driver.js";
import { ClientClosedError, UnavailableError } from "../errors.js";
import type { Script } from "../protocol/define-script.js";
import { serverProbe } from "../protocol/lock-scripts.js";
import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import type { HashedWheelTimer } from "./hashed-wheel-timer.js";
import { type Instant, now } from "./instant.js";

/** A reply together with what is known about the way it took. */
export interface Exchanged<Reply> {
  readonly reply: Reply;
  /** Just before the command that was answered was sent. */
  readonly sentAt: Instant;
  readonly serverMs: number;
  /** True when the server may have run the command more than once. */
  readonly repeated: boolean;
}

/** For how long an answer is wanted. */
export interface Patience {
  /** Once true, the command is not sent again. */
  readonly cancelled?: boolean;
  /** Default: one command timeout. */
  readonly timeoutMs?: number | undefined;
}

/** Errors of a server that is starting, failing over or busy: soon it may answer. */
const PASSING = new Set([
  "LOADING",
  "TRYAGAIN",
  "CLUSTERDOWN",
  "MASTERDOWN",
  "READONLY",
  "BUSY",
  "NOREPLICAS",
]);
/** The first wait before a command is sent again; each next one is twice as long. */
const FIRST_BACKOFF_MS = 20;
const LONGEST_BACKOFF_MS = 500;
/** Commands that may take longer are timed coarsely. */
const SHORT_BOUND_MS = 1_000;
/** Redis' first version that has all that the scripts use. */
const OLDEST_VERSION = [6, 2] as const;

/**
 * Sends commands, bounds their time, repeats them while nobody knows whether they arrived, and keeps the
 * server's clock in mind. Only commands that may arrive twice may be sent through it.
 */
export class Commands {
  readonly #driver: Driver;
  readonly #clock: Clock;
  readonly #wheel: HashedWheelTimer;
  readonly timeoutMs: number;
  /** Server time minus monotonic time, as of the latest answer; undefined before the first. */
  #serverOffsetMs: number | undefined;
  #latestServerMs = 0;
  #probe: Promise<void> | undefined;
  /** What rejects the commands and pauses under way. */
  readonly #pending = new Set<(error: Error) => void>();
  #onIdle: (() => void) | undefined;
  #stopped = false;

  constructor(driver: Driver, clock: Clock, wheel: HashedWheelTimer, timeoutMs: number) {
    this.#driver = driver;
    this.#clock = clock;
    this.#wheel = wheel;
    this.timeoutMs = timeoutMs;
  }

  get server(): string {
    return this.#driver.traits.server;
  }

  /**
   * Sends a command until it is answered or the time for it is over. The input is made anew for each time, so that its
   * deadline is.
   * @throws UnavailableError when the server refused or did not answer in time; ClientClosedError
   */
  async exchange<Input, Reply>(
    script: Script<Input, Reply>,
    input: () => Input,
    patience: Patience = {},
  ): Promise<Exchanged<Reply>> {
    if (this.#stopped) throw new ClientClosedError();
    const bound = this.#bound(patience.timeoutMs ?? this.timeoutMs);
    let backoffMs = FIRST_BACKOFF_MS;
    for (let sendings = 0; ; ) {
      try {
        if (this.#serverOffsetMs === undefined) await this.#meetServer(bound);
        if (this.#leftMs(bound) <= 0) throw tookTooLong(script, bound);
        sendings += 1;
        const sent = await this.#send(script, input(), bound);
        return sendings > 1 ? { ...sent, repeated: true } : sent;
      } catch (error) {
        const final = this.#finalError(error, sendings);
        if (final !== undefined) throw final;
        if (this.#leftMs(bound) <= backoffMs || patience.cancelled) throw this.#unavailable(error, sendings);
      }
      // Somebody waits for this, and a client that is about to give up does not keep the process alive.
      await this.#pause(backoffMs, true);
      backoffMs = Math.min(2 * backoffMs, LONGEST_BACKOFF_MS);
    }
  }

  /** How often the connection has been lost. */
  get resets(): number {
    return this.#driver.resets;
  }

  get busy(): boolean {
    return this.#pending.size > 0;
  }

  /** Resolves when nothing is under way. For one caller at a time. */
  idle(): Promise<void> {
    if (this.#pending.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /** Ends what is under way with {@link ClientClosedError}, and all that comes. */
  stop(): void {
    this.#stopped = true;
    for (const reject of [...this.#pending]) reject(new ClientClosedError());
  }

  /** The server's clock has surely come so far; 0 before the first answer. */
  get latestServerMs(): number {
    return this.#latestServerMs;
  }

  /** Server time after which a command sent now has surely been given up. Not before the first answer. */
  notAfterMs(): number {
    if (this.#serverOffsetMs === undefined) throw new Error("the server's time is not known yet");
    return Math.ceil(this.#clock.monotonicMs() + this.#serverOffsetMs + this.timeoutMs);
  }

  /** Lets time pass before something is sent again. Does not keep the process alive. @throws ClientClosedError */
  pause(ms: number): Promise<void> {
    return this.#pause(ms, false);
  }

  #pause(ms: number, keepAlive: boolean): Promise<void> {
    if (this.#stopped) return Promise.reject(new ClientClosedError());
    return new Promise((resolve, reject) => {
      const end = () => {
        timer.cancel();
        this.#settled(giveUp);
      };
      const giveUp = (error: Error) => {
        end();
        reject(error);
      };
      const timer = this.#clock.schedule(
        ms,
        () => {
          end();
          resolve();
        },
        keepAlive,
      );
      this.#pending.add(giveUp);
    });
  }

  /**
   * Waits until the server's clock is known, as long as this caller may: one probe serves all who come meanwhile, and has
   * a whole command timeout however short the time of the first of them is.
   */
  #meetServer(bound: Bound): Promise<void> {
    this.#probe ??= this.#askServer().finally(() => {
      this.#probe = undefined;
    });
    const probe = this.#probe;
    return new Promise((resolve, reject) => {
      const timeout = this.#after(this.#leftMs(bound), () => reject(tookTooLong(serverProbe, bound)));
      probe.then(resolve, reject).finally(() => timeout.cancel());
    });
  }

  async #askServer(): Promise<void> {
    const { reply } = await this.#send(serverProbe, undefined, this.#bound(this.timeoutMs));
    const [major = 0, minor = 0] = (reply.version ?? "").split(".").map(Number);
    const [leastMajor, leastMinor] = OLDEST_VERSION;
    if (reply.version !== null && (major < leastMajor || (major === leastMajor && minor < leastMinor))) {
      this.#serverOffsetMs = undefined;
      throw new UnavailableError(this.server, `Redis ${reply.version} is too old, 6.2 is needed`, false);
    }
  }

  /** Sends once. A call without an answer in time is given up; its late answer is nobody's any more. */
  async #send<Input, Reply>(
    script: Script<Input, Reply>,
    input: Input,
    bound: Bound,
  ): Promise<Exchanged<Reply>> {
    if (this.#stopped) throw new ClientClosedError();
    const call = script.encode(input);
    const resets = this.#driver.resets;
    const sentAt = now(this.#clock);
    const raw = await this.#bounded(call, bound);
    const answered = script.decode(raw);
    this.#serverOffsetMs = answered.serverMs - sentAt.monotonicMs;
    this.#latestServerMs = Math.max(this.#latestServerMs, answered.serverMs);
    return { ...answered, sentAt, repeated: this.#driver.resets !== resets };
  }

  #bounded(call: ScriptCall, bound: Bound): Promise<RawReply> {
    const ticket: Ticket = { givenUp: false };
    return new Promise((resolve, reject) => {
      const done = () => {
        timeout.cancel();
        this.#settled(giveUp);
      };
      const giveUp = (error: Error) => {
        done();
        ticket.givenUp = true;
        reject(error);
      };
      const timeout = this.#after(this.#leftMs(bound), () => giveUp(tookTooLong(call.script, bound)));
      this.#pending.add(giveUp);
      this.#driver.run(call, ticket).then(resolve, reject).finally(done);
    });
  }

  /** The wheel is for the many that are far off; its grain is too coarse for a short bound. */
  #after(ms: number, callback: () => void): { cancel(): void } {
    if (ms >= SHORT_BOUND_MS) return this.#wheel.schedule(ms, callback);
    return this.#clock.schedule(Math.max(ms, 0), callback);
  }

  #settled(giveUp: (error: Error) => void): void {
    this.#pending.delete(giveUp);
    if (this.#pending.size === 0) this.#onIdle?.();
  }

  #bound(timeoutMs: number): Bound {
    return { timeoutMs, endMs: this.#clock.monotonicMs() + timeoutMs };
  }

  #leftMs({ endMs }: Bound): number {
    return endMs - this.#clock.monotonicMs();
  }

  /** What to throw at once for an error after which it would be pointless to send again. */
  #finalError(error: unknown, sendings: number): Error | undefined {
    if (error instanceof UnavailableError || error instanceof ClientClosedError) return error;
    // The last of these was not sent.
    if (error instanceof DriverClosedError) return this.#unavailable(error, sendings - 1);
    const refused = error instanceof ServerReplyError && !PASSING.has(error.code);
    return refused ? this.#unavailable(error, sendings) : undefined;
  }

  /** @param sendings how often the command may have reached the server */
  #unavailable(error: unknown, sendings: number): UnavailableError {
    const refused = error instanceof ServerReplyError;
    const outcomeUnknown = sendings > (refused ? 1 : 0);
    const cause = refused ? error : (this.#driver.outage ?? error);
    const why = cause === error ? textOf(error) : `${textOf(error)}: ${textOf(cause)}`;
    return new UnavailableError(this.server, why, outcomeUnknown, { cause });
  }
}

/** How long a caller waits for an answer. */
interface Bound {
  readonly timeoutMs: number;
  /** On the monotonic clock. */
  readonly endMs: number;
}

function tookTooLong({ name }: { readonly name: string }, { timeoutMs }: Bound): Error {
  return new Error(`${name} was not answered within ${Math.round(timeoutMs)} ms`);
}

/** Node's error about several addresses that can not be reached has a code, but no message. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}
