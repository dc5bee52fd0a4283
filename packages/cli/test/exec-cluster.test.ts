import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../../test/support/run/until.js";
import { ask } from "../../../test/support/servers/ask.js";
import { moveSlotOf, type RedisCluster, startCluster } from "../../../test/support/servers/redis-cluster.js";
import type { RedisServer } from "../../../test/support/servers/redis-server.js";
import { isRequestKey } from "../../../test/support/servers/request-keys.js";
import { execRuns } from "./support/exec-runs.js";
import { found, startNext, startStubborn } from "./support/stubborn-group.js";
import { endTelling, renewedAt, telling, toldHold } from "./support/told-hold.js";

const NAME = "order:42";
const TTL_MS = 15_000;
/** An outage of nine seconds is ridden out: a failover takes three to four. */
const TERMS = ["--ttl", "15s", "--kill-after", "1s"];
/** It waits through an outage that is longer than the lease of the one before it. */
const PATIENT = ["--ttl", "1m"];
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
    async (_, move) => {
      const run = start(["exec", NAME, ...TERMS, "--", ...telling], { stdin: "pipe" });
      const { holder } = await toldHold(run);
      const waiter = start(["exec", NAME, ...TERMS, "--report-every", "100ms", "--", "echo", "in"]);
      await waiter.complains("waiting for");
      const master = await move();
      await renewedAt(master, NAME, TTL_MS);
      expect(await ask(master, "HKEYS", NAME)).toEqual([holder]);
      expect([run.hasEnded, waiter.out]).toEqual([false, ""]);
      expect(await endTelling(run)).toBe(7);
      expect([await waiter.exited, waiter.out]).toEqual([0, "in\n"]);
      expect(await ask(master, "EXISTS", NAME)).toBe(0);
      expect(run.err).toBe("");
    },
    TEST_MS,
  );

  it(
    "a group that ignores SIGTERM is dead before the next one with the lock has written its first byte, when its slot has no master for too long",
    async () => {
      const { run, pids } = await startStubborn(start, NAME, TERMS);
      const next = await startNext(start, NAME, PATIENT, pids);
      const master = await cluster.masterOf(NAME);
      const both = [master, cluster.replicaOf(master)];
      await Promise.all(both.map((node) => node.pause()));
      const overMs = performance.now() + TTL_MS;
      await until(() => performance.now() >= overMs);
      for (const node of both) node.resume();
      expect(await next.exited).toBe(0);
      expect(next.out).toContain("looked");
      expect(found(next)).toEqual([]);
      expect(await run.exited).toBe(76);
      expect(run.err).toContain("could not be renewed in time");
      expect(run.below()).toEqual([]);
    },
    TEST_MS,
  );
});
