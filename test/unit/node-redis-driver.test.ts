import { AsyncLocalStorage, createHook } from "node:async_hooks";
import type { EventEmitter } from "node:events";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { evaluate, Recorder, script } from "../../src/driver/conformance/conformance-case.js";
import { type Driver, DriverClosedError, ServerReplyError } from "../../src/driver/driver.js";
import { NodeRedisConnection, retryDelayMs } from "../../src/driver/node-redis/connections.js";
import { fromNodeRedis } from "../../src/driver/node-redis/errors.js";
import {
  type NodeRedisClient,
  type NodeRedisServer,
  nodeRedisDriver,
} from "../../src/driver/node-redis/index.js";
import { onlyEnd } from "../../src/driver/own/connection.js";
import {
  type ClientOptions,
  type Connectable,
  destroyClient,
  type Version,
  versions,
} from "../support/clients/node-redis-clients.js";
import { cut, dropNextReply, halfOpen } from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import { untilCollected } from "../support/run/garbage.js";
import { openThings, watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import type { RedisServer } from "../support/servers/redis-server.js";
import { workerServer } from "../support/servers/worker-server.js";

const increment = script("increment", 'return redis.call("INCR", KEYS[1])');
const nested = script("nested", 'return { "text", 7, false, { ARGV[1] } }');
const nothing = script("nothing", "return nil");
const key = "counter";
const one = { minimum: 1, maximum: 1 };
const subscribing = "\r\nsubscribe";

let server: RedisServer;
let admin: Redis;
let proxy: TcpProxy;
const clients: Connectable[] = [];
const drivers: Driver[] = [];

beforeAll(async () => {
  server = await workerServer();
  admin = server.client();
});
afterAll(() => server.stop());
watchLeaks({ keys: () => admin });
beforeEach(async () => {
  proxy = await startProxy(server.port);
});
afterEach(async () => {
  await Promise.all(drivers.splice(0).map((driver) => driver.close()));
  await Promise.all(clients.splice(0).map((client) => destroyClient(client)));
  await proxy.close();
  await admin.acl("DELUSER", "guarded");
  await admin.flushall();
});

function made<Client extends Connectable>(client: Client): Client {
  client.on("error", () => undefined);
  clients.push(client);
  return client;
}

function optionsOf(options: ClientOptions): ClientOptions {
  const socket = { host: "127.0.0.1", port: proxy.port, reconnectStrategy: () => 5, ...options.socket };
  return { ...options, socket };
}

function client({ client }: Version, options: ClientOptions = {}): NodeRedisClient & Connectable {
  return made(client(optionsOf(options)));
}

async function connected(version: Version, options?: ClientOptions): Promise<NodeRedisClient & Connectable> {
  const redis = client(version, options);
  await redis.connect();
  return redis;
}

function drive(redis: NodeRedisServer): Driver {
  const driver = nodeRedisDriver(redis);
  drivers.push(driver);
  return driver;
}

function listenersOn(redis: unknown): unknown[] {
  const emitter = redis as EventEmitter;
  return emitter.eventNames().map((name) => [name, emitter.listenerCount(name)]);
}

describe("a client that would break the protocol is refused", () => {
  const [six] = versions;
  it.each([
    ["a client", six.client({ keyPrefix: "app:" })],
    ["a pool", six.pool({ keyPrefix: "app:" }, one)],
    ["a cluster", six.cluster({ rootNodes: [{}], keyPrefix: "app:" } as never)],
    ["Sentinels", six.sentinel({ name: "main", sentinelRootNodes: [], keyPrefix: "app:" } as never)],
  ])("with keyPrefix: %s", (_, redis) => {
    expect(() => nodeRedisDriver(redis)).toThrow(TypeError);
    expect(() => nodeRedisDriver(redis)).toThrow(/keyPrefix "app:".*nameMapper/);
  });

  it.each([
    ["nothing", undefined],
    ["a string", "redis://127.0.0.1"],
    ["a client of ioredis", { evalsha() {}, duplicate() {}, on() {}, options: {} }],
    ["another object", new URL("redis://127.0.0.1")],
  ])("when it is %s, and is told what is needed", (what, redis) => {
    const make = () => nodeRedisDriver(redis as unknown as NodeRedisClient);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(`nodeRedisDriver(createClient({ url })), got ${what}`);
  });
});

describe.each(versions)("traits with node-redis $version", (version) => {
  it.each([
    [{}, "redis://localhost:6379/0"],
    [{ url: "redis://me:secret@[::1]:7000/3" }, "redis://[::1]:7000/3"],
    [{ url: "rediss://db.example" }, "rediss://db.example:6379/0"],
    [{ socket: { path: "/run/redis.sock" }, database: 2 }, "redis+unix:///run/redis.sock/2"],
  ])("of %j name the server without credentials", (options, name) => {
    const redis = version.client(options as ClientOptions);
    expect(drive(redis).traits).toEqual({ server: name, topology: "standalone" });
  });

  it("of a pool name the server as soon as it has a client", async () => {
    const pool = made(version.pool(optionsOf({ username: "default", password: "any" }), one));
    const other = made(version.pool(optionsOf({ username: "default", password: "any" }), one));
    const unknown = [drive(pool), drive(other), drive(pool)].map(({ traits }) => traits.server);
    expect(unknown[0]).toMatch(/^redis:\/\/unknown#\d+$/);
    // For a lock of several servers they are two, and each is itself.
    expect(unknown[1]).not.toBe(unknown[0]);
    expect(unknown[2]).toBe(unknown[0]);
    await pool.connect();
    expect(drive(pool).traits.server).toBe(`redis://127.0.0.1:${proxy.port}/0`);
  });

  it("of a cluster name the servers that it was told of", () => {
    const rootNodes = [{ url: "redis://me:secret@a:7000" }, { socket: { port: 7001 } }] as ClientOptions[];
    const { traits } = nodeRedisDriver(version.cluster({ rootNodes, defaults: { socket: { host: "b" } } }));
    expect(traits.server).toBe("redis+cluster://a:7000,b:7001");
  });
});

describe.each(versions)("scripts on node-redis $version", (version) => {
  it("go along with their text once per connection, and by their name after that", async () => {
    const driver = drive(await connected(version));
    await admin.script("FLUSH");
    await admin.config("RESETSTAT");
    await Promise.all([1, 2, 3].map(() => evaluate(driver, increment, [key])));
    await proxy.inject(cut()).struck;
    await until(() => driver.resets === 1);
    await Promise.all([1, 2, 3].map(() => evaluate(driver, increment, [key])));
    const stats = await admin.info("commandstats");
    expect(stats).toMatch(/cmdstat_eval:calls=2,/);
    expect(stats).toMatch(/cmdstat_evalsha:calls=4,.*failed_calls=0/);
  });

  it("say that a MULTI is open on the connection of the client, and run with its EXEC", async () => {
    const redis = await connected(version);
    const driver = drive(redis);
    await evaluate(driver, increment, [key]);
    await redis.sendCommand(["MULTI"], {});
    await expect(evaluate(driver, increment, [key])).rejects.toThrow("a MULTI is open on the connection");
    expect(await redis.sendCommand(["EXEC"], {})).toEqual([2]);
    expect(await evaluate(driver, increment, [key])).toBe(3);
  });

  it("are sent no second time once they are given up or the driver is closed", async () => {
    const driver = drive(await connected(version));
    await evaluate(driver, increment, [key]);
    await admin.script("FLUSH");
    const ticket = { givenUp: false };
    const call = { script: increment, keys: [key], args: [] };
    const answer = driver.run(call, ticket);
    ticket.givenUp = true;
    await expect(answer).rejects.toMatchObject({ name: "ServerReplyError", code: "NOSCRIPT" });
    const other = driver.run(call, { givenUp: false });
    await Promise.all([expect(other).rejects.toMatchObject({ code: "NOSCRIPT" }), driver.close()]);
    expect(await admin.get(key)).toBe("1");
  });

  it("are answered as they are, whatever the caller's client makes of answers", async () => {
    const typeMapping = { 36: Buffer, 58: String };
    for (const RESP of [2, 3] as const) {
      const driver = drive(await connected(version, { RESP, commandOptions: { typeMapping } as object }));
      expect(await evaluate(driver, nested, [], ["deep"])).toEqual(["text", 7, null, ["deep"]]);
    }
  });

  it("reject with the code of a missing permission, and with the cause", async () => {
    await admin.acl("SETUSER", "guarded", "on", ">right", "+@all", "-@scripting", "~*", "&*");
    const driver = drive(await connected(version, { username: "guarded", password: "right" }));
    const error = await evaluate(driver, increment, [key]).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ServerReplyError);
    expect(error).toMatchObject({ code: "NOPERM", cause: expect.any(Error) });
  });

  it("are refused while the client is not open, and taken when its owner has connected it", async () => {
    const redis = client(version);
    const driver = drive(redis);
    const listener = new Recorder();
    for (const count of [1, 2]) {
      await expect(evaluate(driver, increment, [key])).rejects.toThrow(DriverClosedError);
      await expect(driver.subscribe("news", listener)).rejects.toThrow(
        /is not open: it was not connected yet/,
      );
      await redis.connect();
      expect(await evaluate(driver, increment, [key])).toBe(count);
      await redis.close();
    }
  });

  it("reject when their reply was lost, after a reset, and are not sent again", async () => {
    const driver = drive(await connected(version));
    await evaluate(driver, increment, [key]);
    proxy.inject(dropNextReply({ on: key }));
    const seen: unknown[] = [];
    await evaluate(driver, increment, [key]).catch((error) => seen.push(driver.resets, error));
    expect(seen).toEqual([1, expect.any(Error)]);
    expect(seen[1]).not.toBeInstanceOf(ServerReplyError);
    expect(await evaluate(driver, increment, [key])).toBe(3);
    expect(driver.resets).toBe(1);
  });

  it("tell why there is no connection, without listening to the errors of the client", async () => {
    const redis = await connected(version);
    const listeners = (redis as unknown as EventEmitter).listenerCount("error");
    const driver = drive(redis);
    expect((redis as unknown as EventEmitter).listenerCount("error")).toBe(listeners);
    expect(driver.outage).toBeUndefined();
    proxy.refuse();
    for (const connection of proxy.connections) connection.cut();
    await until(() => (driver.outage as NodeJS.ErrnoException | undefined)?.code === "ECONNREFUSED");
    await proxy.listen();
    await until(() => redis.isReady);
    expect(driver.outage).toBeUndefined();
    expect(driver.resets).toBe(1);
  });

  it("run on a pool of several clients, whose losses count", async () => {
    const pool = made(version.pool(optionsOf({}), { minimum: 3, maximum: 3 }));
    await pool.connect();
    const driver = drive(pool);
    await Promise.all(Array.from({ length: 9 }, () => evaluate(driver, increment, [key])));
    expect(await admin.get(key)).toBe("9");
    await proxy.inject(cut({ on: "\r\neval" })).struck;
    await until(() => driver.resets > 0);
    expect(driver.outage).toBeInstanceOf(Error);
    await until(() => evaluate(driver, increment, [key]).then(Boolean, () => false));
    expect(driver.outage).toBeUndefined();
  });

  it("have a pool connect outside the caller's context", async () => {
    const pool = made(version.pool(optionsOf({}), { minimum: 1, maximum: 3, cleanupDelay: 100 }));
    const requests = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    pool.on("error", () => seen.push(requests.getStore()));
    await pool.connect();
    const driver = drive(pool);
    await requests.run("request", () => Promise.all([1, 2, 3].map(() => evaluate(driver, increment, [key]))));
    for (const connection of proxy.connections) connection.cut();
    await until(() => seen.length > 0 && pool.totalClients === 1);
    expect(seen).toEqual(seen.map(() => undefined));
  });
});

describe.each(versions)("the subscriber on node-redis $version", (version) => {
  it("is opened by the first subscription, once for all, and never before", async () => {
    const driver = drive(await connected(version));
    await evaluate(driver, nothing);
    expect(proxy.accepted).toBe(1);
    await Promise.all(["a", "b", "c"].map((channel) => driver.subscribe(channel, new Recorder())));
    await driver.subscribe("d", new Recorder());
    expect(proxy.accepted).toBe(2);
  });

  it("does not keep the process alive, neither connected nor while it waits to connect again", async () => {
    let noticed = () => {};
    const reconnectStrategy = () => {
      noticed();
      return 600_000;
    };
    // Without the proxy, whose sockets would be counted too.
    const driver = drive(await connected(version, { socket: { port: server.port, reconnectStrategy } }));
    await evaluate(driver, nothing);
    const before = { ...openThings(), sockets: socketsThatKeepAlive() };
    const keepsAlive = () =>
      socketsThatKeepAlive() > before.sockets ||
      [...openThings().things.keys()].some((thing) => !before.things.has(thing) && isTimerWithRef(thing));
    await driver.subscribe("news", new Recorder());
    expect(keepsAlive()).toBe(false);
    const waits = new Promise<void>((resolve) => {
      noticed = resolve;
    });
    await admin.call("CLIENT", "KILL", "TYPE", "pubsub");
    await waits;
    expect(keepsAlive()).toBe(false);
  });

  it("runs its listeners outside the caller's context, also after it reconnected", async () => {
    const requests = new AsyncLocalStorage<string>();
    const driver = drive(await connected(version));
    const seen: unknown[] = [];
    const heard = new Recorder();
    const listener = {
      onMessage: (message: string) => {
        seen.push(requests.getStore());
        heard.onMessage(message);
      },
      onReady: () => {
        seen.push(requests.getStore());
        heard.onReady();
      },
    };
    await requests.run("request", () => driver.subscribe("news", listener));
    await admin.publish("news", "1");
    await heard.until(2);
    await proxy.inject(cut({ on: subscribing })).struck;
    await heard.until(3);
    await admin.publish("news", "2");
    await heard.until(4);
    expect(seen).toEqual(new Array(4).fill(undefined));
  });

  it("lets go of the caller's credentials with each connection that is lost", async () => {
    let subscriptions = 0;
    const dispose = () => {
      subscriptions -= 1;
    };
    const credentialsProvider = {
      type: "streaming-credentials-provider",
      subscribe: async () => {
        subscriptions += 1;
        return [{ username: "default", password: "any" }, { dispose }];
      },
      onReAuthenticationError() {},
    };
    const driver = drive(await connected(version, { credentialsProvider } as ClientOptions));
    const listener = new Recorder();
    await driver.subscribe("news", listener);
    for (const times of [2, 3, 4]) {
      await proxy.inject(cut({ on: subscribing })).struck;
      await listener.until(times);
      // The caller's own, and that of the connection that listens now.
      expect(subscriptions).toBe(2);
    }
    await driver.close();
    expect(subscriptions).toBe(1);
  });

  it("rejects with what the server or the network says, and works as soon as it can", async () => {
    await admin.acl("SETUSER", "guarded", "on", ">right", "+@all", "~*", "resetchannels", "&open");
    const driver = drive(await connected(version, { username: "guarded", password: "right" }));
    const listener = new Recorder();
    await driver.subscribe("open", listener);
    await expect(driver.subscribe("secret", listener)).rejects.toMatchObject({ code: "NOPERM" });
    await admin.acl("SETUSER", "guarded", "resetpass", ">other");
    const other = drive(await connectedElsewhere(version));
    await expect(other.subscribe("open", new Recorder())).rejects.toMatchObject({ code: "WRONGPASS" });
    proxy.refuse();
    const third = drive(await connectedPast(version));
    await expect(third.subscribe("news", new Recorder())).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await proxy.listen();
    await third.subscribe("news", listener);
    await admin.acl("DELUSER", "guarded");
  });

  it("is not opened again once the caller's reconnectStrategy gives up, until somebody subscribes", async () => {
    const retries: number[] = [];
    const reconnectStrategy = (count: number) => {
      retries.push(count);
      return count < 2 ? 1 : (false as const);
    };
    const redis = await connected(version, { socket: { reconnectStrategy } });
    const driver = drive(redis);
    const listener = new Recorder();
    await driver.subscribe("news", listener);
    const lift = proxy.addRule({
      request(connection) {
        connection.cut();
        return "drop";
      },
    });
    await proxy.inject(cut({ on: subscribing })).struck;
    await until(() => retries.at(-1) === 2);
    lift();
    await driver.subscribe("other-news", new Recorder());
    await listener.until(2);
    expect(retries).toEqual([0, 1, 2]);
  });

  describe("when the driver is closed", () => {
    it("ends its connections, leaves the caller's client and takes its listeners off it", async () => {
      const redis = await connected(version);
      const before = listenersOn(redis);
      const driver = drive(redis);
      const call = { script: increment, keys: [key], args: [] };
      await driver.runReplicated?.(call, { givenUp: false }, { replicas: "connected", timeoutMs: 100 });
      const leave = await driver.subscribe("news", new Recorder());
      expect(proxy.accepted).toBe(3);
      await driver.close();
      expect(listenersOn(redis)).toEqual(before);
      await until(() => proxy.connections.length === 1);
      expect(await redis.sendCommand(["PING"], {})).toBe("PONG");
      await Promise.all([leave(), driver.close()]);
    });

    it("does no harm to listeners that the caller adds later, where he had none", async () => {
      const redis = version.client(optionsOf({}));
      await drive(redis).close();
      const heard: unknown[] = [];
      redis.on("error", (error) => heard.push(error));
      clients.push(redis);
      await redis.connect();
      await proxy.inject(cut()).struck;
      await until(() => heard.length > 0);
      expect(heard[0]).toBeInstanceOf(Error);
    });

    it("ends a connection that is only about to be made", async () => {
      const driver = drive(await connected(version));
      const joining = driver.subscribe("news", new Recorder()).catch((error: unknown) => error);
      await until(() => [...openThings().things.values()].filter(isSocketOfClient).length > 1);
      await driver.close();
      expect(await joining).toBeInstanceOf(DriverClosedError);
      await until(() => proxy.accepted === 2 && proxy.connections.length === 1);
    });

    it.each([
      ["stopped", () => server.pause(), () => server.resume()],
      ["cut off", async () => void proxy.inject(halfOpen()), () => undefined],
    ])("does not wait for a server that is %s", async (_, hurt, heal) => {
      const driver = drive(await connected(version));
      const leave = await driver.subscribe("news", new Recorder());
      await hurt();
      const [joining, leaving] = [driver.subscribe("other", new Recorder()), leave()];
      const refused = expect(joining).rejects.toBeInstanceOf(DriverClosedError);
      await driver.close();
      await Promise.all([refused, leaving]);
      heal();
    });
  });
});

describe("a connection to a master", () => {
  const own = { on() {}, unref() {}, destroy() {}, connect: async () => {}, sendCommand: async () => "OK" };
  const unheard = onlyEnd(() => undefined);
  const open = () => new NodeRedisConnection(async () => own as never, "classic", unheard);

  it("keeps nobody who has sent something", async () => {
    const requests = new AsyncLocalStorage<object>();
    const link = open();
    const senders: WeakRef<object>[] = [];
    const send = async () => {
      const sender = {};
      senders.push(new WeakRef(sender));
      await requests.run(sender, () => link.send(["PING"]));
    };
    for (let i = 0; i < 50; i++) await send();
    const isCollected = () => senders.every((sender) => sender.deref() === undefined);
    await expect(untilCollected(isCollected)).resolves.toBeUndefined();
    await link.close();
  });

  it("keeps nothing of what was answered", async () => {
    const link = open();
    await link.send(["PING"]);
    const promises: WeakRef<object>[] = [];
    const init = (_: number, type: string, __: number, made: object) => {
      if (type === "PROMISE") promises.push(new WeakRef(made));
    };
    const watch = createHook({ init }).enable();
    for (let i = 0; i < 100; i++) await link.send(["PING"]);
    watch.disable();
    // The test itself has some.
    const isCollected = () => promises.filter((promise) => promise.deref() !== undefined).length < 50;
    await expect(untilCollected(isCollected)).resolves.toBeUndefined();
    await link.close();
  });
});

/** A client that is connected as one user and opens its further connections as another, who is refused. */
async function connectedElsewhere(version: Version): Promise<NodeRedisClient> {
  const redis = await connected(version, { username: "guarded", password: "other" });
  await admin.acl("SETUSER", "guarded", "resetpass", ">another");
  return redis;
}

/** A client whose further connections, unlike its first, go through the proxy. */
async function connectedPast(version: Version): Promise<NodeRedisClient> {
  const redis = client(version, { socket: { port: server.port } });
  await redis.connect();
  Object.assign(redis.options?.socket ?? {}, { port: proxy.port });
  return redis;
}

it("waits between connections as the caller's client does", () => {
  expect(retryDelayMs(7, 1)).toBe(7);
  expect(retryDelayMs(false, 1)).toBeUndefined();
  expect(retryDelayMs((retries) => retries * 10, 3)).toBe(20);
  expect(retryDelayMs(() => new Error("enough"), 1)).toBeUndefined();
  expect(retryDelayMs(undefined, 1)).toBeLessThanOrEqual(250);
  expect(retryDelayMs(undefined, 1_000)).toBeGreaterThanOrEqual(2_000);
});

it("knows answers of the server also where a minifier renamed the class", () => {
  class E extends Error {}
  expect(fromNodeRedis(new E("WRONGTYPE Operation against a key"))).toMatchObject({ code: "WRONGTYPE" });
  class SimpleError extends Error {}
  expect(fromNodeRedis(new SimpleError("as a script likes"))).toMatchObject({ code: "ERR" });
  for (const other of [
    new Error("Socket closed unexpectedly"),
    Object.assign(new Error("EPROTO it broke"), { code: "EPROTO" }),
    "text",
  ])
    expect(fromNodeRedis(other)).toBe(other);
});

function isSocketOfClient(thing: string): boolean {
  return thing.includes("@redis/client");
}

function socketsThatKeepAlive(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}

function isTimerWithRef(thing: object): boolean {
  return "hasRef" in thing && typeof thing.hasRef === "function" && thing.hasRef() === true;
}
