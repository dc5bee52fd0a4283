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
    const endMs = this.#clock.monotonicMs() + (patience.timeoutMs ?? this.timeoutMs);
    let backoffMs = FIRST_BACKOFF_MS;
    for (let repeated = false; ; repeated = true) {
      try {
        if (this.#serverOffsetMs === undefined) await this.#meetServer(endMs);
        const sent = await this.#send(script, input(), endMs);
        return repeated ? { ...sent, repeated } : sent;
      } catch (error) {
        const final = this.#finalError(error, repeated);
        if (final !== undefined) throw final;
        const leftMs = endMs - this.#clock.monotonicMs();
        if (leftMs <= backoffMs || patience.cancelled) throw this.#unavailable(error, repeated);
      }
      await this.pause(backoffMs);
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

  /** Server time after which a command sent now has surely been given up. Not before the first answer. */
  notAfterMs(): number {
    if (this.#serverOffsetMs === undefined) throw new Error("the server's time is not known yet");
    return Math.ceil(this.#clock.monotonicMs() + this.#serverOffsetMs + this.timeoutMs);
  }

  /** Lets time pass before something is sent again. @throws ClientClosedError */
  pause(ms: number): Promise<void> {
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
      const timer = this.#clock.schedule(ms, () => {
        end();
        resolve();
      });
      this.#pending.add(giveUp);
    });
  }

  async #meetServer(endMs: number): Promise<void> {
    this.#probe ??= this.#send(serverProbe, undefined, endMs).then(({ reply }) => {
      const [major = 0, minor = 0] = (reply.version ?? "").split(".").map(Number);
      const [leastMajor, leastMinor] = OLDEST_VERSION;
      if (reply.version !== null && (major < leastMajor || (major === leastMajor && minor < leastMinor))) {
        this.#serverOffsetMs = undefined;
        throw new UnavailableError(this.server, `Redis ${reply.version} is too old, 6.2 is needed`, false);
      }
    });
    try {
      await this.#probe;
    } finally {
      this.#probe = undefined;
    }
  }

  /** Sends once. A call without an answer in time is given up; its late answer is nobody's any more. */
  async #send<Input, Reply>(
    script: Script<Input, Reply>,
    input: Input,
    endMs: number,
  ): Promise<Exchanged<Reply>> {
    if (this.#stopped) throw new ClientClosedError();
    const call = script.encode(input);
    const resets = this.#driver.resets;
    const sentAt = now(this.#clock);
    const raw = await this.#bounded(call, endMs - sentAt.monotonicMs);
    const answered = script.decode(raw);
    this.#serverOffsetMs = answered.serverMs - sentAt.monotonicMs;
    return { ...answered, sentAt, repeated: this.#driver.resets !== resets };
  }

  #bounded(call: ScriptCall, boundMs: number): Promise<RawReply> {
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
      const timeout = this.#after(boundMs, () =>
        giveUp(new Error(`${call.script.name} was not answered within ${Math.round(boundMs)} ms`)),
      );
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

  /** What to throw at once for an error after which it would be pointless to send again. */
  #finalError(error: unknown, repeated: boolean): Error | undefined {
    if (error instanceof DriverClosedError) return new ClientClosedError();
    if (error instanceof UnavailableError || error instanceof ClientClosedError) return error;
    const refused = error instanceof ServerReplyError && !PASSING.has(error.code);
    return refused ? this.#unavailable(error, repeated) : undefined;
  }

  #unavailable(cause: unknown, repeated: boolean): UnavailableError {
    const why = cause instanceof Error ? cause.message : String(cause);
    const outcomeUnknown = repeated || !(cause instanceof ServerReplyError);
    return new UnavailableError(this.server, why, outcomeUnknown, { cause });
  }
}
