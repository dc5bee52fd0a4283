import type { Redis } from "ioredis";

/** How often the server ran each command, those that scripts called included. */
export type CommandCounts = Readonly<Record<string, number>>;

/** What it takes to count does not count. Redis 6.2 does not tell CONFIG RESETSTAT from other CONFIGs. */
const OWN = new Set(["info", "config", "config|resetstat"]);

export async function commandCounts(redis: Redis): Promise<CommandCounts> {
  const lines = [...(await redis.info("commandstats")).matchAll(/^cmdstat_([^:]+):calls=(\d+),/gm)];
  const counts = lines.map(([, name = "", calls]) => [name.toLowerCase(), Number(calls)] as const);
  return Object.fromEntries(counts.filter(([name, calls]) => calls > 0 && !OWN.has(name)));
}

/** Counts from here on. */
export async function resetCounts(redis: Redis): Promise<void> {
  await redis.config("RESETSTAT");
}

/** How many scripts the server was sent, whichever way. */
export function scriptCalls({ eval: full = 0, evalsha = 0 }: CommandCounts): number {
  return full + evalsha;
}

/** Counts anew what the server does while the body runs. */
export async function countedDuring(redis: Redis, body: () => Promise<unknown>): Promise<CommandCounts> {
  await resetCounts(redis);
  await body();
  return commandCounts(redis);
}
