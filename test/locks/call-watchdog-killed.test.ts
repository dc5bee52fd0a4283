import { expect, test } from "vitest";
import { until } from "../support/run/until.js";
import { journalArgs, keepJournal } from "../support/servers/key-journal.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { startRedis } from "../support/servers/redis-server.js";
import { childPrograms } from "../support/worlds/child-programs.js";

const redis = locksOnRedis(() => startRedis({ args: journalArgs }));
const start = childPrograms();
const LONG_MS = 120_000;
/** Both at one moment. */
const TTLS = "return { redis.call('PTTL', KEYS[1]), redis.call('PTTL', KEYS[2]) }";

test("a process that is killed leaves each lock to the watchdogMs of its call: the shorter one falls first", {
  timeout: LONG_MS,
}, async () => {
  const [short, long] = ["order:short", "order:long"] as const;
  const [shortMs, longMs] = [5_000, 10_000];
  const holder = await start("lock-taker", { port: redis.server.port, lock: long });
  await holder.ask("lock", { watchdogMs: longMs });
  await holder.ask("lock", { name: short, watchdogMs: shortMs });
  const journal = await keepJournal(redis.server);
  const entries: string[] = [];
  await until(async () => {
    entries.push(...(await journal.read()));
    return [short, long].every((key) => entries.includes(`expire ${key}`));
  });
  // Each is renewed when a third of its lease is over, so that at any moment the longer one ends later.
  const [shortLeftMs, longLeftMs] = (await redis.plain.eval(TTLS, 2, short, long)) as [number, number];
  expect(longLeftMs - shortLeftMs).toBeGreaterThan(1_000);
  await holder.stop();
  const killedMs = performance.now();
  const expired: string[] = [];
  await until(async () => {
    expired.push(...(await journal.read()).filter((entry) => entry.startsWith("expired ")));
    return expired.includes(`expired ${long}`);
  });
  expect(expired).toEqual([`expired ${short}`, `expired ${long}`]);
  expect(performance.now() - killedMs).toBeLessThan(10 * longMs);
});
