import type { ClientSettings } from "../client-options.js";
import type { Clock } from "../clock.js";
import { type Driver, ServerReplyError } from "../driver/driver.js";
import { ClientClosedError, UnavailableError } from "../errors.js";
import { type AboutClient, events } from "../events.js";
import type { Script } from "../protocol/define-script.js";
import type { Dialect, Publishing } from "../protocol/dialect.js";
import { hashSlot } from "../protocol/hash-slot.js";
import { type ServerProbe, serverProbe } from "../protocol/lock-scripts.js";
import { type Bound, CommandFailures, tookTooLong } from "./command-failures.js";
import { Deadline } from "./deadline.js";
import type { Exchanged } from "./exchanged.js";
import { now } from "./instant.js";
import { isTooOld } from "./oldest-version.js";
import type { Patience } from "./patience.js";
import { type AnyPendingCommand, type Command, PendingCommand, type Started } from "./pending-command.js";
import { publishingOf } from "./publishing.js";
import { dialectOf, Replication } from "./replication.js";
import { Sender } from "./sender.js";
import { type ServerClock, ServerClocks } from "./server-clocks.js";
import { isTraced } from "./traced.js";
import { TracedCommand, tracedCommand } from "./traced-command.js";
import { UnderWay } from "./under-way.js";
import { UnsuitedServers } from "./unsuited-servers.js";

/** The pause before a command is sent again doubles up to this. */
const LONGEST_BACKOFF_MS = 500;

/**
 * Sends commands, bounds their time, repeats unanswered ones, and reads the servers' clocks from the answers. Only for commands that may
 * safely arrive twice.
 */
export class Commands {
  readonly #driver: Driver;
  readonly #clock: Clock;
  readonly #clocks: ServerClocks;
  readonly #replication: Replication;
  readonly #sender: Sender;
  readonly failures: CommandFailures;
  readonly timeoutMs: number;
  /** The client, as events describe it. */
  readonly about: AboutClient;
  /** Whether one command can name keys of only one slot. */
  readonly inCluster: boolean;
  /** Which kind of messages is published and listened to; undefined until the cluster was asked what it supports. */
  #publishes: Publishing | undefined;
  #dialect: Dialect;
  /** The probes under way, by the place of the server. Probes with `aside` are kept apart, because `close` does not wait for them. */
  readonly #probes = new Map<string, Promise<void>>();
  readonly #underWay: UnderWay;
  readonly unsuited: UnsuitedServers;

