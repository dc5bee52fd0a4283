import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../../../test/support/servers/ask.js";
import { moveSlotOf, type RedisCluster, startCluster } from "../../../test/support/servers/redis-cluster.js";
import type { RedisServer } from "../../../test/support/servers/redis-server.js";
import { isRequestKey } from "../../../test/support/servers/request-keys.js";
import { goesOnThrough, isDeadBeforeTheNext } from "./support/exec-outages.js";
import { execRuns } from "./support/exec-runs.js";
import { endTelling, telling, toldHold } from "./support/told-hold.js";

const NAME = "order:42";
const TEST_MS = 180_000;

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
}, TEST_MS);
afterAll(() => cluster.stop());
const start = execRuns(
  () => `redis+cluster://${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}`,
);
afterEach(async () => {
  for (const node of cluster.nodes) if (!node.running) await node.restart();
  await cluster.settled();
  await Promise.all((await cluster.masters()).map((master) => ask(master, "FLUSHALL")));
}, TEST_MS);

async function keys(): Promise<readonly string[]> {
  const all = await Promise.all((await cluster.masters()).map((master) => ask(master, "KEYS", "*")));
  return (all.flat() as string[]).filter((key) => !isRequestKey(key));
}

const moves: readonly (readonly [string, () => Promise<RedisServer>])[] = [
  [
    "its slot moves to another master",
    async () => {
      await moveSlotOf(cluster, NAME);
      return cluster.masterOf(NAME);
    },
  ],
  ["its master is replaced by order", async () => cluster.failover(await cluster.masterOf(NAME))],
  [
    "its master is killed",
    async () => {
      const old = await cluster.masterOf(NAME);
      await old.kill();
      return cluster.successor(old);
    },
  ],
];

describe("in a cluster", () => {
  it.each(["lock", "fair", "fenced", "read", "write"])(
    "a command runs under a %s of the master of its slot, and the lock is free afterwards",
    async (kind) => {
      const master = await cluster.masterOf(NAME);
      const run = start(["exec", NAME, "--kind", kind, "--", ...telling], { stdin: "pipe" });
      const { holder, held } = await toldHold(run);
      expect(held).toBe(NAME);
      expect(String(await ask(master, "HKEYS", NAME))).toContain(holder);
      const contended = ["exec", NAME, "--kind", "write", "--report-every", "100ms", "--", "echo", "in"];
      const waiter = start(contended);
      await waiter.complains("waiting for");
      expect(waiter.out).toBe("");
      expect([await endTelling(run), run.err]).toEqual([7, ""]);
      expect([await waiter.exited, waiter.out]).toEqual([0, "in\n"]);
      expect((await keys()).filter((key) => !key.startsWith("redisson_lock_token:"))).toEqual([]);
    },
    TEST_MS,
  );

  it.each(moves)(
    "a command goes on under its lock, which is renewed and freed at the new master, and another one has it then, when %s",
    (_, move) => goesOnThrough(start, NAME, move),
    TEST_MS,
  );

  it(
    "a group that ignores SIGTERM is dead before the next one with the lock has written its first byte, when its slot has no master for too long",
    () =>
      isDeadBeforeTheNext(start, NAME, async () => {
        const master = await cluster.masterOf(NAME);
        return [master, cluster.replicaOf(master)];
      }),
    TEST_MS,
  );
});
