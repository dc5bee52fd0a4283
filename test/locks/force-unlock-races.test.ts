import { expect, test } from "vitest";
import { forceRaces } from "../support/run/force-race-kinds.js";
import { raceForces } from "../support/run/force-races.js";
import { seededRandom } from "../support/run/seeded-random.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
const random = seededRandom();

test.each(forceRaces)(
  "what was seen is freed, or what its client has handed on since, and nothing else: $kind [P5]",
  async ({ lockOf, handsOver }) => {
    const time = open({ watchdogMs: 300 });
    const clients = [1, 2, 3].map(() => time.connect({ watchdogMs: 300 }).holdfast);
    const { clock, holdfast: forcing } = time;
    const plan = {
      name: "a",
      clients,
      forcing,
      lockOf,
      handsOver,
      random,
      clock,
      forces: 300,
      longestMs: 160,
    };
    const racing = raceForces(plan);
    const seen = watched(racing);
    while (seen.outcome === undefined) await clock.advance(1);
    const result = await racing;
    // Who has lost the lock does not leave its queue: that ends ten minutes later.
    time.server.command(
      "DEL",
      "redisson_lock_token:{a}",
      "holdfast_waiting:{a}",
      "holdfast_waiting_writers:{a}",
    );
    expect(result).toMatchObject({ wronged: [], spared: [] });
    expect(result.lost).toBeGreaterThan(0);
    expect(result.outcomes.released).toBeGreaterThan(0);
    expect(result.outcomes.changed).toBeGreaterThan(0);
  },
);
