import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/index.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { release } from "../support/jvm/interop.js";
import { type Redisson, startRedisson } from "../support/jvm/redisson.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";
import { root } from "../support/tidy/tree.js";

const HOUR_MS = 3_600_000;
const EVERY_MS = 5_000;

let server: RedisServer;
let redisson: Redisson;
beforeAll(async () => {
  [server, redisson] = await Promise.all([startRedis(), startRedisson(release)]);
});
afterAll(async () => {
  await redisson?.stop();
  await server?.stop();
});

describe(`Redisson ${release}: a JVM that tells that it is there`, () => {
  test("is in the list with its name, under the id of its holders, for an hour, until it leaves", async () => {
    const redis = server.client();
    const holdfast = new Holdfast(ioredisDriver(redis));
    const jvm = await redisson.connect(server.url);
    const lock = { kind: "lock", name: "order:7" } as const;
    await jvm.thread("t").call(lock, "lock");
    await jvm.presence("tell", "default", { app: "billing", host: "pod-7", labels: { region: "eu" } });

    const { clients, atMs } = await holdfast.fleet();
    expect(clients).toMatchObject([
      { id: jvm.id, state: "there", everyMs: EVERY_MS, app: "billing", host: "pod-7", pid: null, holds: [] },
    ]);
    const [holder = ""] = (await holdfast.inspect("order:7")).holders;
    expect(holder.startsWith(`${jvm.id}:`)).toBe(true);

    const at = Number(await redis.hget(`holdfast_client:{default}:${jvm.id}`, "at"));
    expect(Math.abs(atMs - at)).toBeLessThan(HOUR_MS);
    expect(await redis.zscore("holdfast_clients:{default}", jvm.id)).toBe(String(at + 3 * EVERY_MS));
    for (const key of await redis.keys("holdfast_client*")) {
      const ttlMs = await redis.pttl(key);
      expect(ttlMs).toBeGreaterThan(HOUR_MS / 2);
      expect(ttlMs).toBeLessThanOrEqual(HOUR_MS + 3 * EVERY_MS);
    }

    await jvm.thread("t").call(lock, "unlock");
    await jvm.presence("leave", "default", {});
    expect(await redis.keys("holdfast_client*")).toEqual([]);
    await holdfast.close();
    await jvm.disconnect();
    await destroyClient(redis);
  });

  test("runs the class that the guide shows", () => {
    const file = join(root, "interop/src/main/java/holdfast/interop/HoldfastPresence.java");
    const [, shown] =
      /```java\n([\s\S]*?)```/.exec(readFileSync(join(root, "docs/guide/presence.md"), "utf8")) ?? [];
    expect(readFileSync(file, "utf8")).toBe(`package holdfast.interop;\n\n${shown}`);
  });
});
