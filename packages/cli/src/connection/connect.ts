import { Holdfast, type HoldfastOptions } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Cluster, type CommonRedisOptions, Redis, type RedisOptions } from "ioredis";
import type { CommonOptions, Context } from "../command.js";
import { exitCodes } from "../exit-codes.js";
import { Failure } from "../failure.js";
import { within } from "../within.js";
import { type ConnectionSettings, connectionSettings } from "./settings.js";
import { tellTarget } from "./target.js";

/**
 * Closing the client may take this long. If servers do not answer, the client takes longer to release its locks, and holdfast does not wait
 * for that.
 */
const CLOSE_WITHIN_MS = 250;

/** A connection to Redis, and a holdfast client on it. The caller must close it. */
export interface Connection {
  readonly redis: Redis | Cluster;
  readonly holdfast: Holdfast;
  /** The server's name as text for people, without a login. */
  readonly place: string;
  /** Closes the client and the connection. Never rejects. */
  close(): Promise<void>;
}

/**
 * Connects, and waits until Redis answers.
 * @param options of the holdfast client; names get the prefix of the settings
 * @param signal ends the attempt
 * @throws Failure if Redis can not be reached within the connect timeout, or refuses the client; the signal's reason if it aborts
 */
export async function connect(
  settings: ConnectionSettings,
  options: HoldfastOptions = {},
  signal?: AbortSignal,
): Promise<Connection> {
  const place = tellTarget(settings.target);
  const redis = makeRedis(settings);
  const seen = new LatestError();
  redis.on("error", (error: Error) => seen.note(error));
  redis.on("node error", (error: Error) => seen.note(error));
  const cancel = () => redis.disconnect();
  signal?.addEventListener("abort", cancel);
  try {
    signal?.throwIfAborted();
    await within(settings.connectTimeoutMs, redis.connect());
    if (!settings.takesFailedCluster) await within(settings.connectTimeoutMs, redis.ping());
    signal?.throwIfAborted();
  } catch (error) {
    redis.disconnect();
    throw signal?.aborted ? signal.reason : refusal(place, seen.error ?? error);
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
  return connectionOver(redis, settings, options);
}

/** Like {@link connect}, but without waiting: the client tries for ever to connect, and calls of holdfast fail meanwhile. */
export function connectInTime(settings: ConnectionSettings, options: HoldfastOptions = {}): Connection {
  const redis = makeRedis(settings);
  // The errors are ignored, because holdfast reports why a command has failed.
  redis.on("error", () => undefined);
  redis.connect().catch(() => undefined);
  return connectionOver(redis, settings, options);
}

function connectionOver(
  redis: Redis | Cluster,
  { prefix, target }: ConnectionSettings,
  options: HoldfastOptions,
): Connection {
  const holdfast = new Holdfast(ioredisDriver(redis), {
    ...(prefix === "" ? {} : { nameMapper: (name: string) => prefix + name }),
    ...options,
  });
  return {
    redis,
    holdfast,
    place: tellTarget(target),
    async close() {
      await holdfast.close().catch(() => undefined);
      redis.disconnect();
    },
  };
}

/**
 * Runs work with a connection, and closes the connection afterwards. Before the work, prints warnings about the connection.
 * @param manner the settings that depend on the command
 */
export async function withConnection<T>(
  { env, output }: Context,
  options: CommonOptions,
  work: (connection: Connection, settings: ConnectionSettings) => Promise<T>,
  manner: Pick<ConnectionSettings, "takesFailedCluster"> = {},
): Promise<T> {
  const settings = { ...connectionSettings(options, env), ...manner };
  for (const warning of settings.warnings) output.say(warning);
  const connection = await connect(settings);
  try {
    return await work(connection, settings);
  } finally {
    await hangUp(connection);
  }
}

/** Closes a connection whose work is done. Does not wait for a server that does not answer. */
export async function hangUp(connection: Connection): Promise<void> {
  connection.redis.disconnect();
  await within(CLOSE_WITHIN_MS, connection.close()).catch(() => undefined);
}

/** Once connected, the client tries for ever to reconnect: an outage may end before a lease does. */
function makeRedis(settings: ConnectionSettings): Redis | Cluster {
  const redis = makeClient(settings);
  // If the server refuses the database, ioredis goes on in database 0. The user would believe that the locks in database 0 are those of
  // the requested database.
  redis.on("error", (error: Error & { readonly command?: { readonly name: string } }) => {
    if (error.command?.name === "select") redis.disconnect(true);
  });
  return redis;
}

function makeClient(settings: ConnectionSettings): Redis | Cluster {
  const { target, connectTimeoutMs } = settings;
  const common = {
    ...target.login,
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    connectionName: "holdfast-cli",
    maxRetriesPerRequest: null,
    // When a connection ends, ioredis waits this long for the socket to close, even if it is closed already.
    disconnectTimeout: 200,
    ...(target.tls ? { tls: tlsOptions(settings) } : {}),
  } satisfies CommonRedisOptions & RedisOptions;
  switch (target.kind) {
    case "server":
      return new Redis({ ...common, ...target.address, db: target.db });
    case "socket":
      return new Redis({ ...common, path: target.path, db: target.db });
    case "sentinel":
      return new Redis({
        ...common,
        sentinels: [...target.sentinels],
        name: target.master,
        db: target.db,
        ...(target.tls ? { sentinelTLS: tlsOptions(settings), enableTLSForSentinelMode: true } : {}),
      });
    case "cluster":
      return new Cluster([...target.nodes], {
        lazyConnect: true,
        redisOptions: common,
        enableReadyCheck: !settings.takesFailedCluster,
      });
    default:
      return target satisfies never;
  }
}

export function tlsOptions({ tls }: ConnectionSettings): object {
  const { ca, cert, key, serverName, isUnverified } = tls;
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert, key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(isUnverified ? { rejectUnauthorized: false } : {}),
  };
}

/** Keeps the latest error event of ioredis, which gives the reason of a failed connection. The rejection of `connect` says less. */
class LatestError {
  error: Error | undefined;

  note(error: Error): void {
    this.error = error;
  }
}

function refusal(place: string, error: unknown): Failure {
  const { message, code } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error), code: undefined };
  const why = message === "" ? (code ?? "no reason given") : message;
  if (/^NOPERM/.test(why))
    return new Failure(exitCodes.noRight, `Redis at ${place} refuses: ${why}`, { cause: error });
  if (/^(WRONGPASS|NOAUTH|ERR .*(AUTH|auth))/.test(why))
    return new Failure(exitCodes.unavailable, `Redis at ${place} refuses the login: ${why}`, {
      cause: error,
    });
  return new Failure(exitCodes.unavailable, `Redis at ${place} can not be reached: ${why}`, { cause: error });
}