  /** @throws TypeError if the driver does not support the settings */
  constructor(driver: Driver, clock: Clock, settings: CommandSettings, about: AboutClient) {
    const { commandTimeoutMs, replicas, pubSub } = settings;
    this.#driver = driver;
    this.#clock = clock;
    this.about = about;
    this.timeoutMs = commandTimeoutMs;
    this.inCluster = driver.traits.topology === "cluster";
    const metAgain = (key: string) => this.unsuited.metAgain(() => this.#askServer(key, true));
    const [clocks, underWay] = [new ServerClocks(driver, metAgain), new UnderWay(clock)];
    this.#replication = new Replication(driver, replicas, about);
    this.#clocks = clocks;
    this.#underWay = underWay;
    this.#sender = new Sender({ driver, clock, replication: this.#replication, clocks, underWay });
    this.failures = new CommandFailures(driver);
    this.unsuited = new UnsuitedServers(about.clientId);
    this.#publishes = publishingOf(pubSub, driver.traits);
    this.#dialect = dialectOf(this.#publishes, this.#replication);
  }

  get server(): string {
    return this.#driver.traits.server;
  }

  /** The name of the server that has a key now, if the driver reveals it; otherwise the name in {@link server}. */
  serverOf(key: string): string {
    const { place } = this.#clocks.serverOf(key);
    // If the place is a number, it is a slot, and the Redis client does not reveal its server.
    return /^\d*$/.test(place) ? this.server : place;
  }

  /** How the scripts of this client are encoded. */
  get dialect(): Dialect {
    return this.#dialect;
  }

  /** Which keys one command can name: those of one slot in a cluster, all keys elsewhere. */
  slotOf(key: string): number {
    return this.inCluster ? hashSlot(key) : 0;
  }

  /**
   * Which kind of messages, classic or sharded, is published about a key. In a cluster this may have to ask a server. @throws
   * UnavailableError
   */
  publishes(key: string): Publishing | Promise<Publishing> {
    if (this.#publishes !== undefined) return this.#publishes;
    return this.#meetServer(key, this.#bound(this.timeoutMs)).then(() => this.#publishes ?? "classic");
  }

  /**
   * Sends a command until it is answered or its time is up. Each sending gets a new input, with a new deadline.
   * @param key one of the keys that the command names: decides which server it goes to
   * @param input gets the time on the server's clock at which the command is given up
   * @throws UnavailableError if the server refused or did not answer in time; ClientClosedError
   */
  exchange<Input, Reply>(
    script: Script<Input, Reply>,
    key: string,
    input: (notAfterMs: number) => Input,
    patience: Patience = {},
  ): Promise<Exchanged<Reply>> {
    return new Promise((answered, failed) => this.begin({ script, key, input, patience, answered, failed }));
  }

  /**
   * As {@link exchange}, with callbacks in place of a promise.
   * @param started the state of a command that has already begun. Default: it begins now
   */
  begin<Input, Reply>(command: Command<Input, Reply>, started?: Started): void {
    const { start, end, asyncStart, asyncEnd, error } = events.command;
    const endIsHeard = end.hasSubscribers || asyncEnd.hasSubscribers || error.hasSubscribers;
    const isHeard = endIsHeard || start.hasSubscribers || asyncStart.hasSubscribers;
    if (isHeard && !(command instanceof TracedCommand)) {
      tracedCommand(command, this.about, this.#clock, (traced) => this.begin(traced, started));
      return;
    }
    const timeoutMs = command.patience.timeoutMs ?? this.timeoutMs;
    const sentAt = now(this.#clock);
    const bound = { timeoutMs, endMs: started?.endMs ?? sentAt.monotonicMs + timeoutMs };
    this.#try(new PendingCommand(command, this.#sender, this.#again, sentAt, bound, started?.doubtful));
  }

  readonly #try = (pending: AnyPendingCommand): void => {
    const { command, sentAt, endMs } = pending;
    if (this.#underWay.isStopped) {
      command.failed(new ClientClosedError());
      return;
    }
    const server = this.#clocks.serverOf(command.key);
    // The key may have moved to a server that was not probed yet.
    const isMet = this.#publishes !== undefined && server.clock !== undefined;
    if (!isMet && !command.script.everywhere) {
      this.#meetServer(command.key, pending, command.patience.aside).then(
        () => this.#tryAgain(pending),
        (error: unknown) => this.#again(pending, error),
      );
      return;
    }
    if (endMs <= sentAt.monotonicMs) {
      this.#again(pending, tookTooLong(command.script, pending));
      return;
    }
    try {
      // A command for all servers has no deadline, and needs no probe.
      const limitMs = server.clock === undefined ? 0 : this.#limitMs(sentAt.monotonicMs, server.clock);
      const input = command.input(limitMs);
      this.#sender.send(pending, command.script.encode(input, this.#dialect), server);
    } catch (error) {
      // Its input could not be made or encoded, and nothing was sent.
      command.failed(error);
    }
  };

  #tryAgain(pending: AnyPendingCommand): void {
    pending.sentAt = now(this.#clock);
    pending.resets = undefined;
    if (pending.command.patience.cancelled) this.#again(pending, new Error("cancelled before it was sent"));
    else this.#try(pending);
  }

  /** Sends a failed command again if that may help. */
  readonly #again = (pending: AnyPendingCommand, error: unknown): void => {
    const { command, doubtful, backoffMs, resets } = pending;
    const { patience } = command;
    // A refusal on a later connection proves nothing: the Redis client may also have sent the command on the earlier connection.
    const refused = error instanceof ServerReplyError && this.#driver.resets === resets;
    const progress = { doubtful, isOpen: resets !== undefined && !refused };
    const final = this.failures.final(error, progress, patience);
    if (final !== undefined) {
      command.failed(final);
      return;
    }
    if (this.#leftMs(pending) <= backoffMs || patience.cancelled || patience.once) {
      command.failed(this.failures.unavailable(error, progress));
      return;
    }
    if (progress.isOpen) pending.doubtful += 1;
    pending.backoffMs = Math.min(2 * backoffMs, LONGEST_BACKOFF_MS);
    // A caller waits for the answer. A Redis client between two connections does not keep the process alive, so the pause does.
    this.#underWay.pause(backoffMs, { keepAlive: true }).then(
      () => this.#tryAgain(pending),
      (failure: unknown) => command.failed(failure),
    );
  };

