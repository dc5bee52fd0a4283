import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { soon } from "../../../test/support/servers/ask.js";
import { knownRights } from "../../../test/support/servers/documented-rights.js";
import { type RedisCluster, startCluster } from "../../../test/support/servers/redis-cluster.js";
import { isBefore7 } from "../../../test/support/servers/redis-program.js";
import { isRequestKey } from "../../../test/support/servers/request-keys.js";
import { diagnose } from "./support/diagnosis.js";
import { userWith } from "./support/patients.js";

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster({ replicas: 0 });
});
afterAll(() => cluster.stop());

function url(): string {
  return `redis+cluster://${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}`;
}

describe("doctor, in a cluster,", () => {
  test("finds that all is well, and leaves no key behind", async () => {
    const { faults, of } = await diagnose(url(), ["--name", "order:42"]);
    expect(faults.filter((fault) => fault !== "persistence warn")).toEqual([]);
    expect(of("cluster")).toMatch(
      /^ok: 3 masters: all slots are served\nok: "order:42" has slot \d+, at 127\.0\.0\.1:\d+$/,
    );
    expect(of("persistence")).toBe("warn: 3 masters: none");
    expect(of("rights")).toContain("ok: ");
    for (const node of cluster.nodes)
      expect((await node.client().keys("*")).filter((key) => !isRequestKey(key))).toEqual([]);
  });

  test("finds a name with braces that no cluster takes", async () => {
    const { of } = await diagnose(url(), ["--name", "{a}:{b}"]);
    expect(of("cluster")).toBe('fail: the braces of "{a}:{b}" can not be used in a cluster');
  });

  test("finds a node that is named as if it were alone", async () => {
    const { code, of } = await diagnose(cluster.nodes[0]?.url ?? "");
    expect([code, of("topology")]).toEqual([1, "fail: this server is a node of a cluster"]);
  });

  test("finds one master that is set otherwise than the others", async () => {
    const [node] = cluster.nodes;
    const plain = node?.client();
    await plain?.config("SET", "maxmemory-policy", "allkeys-lru");
    await plain?.config("SET", "cluster-node-timeout", "15000");
    const { of } = await diagnose(url());
    await plain?.config("SET", "maxmemory-policy", "noeviction");
    await plain?.config("SET", "cluster-node-timeout", "1500");
    expect(of("eviction")).toContain(`warn: 127.0.0.1:${node?.port}: maxmemory-policy is allkeys-lru`);
    expect(of("cluster")).toBe(
      `warn: 127.0.0.1:${node?.port}: cluster-node-timeout is 15000 ms, over a third of the watchdog's 30000 ms`,
    );
  });

  test.skipIf(isBefore7())("finds a family of messages that is not allowed", async () => {
    const without = knownRights.filter((right) => !/^\+s(?:un)?subscribe$/.test(right));
    let env: NodeJS.ProcessEnv = {};
    for (const node of cluster.nodes) env = await userWith(node.client(), without);
    const { entries } = await diagnose(url(), ["--name", "order:42"], env);
    const finding = entries.find(({ id }) => id === "messages");
    expect(finding).toMatchObject({ level: "warn", wanted: expect.stringContaining('pubSub: "classic"') });
    expect(finding?.found).toContain("SPUBLISH did not come (NOPERM");
  });

  test("finds slots whose master is gone", async () => {
    const [, , lost] = cluster.nodes;
    const [first] = cluster.nodes;
    await lost?.kill();
    const plain = first?.client();
    await soon("the cluster has failed", async () =>
      String(await plain?.cluster("INFO")).startsWith("cluster_state:fail"),
    );
    const { code, of } = await diagnose(url());
    await lost?.restart();
    expect(code).toBe(1);
    expect(of("cluster")).toContain("cluster_state is fail");
    expect(of("messages")).not.toContain("warn");
    expect(of("reach")).toContain(`fail: 127.0.0.1:${lost?.port} does not answer`);
  });
});
