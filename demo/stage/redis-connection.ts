import type { Redis } from "ioredis";
import { asError, StageError } from "./failure.js";

const CONNECT_WITHIN_MS = 5_000;

/**
 * Connects, or says in one line why not. A connection that is lost later stays lost: the demo then ends, rather than
 * showing times that nobody can explain.
 */
export async function connectRedis(url: string): Promise<Redis> {
  const RedisClient = await importIoredis();
  const redis = new RedisClient(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_WITHIN_MS,
    commandTimeout: CONNECT_WITHIN_MS,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  let cause: Error | undefined;
  redis.on("error", (error) => {
    cause ??= error;
  });
  try {
    await redis.connect();
    await redis.ping();
    // ioredis goes on with database 0 where it cannot have the one it was told.
    if (cause !== undefined) throw cause;
  } catch (error) {
    redis.disconnect();
    throw new StageError(
      `cannot use the Redis server at ${withoutSecrets(url)}: ${(cause ?? asError(error)).message}`,
    );
  }
  return redis;
}

async function importIoredis(): Promise<typeof Redis> {
  try {
    return (await import("ioredis")).Redis;
  } catch {
    throw new StageError("--redis needs the package ioredis: run `npm ci`");
  }
}

/** The URL without user and password. */
export function withoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
}
