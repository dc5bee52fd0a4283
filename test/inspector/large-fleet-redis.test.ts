import { afterEach, expect, test } from "vitest";
import { inspector } from "../../src/inspector/index.js";
import { commandCounts, resetCounts, scriptCalls } from "../support/servers/command-counts.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { storeFleet } from "../support/worlds/stored-fleet.js";

const redis = locksOnRedis();
afterEach(() => redis.plain.flushdb());

test("2 000 locks of 300 clients are looked at by a command a second for each hundred locks at most", {
  timeout: 300_000,
}, async () => {
  const fleet = { clients: 300, locks: 2_000 };
  await storeFleet(redis.plain, fleet);
  const { holdfast } = redis.connect();
  const locks = inspector(holdfast, { authorize: () => ({ role: "read" }), refreshMs: 500 });
  const response = await locks.fetch(new Request("http://localhost/?feed"));
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const reads = async (until: () => boolean) => {
    while (!until()) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) throw new Error("the feed has ended");
      text += decoder.decode(value, { stream: true });
    }
  };
  const looks = () => text.split("\nevent: change").length - 1;
  await reads(() => text.includes("\n\n"));
  await resetCounts(redis.plain);
  const startMs = performance.now();
  await reads(() => looks() >= 2);
  const seconds = (performance.now() - startMs) / 1_000;
  const sent = scriptCalls(await commandCounts(redis.plain));
  await reader?.cancel();
  locks.close();
  const [, first = ""] = /^event: snapshot\ndata: (.*)$/m.exec(text) ?? [];
  const snapshot = JSON.parse(first);
  expect([snapshot.locks.length, snapshot.more, snapshot.totals.held, snapshot.totals.clients]).toEqual([
    200, 1_800, 2_000, 300,
  ]);
  expect(sent).toBeGreaterThan(50);
  expect(sent / seconds).toBeLessThanOrEqual(fleet.locks / 100);
});
