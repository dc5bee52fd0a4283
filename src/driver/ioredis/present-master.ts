import { systemClock, type Timer } from "../../clock.js";
import { addressOf } from "../addresses.js";
import { type OpenSentinel, Sentinels } from "../own/sentinels.js";
import type { IoredisClient, IoredisOwnClient } from "./client.js";
import { openConnection } from "./connections.js";

/** The default number of Sentinels that ioredis listens to itself. */
const MOST_SENTINELS = 10;
/**
 * ioredis asks one Sentinel, which may lag behind the majority. So the client reconnects up to this many times, until it finds the master
 * that the majority has named.
 */
const MOST_TRIES = 10;
const TRY_AGAIN_MS = 100;
/** A client that is still not connected this long after it began to connect probably waits for a suspended server. */
const STUCK_MS = 1_000;

/**
 * Knows the present master, as the Sentinels name it, and makes the caller's client reconnect to it. While no Sentinel answers, the master
 * is the server that ioredis has found.
 */
export class PresentMaster {
  readonly #redis: IoredisClient;
  readonly #moved: () => void;
  readonly #sentinels: Sentinels;
  /** The master's address as the Sentinels name it, mapped by `natMap`; undefined while they do not name a master. */
  #named: string | undefined;
  #place = "";
  /** The first question to the Sentinels; undefined until a call needs the answer. */
  #met: Promise<unknown> | undefined;
  #isMet = false;
  /** Ends when the client has reconnected to the present master; undefined while it need not reconnect. */
  #journey: Journey | undefined;
  #tries = 0;
  #retry: Timer | undefined;
  #closed = false;

