import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../../../test/support/servers/ask.js";
import type { RedisServer } from "../../../test/support/servers/redis-server.js";
import { isRequestKey } from "../../../test/support/servers/request-keys.js";
import { startSentinels, type WatchedRedis } from "../../../test/support/servers/sentinels.js";
import { goesOnThrough, isDeadBeforeTheNext } from "./support/exec-outages.js";
import { execRuns } from "./support/exec-runs.js";
import { endTelling, telling, toldHold } from "./support/told-hold.js";

const NAME = "order:42";
const TEST_MS = 180_000;

let watched: WatchedRedis;
beforeAll(async () => {
  watched = await startSentinels();
}, TEST_MS);
afterAll(() => watched.stop());
const start = execRuns(() => {
  const places = watched.sentinels.map(({ host, port }) => `${host}:${port}`).join(",");
  return `redis+sentinel://${places}/${watched.name}`;
});
afterEach(async () => {
  for (const server of [...watched.watchers, ...watched.nodes]) if (!server.running) await server.restart();
  await watched.settled();
  await ask(await watched.master(), "FLUSHALL");
}, TEST_MS);

async function keysOf(server: RedisServer): Promise<readonly string[]> {
  return ((await ask(server, "KEYS", "*")) as string[]).filter((key) => !isRequestKey(key));
}

const failovers: readonly (readonly [string, () => Promise<RedisServer>])[] = [
  ["is replaced by order", () => watched.failover()],
  [
    "is killed",
    async () => {
      const old = await watched.master();
      await old.kill();
      return watched.successor(old);
    },
  ],
  [
    "stands still for good",
    async () => {
      const old = await watched.master();
      await old.pause();
      return watched.successor(old);
    },
  ],
];

describe("with Sentinels", () => {
  it("a command runs under a lock of the master, and the lock is free afterwards", async () => {
    const master = await watched.master();
    const run = start(["exec", NAME, "--", ...telling], { stdin: "pipe" });
    const { holder, held } = await toldHold(run);
    expect(held).toBe(NAME);
    expect(await ask(master, "HKEYS", NAME)).toEqual([holder]);
    expect(await start(["exec", NAME, "-n", "--", "echo", "in"]).exited).toBe(75);
    expect([await endTelling(run), run.err]).toEqual([7, ""]);
    expect(await keysOf(master)).toEqual([]);
  });

  it.each(failovers)(
    "a command goes on under its lock, which is renewed and freed at the new master, and another one has it then, when the master %s",
    (_, failover) => goesOnThrough(start, NAME, failover),
    TEST_MS,
  );

  it(
    "a group that ignores SIGTERM is dead before the next one with the lock has written its first byte, when no failover comes",
    () => isDeadBeforeTheNext(start, NAME, async () => [...watched.watchers, ...watched.nodes]),
    TEST_MS,
  );
});
