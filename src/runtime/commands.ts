import type { ClientSettings } from "../client-options.js";
import type { Clock } from "../clock.js";
import { type Driver, ServerReplyError, type Ticket } from "../driver/driver.js";
import { UnavailableError } from "../errors.js";
import type { Script } from "../protocol/define-script.js";
import type { Dialect, Publishing } from "../protocol/dialect.js";
import { hashSlot } from "../protocol/hash-slot.js";
import { serverProbe } from "../protocol/lock-scripts.js";
import { type Bound, CommandFailures, type Progress, tookTooLong } from "./command-failures.js";
import type { HashedWheelTimer } from "./hashed-wheel-timer.js";
import { type Instant, now } from "./instant.js";
import { isTooOld } from "./oldest-version.js";
import type { Patience } from "./patience.js";
import { type Replicated, Replication, type Shortfall, type Span } from "./replication.js";
import { ServerClocks } from "./server-clocks.js";
import { UnderWay } from "./under-way.js";

/** A reply together with what is known about the way it took. */
export interface Exchanged<Reply> {
  readonly reply: Reply;
  /** Just before the command that was answered was sent. */
  readonly sentAt: Instant;
  readonly serverMs: number;
  /** How often the connection had been lost when the command was sent. */
  readonly resets: number;
  /** True when the server may have run the command more than once. */
  readonly repeated: boolean;
  /** Set when fewer replicas have what it wrote than the client requires. */
  readonly shortfall?: Shortfall | undefined;
}

/** A command that has been begun with others. */
export interface Started {
  /** When it is given up, on the monotonic clock. */
  readonly endMs: number;
  /** How often it was sent without anybody knowing what has become of that. */
  readonly doubtful: number;
}

/** The first wait before a command is sent again; each next one is twice as long. */
const FIRST_BACKOFF_MS = 20;
const LONGEST_BACKOFF_MS = 500;
/** Commands that may take longer are timed coarsely. */
const SHORT_BOUND_MS = 1_000;

/**
 * Sends commands, bounds their time, repeats them while nobody knows whether they arrived, and keeps the
 * server's clock in mind. Only commands that may arrive twice may be sent through it.
 */
export class Commands {
  readonly #driver: Driver;
  readonly #clock: Clock;
  readonly #wheel: HashedWheelTimer;
  readonly #clocks = new ServerClocks();
  readonly #replication: Replication;
  readonly #failures: CommandFailures;
  readonly timeoutMs: number;
  /** Which messages are sent and listened to; undefined until the cluster was asked what it knows. */
  #publishes: Publishing | undefined;
  /** By place. */
  readonly #probes = new Map<string, Promise<void>>();
  readonly #underWay: UnderWay;

  /** @throws TypeError when the driver can not do what the settings ask for */
  constructor(driver: Driver, clock: Clock, wheel: HashedWheelTimer, settings: CommandSettings) {
    const { commandTimeoutMs, replicas, pubSub } = settings;
    const { topology, sharded = false } = driver.traits;
    this.#driver = driver;
    this.#clock = clock;
    this.#underWay = new UnderWay(clock);
    this.#wheel = wheel;
    this.timeoutMs = commandTimeoutMs;
    this.#replication = new Replication(driver, replicas);
    this.#failures = new CommandFailures(driver);
    if ((pubSub === "sharded" || pubSub === "both") && !sharded) {
      throw new TypeError(
        `pubSub "${pubSub}" needs a cluster and a driver that can listen to sharded messages`,
      );
    }
    const undecided = pubSub === "auto" && topology === "cluster" && sharded;
    if (!undecided) this.#publishes = pubSub === "auto" ? "classic" : pubSub;
  }

  get server(): string {
    return this.#driver.traits.server;
  }

