import { readFileSync } from "node:fs";
import { Cluster, Redis } from "ioredis";
import { createClient, createClientPool, createCluster, createSentinel } from "redis";
import { describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { nodeRedisDriver } from "../../src/driver/node-redis/index.js";
import { valkeyGlideDriver } from "../../src/driver/valkey-glide/index.js";

interface Description {
  readonly peerDependencies: Readonly<Record<string, string>>;
}

function description(file: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8"));
}

/** The same client of a version in which a member has another name. */
function without<T extends object>(client: T, member: string): T {
  return new Proxy(client, { has: (target, name) => name !== member && name in target });
}

const lone = () => new Redis({ lazyConnect: true });
const glide = { customCommand() {}, subscribeLazy() {}, getSubscriptions() {}, getPubSubMessage() {} };

describe("a client of a version that was not tested", () => {
  test.each<[string, () => unknown, RegExp]>([
    [
      "mock of ioredis",
      () => ioredisDriver(without(new (class _RedisMock extends Redis {})({ lazyConnect: true }), "mode")),
      /RedisMock is a mock, which has no mode\. .* "holdfast\/memory", as in new Holdfast\(memoryDriver\(\)\)$/,
    ],
    [
      "Redis of ioredis",
      () => ioredisDriver(without(lone(), "duplicate")),
      /^ioredisDriver .* no duplicate\. .* ioredis 5\.9\.2 and 6\.0\.0 and iovalkey 0\.4\.0$/,
    ],
    [
      "Cluster of ioredis",
      () => ioredisDriver(without(new Cluster([], { lazyConnect: true }), "refreshSlotsCache")),
      /no refreshSlotsCache\. .* ioredis 5\.9\.2/,
    ],
    [
      "client of node-redis",
      () => nodeRedisDriver(without(createClient(), "sendCommand")),
      /^nodeRedisDriver .* no sendCommand\. .* node-redis 5\.12\.1 and 6\.3\.1$/,
    ],
    [
      "pool of node-redis",
      () => nodeRedisDriver(without(createClientPool(), "execute")),
      /no execute\. .* node-redis 5/,
    ],
    [
      "Sentinel client of node-redis",
      () =>
        nodeRedisDriver(
          without(createSentinel({ name: "main", sentinelRootNodes: [] }) as never, "_execute"),
        ),
      /no _execute\. .* node-redis 5/,
    ],
    [
      "cluster of node-redis",
      () => nodeRedisDriver(without(createCluster({ rootNodes: [] }), "_slots")),
      /no _slots\. .* node-redis 5/,
    ],
    [
      "client of GLIDE",
      () => valkeyGlideDriver(glide as never, { subscriber: { ...glide } as never }),
      /^valkeyGlideDriver .* no unsubscribeLazy\. .* GLIDE 2\.5\.2$/,
    ],
    [
      "thing like ioredis",
      () => ioredisDriver({ run() {} } as never),
      /got another object; tested with ioredis/,
    ],
    [
      "thing like node-redis",
      () => nodeRedisDriver({} as never),
      /got another object; tested with node-redis/,
    ],
    [
      "thing like GLIDE",
      () => valkeyGlideDriver({} as never, {} as never),
      /got another object; tested with GLIDE/,
    ],
  ])("is refused where it lacks what the adapter uses, with those that were: %s [D2]", (_, make, message) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  test("is not refused by its number: npm would fail the installation of whoever has it for something else", () => {
    const { peerDependencies } = description("package.json") as Description;
    expect(peerDependencies).toEqual({
      "@opentelemetry/api": ">=1.9",
      "@valkey/valkey-glide": ">=2.3",
      fengari: ">=0.1.5",
      ioredis: ">=5",
      iovalkey: ">=0.4",
      redis: ">=5.12",
    });
    const { packages } = description("package-lock.json") as {
      readonly packages: Record<string, Description>;
    };
    expect(packages[""]?.peerDependencies).toEqual(peerDependencies);
  });
});
