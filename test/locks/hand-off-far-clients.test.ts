import { expect, test } from "vitest";
import { systemClock } from "../../src/clock.js";
import { delay } from "../support/faults/proxy-faults.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { RivalTasks } from "../support/worlds/rival-clients.js";

const KEY = "order:7";
const TASKS = 8;
const HOLD_MS = 1;
const VISITS = 5;
/** About 0.4 s the first time, and 0.15 s from then on. */
const LONGEST_WAIT_MS = 4_000;

const real = locksOnRedis();

test("a client 10 ms away from a real server has its turns beside one that hands the lock on [own-12]", {
  timeout: 2 * VISITS * LONGEST_WAIT_MS,
}, async () => {
  const tasks = new RivalTasks(systemClock);
  const near = real.holdfast();
  for (let task = 0; task < TASKS; task += 1) tasks.visits(near, KEY, HOLD_MS);
  const proxy = await real.proxy();
  proxy.inject(delay(10));
  // No question that it asks by itself, now and then, is to help it.
  const far = real.holdfast({ safetyPeriodMs: 60_000 }, { port: proxy.port });
  try {
    for (let visit = 0; visit < VISITS; visit += 1) {
      const lease = await far.getLock(KEY).lock({ waitMs: LONGEST_WAIT_MS });
      expect(lease.state).toBe("held");
      await lease.unlock();
    }
  } finally {
    await tasks.stop();
  }
});
