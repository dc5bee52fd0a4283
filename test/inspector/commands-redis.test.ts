import { afterEach, expect, test } from "vitest";
import { inspector } from "../../src/inspector/index.js";
import { FakeClock } from "../../src/memory/index.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { ServerMonitor } from "../support/servers/server-monitor.js";
import { storeFleet } from "../support/worlds/stored-fleet.js";

const redis = locksOnRedis();
const monitors: ServerMonitor[] = [];
afterEach(async () => {
  for (const monitor of monitors.splice(0)) monitor.close();
  await redis.plain.flushdb();
});

/** What the connections that only mark a moment for the monitor begin with. */
const GREETINGS = new Set(["info", "client", "hello", "select"]);
const sentOf = async (monitor: ServerMonitor) =>
  (await monitor.read()).filter(([name = ""]) => !GREETINGS.has(name.toLowerCase()));

const HOUR_MS = 3_600_000;
const LOOKS = 3;

test.each([
  { locks: 10, clients: 5, commands: 6, everyMs: 2_000 },
  { locks: 100, clients: 20, commands: 6, everyMs: 2_000 },
  { locks: 500, clients: 75, commands: 10, everyMs: 2_000 },
  { locks: 2_000, clients: 300, commands: 29, everyMs: 2_000 },
  { locks: 1_000, clients: 900, commands: 31, everyMs: 3_100, refreshMs: 500 },
])(
  "of $locks locks and $clients clients Redis gets $commands commands each $everyMs ms, and none once the viewer has left",
  {
    timeout: 120_000,
  },
  async ({ commands, everyMs, refreshMs = 2_000, ...fleet }) => {
    await storeFleet(redis.plain, fleet);
    const { holdfast } = redis.connect();
    const clock = new FakeClock();
    const locks = inspector(holdfast, { authorize: () => ({ role: "read" }), clock, refreshMs });
    const feed = await locks.fetch(new Request("http://localhost/?feed"));
    const reader = feed.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const read = async () => {
      for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read())
        text += piece.value;
    };
    const isRead = read();
    await until(() => text.includes("event: snapshot"));
    const monitor = await ServerMonitor.open(redis.server);
    monitors.push(monitor);
    const looks = () => text.split("event: change").length - 1;
    for (let look = 1; look <= LOOKS; look += 1) {
      const before = looks();
      await clock.advance(everyMs - 1);
      expect(looks()).toBe(before);
      await clock.advance(1);
      await until(() => looks() > before);
    }
    const sent = await sentOf(monitor);
    expect(sent).toHaveLength(LOOKS * commands);
    await reader?.cancel();
    await isRead;
    await clock.advance(HOUR_MS);
    expect([await sentOf(monitor), clock.pendingTimers]).toEqual([[], 0]);
  },
);