  /** The start of a command that begins now, and is given up after one command timeout. */
  start(): Started {
    return { endMs: this.#clock.monotonicMs() + this.timeoutMs, doubtful: 0 };
  }

  /** How many times the connection has been lost. */
  get resets(): number {
    return this.#driver.resets;
  }

  get busy(): boolean {
    return this.#underWay.busy;
  }

  /** Milliseconds since the sending of the first command after the last timely answer; 0 if none was sent after it. */
  get silentMs(): number {
    return this.#sender.silentMs;
  }

  /** Resolves when nothing is under way. Only for one caller at a time. */
  idle(): Promise<void> {
    return this.#underWay.idle();
  }

  /** Fails everything under way, and all later commands, with {@link ClientClosedError}. */
  stop(): void {
    this.#underWay.stop();
  }

  /** The clock of the server that has a key; undefined while it has answered nothing since the connection was lost. */
  serverClock(key: string): ServerClock | undefined {
    return this.#clocks.current(key);
  }

  /**
   * The time until which copies of a command that was sent with a {@link notAfterMs} may still take effect.
   * @param before the deadline of the command's earlier sendings; it may be later than the new one, as the clock may have been read again
   * since
   */
  deadline(key: string, notAfterMs: number, before?: Deadline): Deadline {
    const deadline = new Deadline(this.#clockOf(key), notAfterMs, this.timeoutMs);
    return before === undefined ? deadline : deadline.orLater(before);
  }

  /**
   * The time on the server's clock after which a command sent now has certainly been given up. May be called only after the server's first
   * answer.
   */
  notAfterMs(key: string): number {
    return this.#limitMs(this.#clock.monotonicMs(), this.#clockOf(key));
  }

  #clockOf(key: string): ServerClock {
    const { clock } = this.#clocks.serverOf(key);
    if (clock === undefined) throw new Error("the server's time is not known yet");
    return clock;
  }

  #limitMs(sentMs: number, { offsetMs }: ServerClock): number {
    return Math.ceil(sentMs + offsetMs + this.timeoutMs);
  }

  /**
   * Waits before a command is sent again. Does not keep the process alive.
   * @param optional whether a closing client skips the pause
   * @param begun gets a function that ends the pause early
   * @throws ClientClosedError
   */
  pause(ms: number, optional = false, begun?: (end: () => void) => void): Promise<void> {
    return this.#underWay.pause(ms, { optional, begun });
  }

  /** Ends the optional pauses, including later ones. */
  hurry(): void {
    this.#underWay.hurry();
  }

  /**
   * Waits until the clock of a key's server is known, at most as long as `bound` allows. One probe serves all waiting commands. It has a
   * whole command timeout, even if the command that started it has less time. A probe with `aside` has the time of its command, because
   * such commands come one by one.
   */
  #meetServer(key: string, bound: Bound, aside = false): Promise<void> {
    if (this.#leftMs(bound) <= 0) return Promise.reject(tookTooLong(serverProbe, bound));
    const id = `${aside} ${this.#clocks.serverOf(key).place}`;
    const time = aside ? bound : this.#bound(this.timeoutMs);
    const forget = () => this.#probes.delete(id);
    const probe = this.#probes.get(id) ?? this.#askServer(key, aside, time).finally(forget);
    this.#probes.set(id, probe);
    return new Promise((resolve, reject) => {
      const isOver = () => reject(tookTooLong(serverProbe, bound));
      const timeout = this.#clock.schedule(this.#leftMs(bound), isOver);
      probe.then(resolve, reject).finally(() => timeout.cancel());
    });
  }

  async #askServer(key: string, aside: boolean, bound = this.#bound(this.timeoutMs)): Promise<void> {
    const input = { key: this.inCluster ? key : undefined };
    const { reply } = await new Promise<Exchanged<ServerProbe>>((answered, failed) => {
      const probe = { script: serverProbe, key, patience: { aside }, input: () => input, answered, failed };
      const send = (command: Command<typeof input, ServerProbe>) => {
        const fail = (_: AnyPendingCommand, error: unknown) => command.failed(error);
        const pending = new PendingCommand(command, this.#sender, fail, now(this.#clock), bound);
        const call = serverProbe.encode(command.input(0), this.#dialect);
        this.#sender.send(pending, call, this.#clocks.serverOf(key));
      };
      if (isTraced(events.command)) tracedCommand(probe, this.about, this.#clock, send);
      else send(probe);
    });
    if (this.#publishes === undefined) {
      this.#publishes = reply.sharded ? "sharded" : "classic";
      this.#dialect = dialectOf(this.#publishes, this.#replication);
    }
    this.unsuited.met(this.serverOf(key), reply);
    if (isTooOld(reply.version)) {
      this.#clocks.forget(key);
      throw new UnavailableError(this.server, `Redis ${reply.version} is too old, 6.2 is needed`, false);
    }
  }

  #bound(timeoutMs: number): Bound {
    return { timeoutMs, endMs: this.#clock.monotonicMs() + timeoutMs };
  }

  #leftMs({ endMs }: Bound): number {
    return endMs - this.#clock.monotonicMs();
  }
}

/** The client's options for commands. */
export type CommandSettings = Pick<ClientSettings, "commandTimeoutMs" | "replicas" | "pubSub">;