  /** @param moved is called when another server is the master; by then `place` names that server */
  constructor(redis: IoredisClient, moved: () => void) {
    const { sentinels, name = "", natMap, sentinelMaxConnections = MOST_SENTINELS } = redis.options;
    this.#redis = redis;
    this.#moved = moved;
    const openings = (sentinels ?? []).slice(0, sentinelMaxConnections).map((one) => openingOf(redis, one));
    this.#sentinels = new Sentinels(openings, name, (announced) => {
      const { host, port } = addressOf(announced, natMap);
      this.#onNamed(`${host}:${port}`);
    });
  }

  get place(): string {
    return this.#place;
  }

  /** Settles when the client is connected to this master; undefined if the client already is. */
  get reached(): Promise<void> | undefined {
    return this.#journey?.ended;
  }

  /**
   * Listens to the Sentinels from the first call on.
   * @returns a promise that settles when the Sentinels were first asked; undefined afterwards
   */
  meet(): Promise<unknown> | undefined {
    if (this.#closed || this.#isMet) return undefined;
    if (this.#met === undefined) {
      this.#sentinels.listen();
      this.#met = this.look().then(() => {
        this.#isMet = true;
      });
    }
    return this.#met;
  }

  /** As {@link Sentinels.confirm}. */
  confirm(): Promise<void> {
    return this.#sentinels.confirm();
  }

  /** As {@link Sentinels.isFailingOver}. */
  get isFailingOver(): boolean {
    return this.#sentinels.isFailingOver;
  }

  /** Asks the Sentinels. Never rejects. */
  async look(): Promise<void> {
    await this.#sentinels.ask();
  }

  /** Makes a client with the caller's options for a connection to this master. */
  duplicate(options: object): IoredisOwnClient {
    if (this.#named === undefined) return this.#redis.duplicate(options);
    const { enableTLSForSentinelMode, tls } = this.#redis.options;
    const security = enableTLSForSentinelMode ? tls : undefined;
    return this.#redis.duplicate({ ...options, ...directTo(this.#named), tls: security });
  }

  /** The client's connection is ready. */
  onReady(): void {
    if (this.#named === undefined) {
      const { remoteAddress, remotePort } = this.#redis.stream ?? {};
      this.#go(`${remoteAddress}:${remotePort}`);
    }
    const isElsewhere = this.#standing(this.#named) === "elsewhere";
    if (isElsewhere && this.#tries < MOST_TRIES) this.#tryAgain();
    else this.#arrive();
  }

  /** The client has ended: nothing waits for its connection any more. */
  onEnd(): void {
    this.#arrive();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#arrive();
    await this.#sentinels.close();
  }

  #onNamed(named: string): void {
    if (this.#closed || named === this.#named) return;
    const isFirst = this.#named === undefined;
    this.#named = named;
    this.#tries = 0;
    if (isFirst && this.#standing(named) !== "elsewhere") {
      // The client is connected to the master that ioredis has found. The Sentinels may call the same server by another name.
      if (this.#place === "") this.#go(named);
      return;
    }
    this.#lead();
    this.#go(named);
  }

  #go(place: string): void {
    const before = this.#place;
    this.#place = place;
    if (before !== "" && before !== place) this.#moved();
  }

  /**
   * Ends the client's connection, so that ioredis asks the Sentinels where to connect. A client that connects only once is left
   * alone.
   */
  #lead(): void {
    const { stream, status, options } = this.#redis;
    if (typeof options.retryStrategy !== "function" || status === "wait" || status === "end") return;
    if (status === "ready" && this.#standing(this.#named) === "there") return;
    this.#journey ??= new Journey();
    if (status === "ready") stream?.destroy();
    else this.#later(STUCK_MS, () => this.#redis.stream?.destroy());
  }

  /**
   * ioredis has connected to another server than the named master: the Sentinel that it asked lags behind, or the Sentinels no longer
   * answer us.
   */
  #tryAgain(): void {
    this.#tries += 1;
    this.#journey ??= new Journey();
    this.#later(TRY_AGAIN_MS, () => void this.#lookAgain());
  }

  #later(ms: number, callback: () => void): void {
    this.#retry?.cancel();
    this.#retry = systemClock.schedule(ms, callback);
  }

  async #lookAgain(): Promise<void> {
    const word = await this.#sentinels.ask();
    if (this.#closed) return;
    // If no majority of the Sentinels answers, the master that ioredis has found is accepted.
    if (word === undefined) this.#named = undefined;
    if (this.#standing(this.#named) === "elsewhere") this.#lead();
    else if (this.#redis.status === "ready") this.onReady();
  }

  #arrive(): void {
    this.#retry?.cancel();
    this.#journey?.end();
    this.#journey = undefined;
  }

  /** Where the client is connected, as far as the client shows this. */
  #standing(named: string | undefined): "there" | "elsewhere" | "unknown" {
    const { remoteAddress = "", remotePort } = this.#redis.stream ?? {};
    if (named === undefined || remotePort === undefined) return "unknown";
    const { host, port } = addressOf(named, undefined);
    if (port !== remotePort) return "elsewhere";
    // A host name cannot be compared with the address of a socket, and an IPv6 address has several spellings.
    if (!(IPV4.test(host) && IPV4.test(remoteAddress))) return "unknown";
    return host === remoteAddress ? "there" : "elsewhere";
  }
}

const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;

class Journey {
  end: () => void = () => undefined;
  readonly ended = new Promise<void>((resolve) => {
    this.end = resolve;
  });
}

type SentinelAddress = NonNullable<IoredisClient["options"]["sentinels"]>[number];

/** Uses the options that ioredis itself uses for connections to Sentinels. */
function openingOf(redis: IoredisClient, { host, port = 26_379, family }: SentinelAddress): OpenSentinel {
  const { sentinelUsername, sentinelPassword, sentinelTLS } = redis.options;
  const duplicate = (options: object) =>
    redis.duplicate({
      ...options,
      ...directTo(`${host ?? "localhost"}:${port}`),
      family: family ?? redis.options.family,
      username: sentinelUsername ?? null,
      password: sentinelPassword ?? null,
      tls: sentinelTLS,
      db: 0,
      enableReadyCheck: false,
      // Of ioredis 6.
      replyMapping: "legacy",
      himportFieldsets: undefined,
    });
  return (events) => openConnection(duplicate, "classic", events);
}

/** The options that make ioredis connect to a server directly, without Sentinels. */
function directTo(place: string): object {
  return { ...addressOf(place, undefined), sentinels: null, path: undefined, family: 0 };
}
