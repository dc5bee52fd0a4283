import { describe, expect, test } from "vitest";
import { type Verdict, verdictOf, wantedThings } from "../support/models/wanted-things.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { startRedis } from "../support/servers/redis-server.js";

const redis = locksOnRedis(startRedis);
const commandTimeoutMs = 600;
/** Far below the command timeout, as a handler of requests sets it. */
const WAITS_MS = [0, 100];

async function verdictsOf(waitMs: number, crowd: number): Promise<ReadonlyMap<string, ReadonlySet<Verdict>>> {
  const holdfast = redis.holdfast({ commandTimeoutMs });
  const calls = wantedThings.flatMap(({ name, ways }) =>
    Array.from({ length: crowd }, (_, at) => {
      const way = ways[at % ways.length];
      return { name, call: Promise.resolve(way?.call(holdfast, name, { waitMs })) };
    }),
  );
  const outcomes = await Promise.allSettled(calls.map(({ call }) => call));
  const verdicts = new Map<string, Set<Verdict>>();
  for (const [at, outcome] of outcomes.entries()) {
    const verdict = verdictOf(
      outcome.status === "rejected" ? { error: outcome.reason } : { value: outcome.value },
    );
    const name = calls[at]?.name ?? "";
    verdicts.set(name, (verdicts.get(name) ?? new Set<Verdict>()).add(verdict));
  }
  return verdicts;
}

const allAre = (verdict: Verdict) => new Map(wantedThings.map(({ name }) => [name, new Set([verdict])]));

describe.each([2, 200])("%i calls for each lock, semaphore and latch", (crowd) => {
  test.each(WAITS_MS)(
    "are all told that the server is killed, and not that others have it, with waitMs %i [own-81]",
    async (waitMs) => {
      await redis.server.kill();
      expect(await verdictsOf(waitMs, crowd)).toEqual(allAre("away"));
      await redis.server.restart();
    },
  );

  test.each(WAITS_MS)("are all told that the server has stopped, with waitMs %i [own-81]", async (waitMs) => {
    await redis.server.pause();
    expect(await verdictsOf(waitMs, crowd)).toEqual(allAre("away"));
    await redis.server.restart();
  });
});
