import type { EventEmitter } from "node:events";

/**
 * What the adapter uses of ioredis' `Redis`. Structural, so that ioredis 5 and 6 and its fork iovalkey all fit
 * and none of them is imported.
 */
export interface IoredisClient extends IoredisConnection {
  readonly isCluster: boolean;
  readonly mode: string;
  readonly options: IoredisOptions;
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  /** A new client with the same options but those given here. */
  duplicate(options: object): IoredisSubscriberClient;
}

/** What the adapter uses of the client that it opens itself. */
export interface IoredisSubscriberClient extends IoredisConnection {
  disconnect(): void;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

export interface IoredisConnection extends Pick<EventEmitter, "off"> {
  readonly status: string;
  readonly stream?: IoredisStream | undefined;
  connect(): Promise<void>;
  on(event: "message", listener: (channel: string, message: string) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect" | "ready" | "close" | "end", listener: () => void): unknown;
}

export interface IoredisStream {
  readonly destroyed: boolean;
  /** What has broken it. */
  readonly errored?: Error | null | undefined;
  unref(): unknown;
  destroy(error?: Error): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** The options that change what the adapter has to do. */
export interface IoredisOptions {
  readonly keyPrefix?: string | undefined;
  readonly stringNumbers?: boolean | undefined;
  readonly autoResendUnfulfilledCommands?: boolean | undefined;
  readonly retryStrategy?: ((times: number) => unknown) | null | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
  readonly db?: number | undefined;
  readonly tls?: object | undefined;
  readonly name?: string | undefined;
  readonly sentinels?: readonly { readonly host?: string; readonly port?: number }[] | null | undefined;
}

/** Throws a TypeError that says what to do about what is no client of ioredis, or one that would break the protocol. */
export function assertUsable(redis: IoredisClient): void {
  if (typeof redis?.evalsha !== "function") {
    const way = "as in ioredisDriver(new Redis(url))";
    throw new TypeError(`ioredisDriver needs a Redis client of ioredis, ${way}, got ${kindOf(redis)}`);
  }
  if (redis.isCluster) {
    throw new TypeError("ioredisDriver does not support ioredis' Cluster yet: pass a Redis client");
  }
  const { keyPrefix, stringNumbers } = redis.options;
  if (keyPrefix) {
    throw new TypeError(
      `ioredisDriver refuses a client with keyPrefix "${keyPrefix}": ioredis prefixes keys but not channels and ` +
        "not the names inside scripts, so that nobody would be woken. Use the nameMapper option of Holdfast instead",
    );
  }
  if (stringNumbers) {
    throw new TypeError(
      "ioredisDriver refuses a client with stringNumbers: it hides which answers are integers. " +
        "Pass redis.duplicate({ stringNumbers: false })",
    );
  }
  if (redis.mode !== "normal") {
    throw new TypeError(
      `ioredisDriver refuses a client in ${redis.mode} mode: it cannot run scripts. Pass redis.duplicate()`,
    );
  }
}

function kindOf(value: unknown): string {
  if (value === null || typeof value !== "object")
    return value === undefined ? "nothing" : `a ${typeof value}`;
  return "evalSha" in value ? "a client of node-redis" : "another object";
}

/** Names the server as in a URL, without credentials. */
export function serverName(options: IoredisOptions): string {
  const { tls, path, sentinels, db = 0 } = options;
  if (sentinels?.length) {
    const hosts = sentinels.map(({ host, port }) => address(host, port, 26_379));
    return `redis+sentinel://${hosts.join(",")}/${options.name ?? ""}/${db}`;
  }
  if (path) return `redis+unix://${path}/${db}`;
  return `${tls ? "rediss" : "redis"}://${address(options.host, options.port, 6379)}/${db}`;
}

function address(host = "localhost", port: number | undefined, defaultPort: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port ?? defaultPort}`;
}
