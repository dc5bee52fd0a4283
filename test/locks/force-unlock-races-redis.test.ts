import { expect, test } from "vitest";
import { systemClock } from "../../src/clock.js";
import { forceRaces } from "../support/run/force-race-kinds.js";
import { raceForces } from "../support/run/force-races.js";
import { seededRandom } from "../support/run/seeded-random.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const random = seededRandom();

test.each(forceRaces)(
  "what was seen on a server is freed a thousand times, or what its client has handed on since, and nothing else: $kind",
  async ({ lockOf, handsOver }) => {
    const [forcing, ...clients] = [0, 1, 2, 3].map(() => redis.holdfast({ watchdogMs: 300 }));
    if (forcing === undefined) throw new Error("there is a first client");
    const plan = { name: "a", clients, forcing, lockOf, handsOver, random };
    const result = await raceForces({ ...plan, clock: systemClock, forces: 1_000, longestMs: 160 });
    // As in force-unlock-races.test.ts.
    await redis.plain.del("redisson_lock_token:{a}", "holdfast_waiting:{a}", "holdfast_waiting_writers:{a}");
    expect(result).toMatchObject({ wronged: [], spared: [] });
    expect(result.lost).toBeGreaterThan(0);
    expect(result.outcomes.released).toBeGreaterThan(0);
    expect(result.outcomes.changed).toBeGreaterThan(0);
  },
  600_000,
);
