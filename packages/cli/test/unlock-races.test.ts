import { expect, test } from "vitest";
import { seededRandom } from "../../../test/support/run/seeded-random.js";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { raceUnlocks } from "./support/unlock-race.js";

const redis = locksOnRedis();
const random = seededRandom();

test("unlock, raced a thousand times with hand-overs, frees only what it has shown [U1]", async () => {
  const clients = [0, 1, 2].map(() => redis.holdfast({ handOff: false }));
  const result = await raceUnlocks({ url: redis.server.url, clients, random, runs: 1_000 });
  expect(result).toMatchObject({ wronged: [], wrongCodes: [] });
  expect(result.lost).toBeGreaterThan(0);
  expect(result.outcomes["released"]).toBeGreaterThan(0);
  expect(result.outcomes["changed"]).toBeGreaterThan(0);
}, 600_000);