  /** How commands are worded. */
  get dialect(): Dialect {
    return { publishes: this.#publishes ?? "classic", grants: !this.#replication.isOn };
  }

  /** What one command can name: keys of one slot in a cluster, all keys elsewhere. */
  slotOf(key: string): number {
    return this.#driver.traits.topology === "cluster" ? hashSlot(key) : 0;
  }

  /** Which messages to listen to for those of a key. In a cluster its server may have to be asked. @throws UnavailableError */
  publishes(key: string): Publishing | Promise<Publishing> {
    if (this.#publishes !== undefined) return this.#publishes;
    const met = this.#meetServer(key, this.#bound(this.timeoutMs));
    return met.then(() => this.#publishes ?? "classic");
  }

  /**
   * Sends a command until it is answered or the time for it is over. The input is made anew for each time, so that its
   * deadline is.
   * @param key one of those that it names: says which server answers
   * @param started what became of it so far. Default: it begins now
   * @throws UnavailableError when the server refused or did not answer in time; ClientClosedError
   */
  async exchange<Input, Reply>(
    script: Script<Input, Reply>,
    key: string,
    input: () => Input,
    patience: Patience = {},
    started?: Started,
  ): Promise<Exchanged<Reply>> {
    this.#underWay.assertOpen();
    const timeoutMs = patience.timeoutMs ?? this.timeoutMs;
    const bound = started === undefined ? this.#bound(timeoutMs) : { timeoutMs, endMs: started.endMs };
    let backoffMs = FIRST_BACKOFF_MS;
    for (let doubtful = started?.doubtful ?? 0; ; ) {
      const progress: Progress = { doubtful, isSent: false };
      const { resets } = this.#driver;
      try {
        // The server that was met need not be the one that has the key by now.
        while (!this.#hasMet(key)) await this.#meetServer(key, bound);
        if (this.#leftMs(bound) <= 0) throw tookTooLong(script, bound);
        const made = input();
        progress.isSent = true;
        const sent = await this.#send(script, { key, input: made, bound, patience });
        return doubtful > 0 ? { ...sent, repeated: true } : sent;
      } catch (error) {
        const final = this.#failures.final(error, progress, patience);
        if (final !== undefined) throw final;
        if (this.#leftMs(bound) <= backoffMs || patience.cancelled || patience.once)
          throw this.#failures.unavailable(error, progress);
        const refused = error instanceof ServerReplyError && this.#driver.resets === resets;
        if (progress.isSent && !refused) doubtful += 1;
      }
      // Somebody waits for this, and a client that is about to give up does not keep the process alive.
      await this.#underWay.pause(backoffMs, { keepAlive: true });
      backoffMs = Math.min(2 * backoffMs, LONGEST_BACKOFF_MS);
    }
  }

  /** What is begun now is given up after one command timeout. */
  start(): Started {
    return { endMs: this.#clock.monotonicMs() + this.timeoutMs, doubtful: 0 };
  }

  /** How often the connection has been lost. */
  get resets(): number {
    return this.#driver.resets;
  }

  get busy(): boolean {
    return this.#underWay.busy;
  }

  /** Resolves when nothing is under way. For one caller at a time. */
  idle(): Promise<void> {
    return this.#underWay.idle();
  }

  /** Ends what is under way with {@link ClientClosedError}, and all that comes. */
  stop(): void {
    this.#underWay.stop();
  }

  /** The clock of the server that has a key has surely come so far; 0 before its first answer. */
  latestServerMs(key: string): number {
    return this.#clocks.latestMs(this.#placeOf(key));
  }

  /**
   * Time of the server that has a key after which a command sent now has surely been given up. Not before its first answer.
   */
  notAfterMs(key: string): number {
    return Math.ceil(this.#clocks.at(this.#placeOf(key), this.#clock.monotonicMs()) + this.timeoutMs);
  }

  /**
   * Lets time pass before something is sent again. Does not keep the process alive.
   * @param optional whether a client that closes does not wait for what is to be sent
   * @throws ClientClosedError
   */
  pause(ms: number, optional = false): Promise<void> {
    return this.#underWay.pause(ms, { optional });
  }

  /** Ends the optional pauses, those to come as well. */
  hurry(): void {
    this.#underWay.hurry();
  }

  #hasMet(key: string): boolean {
    return this.#publishes !== undefined && this.#clocks.knows(this.#placeOf(key));
  }

  #placeOf(key: string): string {
    return this.#driver.placeOf?.(key) ?? "";
  }

  /**
   * Waits until the clock of a key's server is known, as long as this caller may: one probe serves all who come meanwhile,
   * and has a whole command timeout however short the time of the first of them is.
   */
  #meetServer(key: string, bound: Bound): Promise<void> {
    if (this.#leftMs(bound) <= 0) return Promise.reject(tookTooLong(serverProbe, bound));
    const place = this.#placeOf(key);
    const probe = this.#probes.get(place) ?? this.#askServer(key).finally(() => this.#probes.delete(place));
    this.#probes.set(place, probe);
    return new Promise((resolve, reject) => {
      const timeout = this.#after(this.#leftMs(bound), () => reject(tookTooLong(serverProbe, bound)));
      probe.then(resolve, reject).finally(() => timeout.cancel());
    });
  }

  async #askServer(key: string): Promise<void> {
    const bound = this.#bound(this.timeoutMs);
    const input = { key: this.#driver.traits.topology === "cluster" ? key : undefined };
    const { reply } = await this.#send(serverProbe, { key, input, bound, patience: {} });
    this.#publishes ??= reply.sharded ? "sharded" : "classic";
    if (isTooOld(reply.version)) {
      this.#clocks.forget(this.#placeOf(key));
      throw new UnavailableError(this.server, `Redis ${reply.version} is too old, 6.2 is needed`, false);
    }
  }

  /** Sends once. A call without an answer in time is given up; its late answer is nobody's any more. */
  #send<Input, Reply>(
    script: Script<Input, Reply>,
    { key, input, bound, patience }: Sending<Input>,
  ): Promise<Exchanged<Reply>> {
    const call = script.encode(input, this.dialect);
    const { resets } = this.#driver;
    const place = this.#placeOf(key);
    const sentAt = now(this.#clock);
    const ticket: Ticket = { givenUp: false };
    return new Promise((resolve, reject) => {
      const answer = this.#replication.run(call, ticket, this.#spanOf(script, bound, patience));
      const done = () => {
        timeout.cancel();
        this.#underWay.settled(giveUp);
      };
      const giveUp = (error: Error) => {
        done();
        ticket.givenUp = true;
        reject(error);
      };
      const timeout = this.#after(this.#leftMs(bound), () => giveUp(tookTooLong(call.script, bound)));
      this.#underWay.add(giveUp);
      const answered = ({ raw, shortfall }: Replicated) => {
        done();
        const { reply, serverMs } = script.decode(raw);
        this.#seen(place, key, serverMs, sentAt);
        const repeated = this.#driver.resets !== resets;
        resolve({ reply, serverMs, sentAt, resets, repeated, shortfall });
      };
      const failed = (error: unknown) => {
        done();
        reject(error);
      };
      answer.then(answered, failed).catch(reject);
    });
  }

  /** For how long replicas are waited for; undefined: it writes nothing that they need to have. */
  #spanOf(
    { replicated }: Pick<Script<never, unknown>, "replicated">,
    bound: Bound,
    { replicated: awaited = true, leaseMs = Number.POSITIVE_INFINITY }: Patience,
  ): Span | undefined {
    return replicated
      ? { awaited, required: replicated === true, leaseMs, leftMs: this.#leftMs(bound) }
      : undefined;
  }

  /** An answer tells the time of a server. */
  #seen(place: string, key: string, serverMs: number, sentAt: Instant): void {
    const answeredAt = this.#placeOf(key);
    // Of a key that has just moved nobody knows who has answered; before there is a connection none is known.
    if (place === answeredAt || place === "") this.#clocks.read(answeredAt, serverMs, sentAt);
  }

  /** The wheel is for the many that are far off; its grain is too coarse for a short bound. */
  #after(ms: number, callback: () => void): { cancel(): void } {
    if (ms >= SHORT_BOUND_MS) return this.#wheel.schedule(ms, callback);
    return this.#clock.schedule(Math.max(ms, 0), callback);
  }

  #bound(timeoutMs: number): Bound {
    return { timeoutMs, endMs: this.#clock.monotonicMs() + timeoutMs };
  }

  #leftMs({ endMs }: Bound): number {
    return endMs - this.#clock.monotonicMs();
  }
}

/** What a client's options say about its commands. */
export type CommandSettings = Pick<ClientSettings, "commandTimeoutMs" | "replicas" | "pubSub">;

/** A command that is sent once. */
interface Sending<Input> {
  readonly key: string;
  readonly input: Input;
  readonly bound: Bound;
  readonly patience: Patience;
}
