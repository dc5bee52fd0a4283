import { EventEmitter, once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { nodeRedisDriver } from "../../src/driver/node-redis/index.js";
import { listen, unlisten } from "../../src/driver/shared-listeners.js";
import { Holdfast } from "../../src/holdfast.js";
import { destroyClient as destroyIoredis } from "../support/clients/ioredis-clients.js";
import { ioredisFlavours } from "../support/clients/ioredis-flavours.js";
import { destroyClient, versions } from "../support/clients/node-redis-clients.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";

const MANY = 50;

let server: RedisServer;
const warnings: string[] = [];
const onWarning = ({ name }: Error) => void warnings.push(name);
beforeAll(async () => {
  server = await startRedis();
  process.on("warning", onWarning);
});
afterAll(async () => {
  process.off("warning", onWarning);
  await server.stop();
});
watchLeaks();

interface Client {
  /** Those events that it emits to the drivers. */
  readonly emitter: Pick<EventEmitter, "eventNames" | "listenerCount">;
  drive(): Driver;
  end(): Promise<unknown>;
}

const place = () => ({ host: "127.0.0.1", port: server.port });

const clients: readonly (readonly [name: string, connect: () => Promise<Client>])[] = [
  ...ioredisFlavours.flatMap(({ name, redis, cluster }) => [
    [
      name,
      async (): Promise<Client> => {
        const client = redis(place());
        await once(client, "ready");
        return { emitter: client, drive: () => ioredisDriver(client), end: () => destroyIoredis(client) };
      },
    ] as const,
    [
      `${name}, a cluster`,
      async (): Promise<Client> => {
        const client = cluster([place()], { lazyConnect: true });
        return {
          emitter: client as unknown as EventEmitter,
          drive: () => ioredisDriver(client),
          end: async () => client.disconnect(),
        };
      },
    ] as const,
  ]),
  ...versions.flatMap(({ version, ...kinds }) => {
    const url = () => `redis://127.0.0.1:${server.port}`;
    const made = {
      client: () => kinds.client({ url: url() }),
      pool: () => kinds.pool({ url: url() }, { minimum: 1, maximum: 1 }),
      "Sentinel client": () => kinds.sentinel({ name: "main", sentinelRootNodes: [place()] }),
      cluster: () => kinds.cluster({ rootNodes: [{ url: url() }] }),
    };
    return Object.entries(made).map(
      ([kind, make]) =>
        [
          `node-redis ${version}, a ${kind}`,
          async (): Promise<Client> => {
            const client = make();
            client.on("error", () => undefined);
            return {
              emitter: client as unknown as EventEmitter,
              drive: () => nodeRedisDriver(client),
              end: () => destroyClient(client),
            };
          },
        ] as const,
    );
  }),
];

function listenersOf({ emitter }: Client): Record<string, number> {
  return Object.fromEntries(
    emitter.eventNames().map((event) => [String(event), emitter.listenerCount(event)]),
  );
}

test.each(clients)(
  "%s has as many listeners with fifty Holdfasts as with one, and none once they are closed [own-95]",
  async (_, connect) => {
    const client = await connect();
    const before = listenersOf(client);
    const first = new Holdfast(client.drive());
    const withOne = listenersOf(client);
    const others = Array.from({ length: MANY - 1 }, () => new Holdfast(client.drive()));
    expect(listenersOf(client)).toEqual(withOne);
    expect(withOne).not.toEqual(before);
    await first.close();
    expect(listenersOf(client)).toEqual(withOne);
    await Promise.all(others.map((holdfast) => holdfast.close()));
    expect(listenersOf(client)).toEqual(before);
    await new Promise(setImmediate);
    expect(warnings).toEqual([]);
    await client.end();
  },
);

test("each driver hears what its client emits, until it is closed", () => {
  const emitter = new EventEmitter();
  const heard: string[] = [];
  const [one, other] = [
    (what: string) => void heard.push(`one ${what}`),
    (what: string) => void heard.push(`other ${what}`),
  ];
  listen(emitter, "news", one);
  listen(emitter, "news", other);
  emitter.emit("news", "a");
  unlisten(emitter, "news", one);
  emitter.emit("news", "b");
  unlisten(emitter, "news", other);
  unlisten(emitter, "news", other);
  emitter.emit("news", "c");
  listen(emitter, "news", one);
  emitter.emit("news", "d");
  expect(heard).toEqual(["one a", "other a", "other b", "one d"]);
});
