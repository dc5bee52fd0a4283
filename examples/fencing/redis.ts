import type { FencedLock } from "holdfast";
import type { Redis } from "ioredis";
import { StaleTokenError } from "./stale-token-error.js";

/** Texts of digits, compared by length first: numbers of Lua are exact up to 2^53 only. */
const FENCED = `
local seen, token = redis.call("GET", KEYS[1]) or "0", ARGV[1]
if #token < #seen or (#token == #seen and token < seen) then return {} end
redis.call("SET", KEYS[1], token)
return { redis.call(ARGV[2], KEYS[2], unpack(ARGV, 3)) }`;

/** Carries out one command on the key, a read as well, unless a later token was there: one script does both. */
export async function fenced(
  redis: Redis,
  key: string,
  token: bigint,
  command: string,
  ...args: readonly string[]
): Promise<unknown> {
  // The braces put both keys into one slot of a cluster.
  const keys = [`{${key}}:fence`, `{${key}}`];
  const answer = (await redis.eval(FENCED, 2, ...keys, `${token}`, command, ...args)) as unknown[];
  if (answer.length === 0) throw new StaleTokenError(key, token);
  return answer[0];
}

export async function deposit(lock: FencedLock, redis: Redis, cents: number): Promise<void> {
  await lock.using(async ({ token }) => {
    const before = Number(await fenced(redis, "account:7", token, "GET"));
    await fenced(redis, "account:7", token, "SET", `${before + cents}`);
  });
}
