import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { selectedDatabase, startupNodesOf } from "../../src/driver/ioredis/unofficial.js";
import { execute, keyPrefixOf, optionsOf, rediscover } from "../../src/driver/node-redis/unofficial.js";
import { hiddenOf } from "../../src/driver/valkey-glide/unofficial.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { ioredisFlavours } from "../support/clients/ioredis-flavours.js";
import { versions } from "../support/clients/node-redis-clients.js";
import { closeGlideClients, glideSubscriber } from "../support/clients/valkey-glide-clients.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";

let server: RedisServer;
let admin: Redis;
beforeAll(async () => {
  server = await startRedis();
  admin = server.client();
});
afterAll(() => server.stop());
watchLeaks({ keys: () => admin });
afterEach(() => closeGlideClients());

describe("what a library keeps private", () => {
  it.each([
    ["ioredis", ["ioredis", "ioredis5", "iovalkey"]],
    ["node-redis", ["redis", "redis5"]],
    ["valkey-glide", ["@valkey/valkey-glide"]],
  ])("was seen in the versions of %s that are tested", (adapter, installed) => {
    const file = new URL(`../../src/driver/${adapter}/unofficial.ts`, import.meta.url);
    const text = readFileSync(file, "utf8");
    for (const name of installed) {
      const description = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
      expect(text).toContain(JSON.parse(readFileSync(description, "utf8")).version);
    }
  });
});

describe.each(ioredisFlavours)("$name", ({ redis, cluster }) => {
  it("knows the servers that a cluster's client was told of", () => {
    const nodes = [{ host: "127.0.0.1", port: server.port }];
    const client = cluster(nodes, {});
    client.on("error", () => undefined);
    client.disconnect();
    expect(startupNodesOf(client)).toEqual(nodes);
  });

  it("knows the database that SELECT has chosen", async () => {
    const client = redis({ host: "127.0.0.1", port: server.port });
    await once(client, "ready");
    await client.select(3);
    expect(selectedDatabase(client)).toBe(3);
    await destroyClient(client);
  });
});

describe.each(versions)("node-redis $version", (version) => {
  it("shows the prefix of keys where there can be one", () => {
    const prefixed = version.client({ keyPrefix: "app:" });
    expect(keyPrefixOf(prefixed)).toBe(version.version === 6 ? "app:" : undefined);
    expect(keyPrefixOf(version.client({}))).toBeUndefined();
  });

  it("shows the options of a cluster, and can be made to ask who has which slot", async () => {
    const cluster = version.cluster({ rootNodes: [], defaults: { username: "me" } });
    expect(optionsOf(cluster).defaults).toMatchObject({ username: "me" });
    // It finds none to ask.
    await expect(rediscover(cluster, undefined)).rejects.toThrow();
  });

  it("has a Sentinel's client do something with the master's", () => {
    const sentinel = version.sentinel({ name: "main", sentinelRootNodes: [] });
    const ended = expect(execute(sentinel, async () => undefined)).rejects.toThrow();
    return ended;
  });
});

it("GLIDE shows what a client was made with", async () => {
  const { config, defaultDecoder } = hiddenOf(await glideSubscriber(server.port, { databaseId: 2 }));
  expect(config).toMatchObject({ addresses: [{ host: "127.0.0.1", port: server.port }], databaseId: 2 });
  expect(defaultDecoder).toBe(0);
});
