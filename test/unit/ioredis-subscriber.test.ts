import { AsyncLocalStorage } from "node:async_hooks";
import { Redis, type RedisOptions } from "ioredis";
import { Redis as Redis5, type RedisOptions as Redis5Options } from "ioredis5";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { evaluate, Recorder, script } from "../../src/driver/conformance/conformance-case.js";
import { type Driver, DriverClosedError } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { destroyClient, quickEnd } from "../support/clients/ioredis-clients.js";
import {
  cut,
  cutBeforeForward,
  delay,
  dropNextReply,
  halfOpen,
  refuse,
} from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import { untilCollected } from "../support/run/garbage.js";
import { openThings, watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import type { RedisServer } from "../support/servers/redis-server.js";
import { workerServer } from "../support/servers/worker-server.js";

const nothing = script("nothing", "return nil");
const subscribing = "\r\nsubscribe";

let server: RedisServer;
let admin: Redis;
let proxy: TcpProxy;
const clients: (Redis | Redis5)[] = [];
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
  vi.useRealTimers();
  await Promise.all(drivers.splice(0).map((driver) => driver.close()));
  await Promise.all(clients.splice(0).map((redis) => destroyClient(redis)));
  await proxy.close();
});

type Options = Omit<RedisOptions, "replyMapping">;

interface Version {
  readonly version: number;
  connect(options: Options): Redis | Redis5;
}

const versions: readonly Version[] = [
  { version: 6, connect: (options) => new Redis(options) },
  { version: 5, connect: (options) => new Redis5(options as unknown as Redis5Options) },
];

describe.each(versions)("the subscriber on ioredis $version", ({ connect }) => {
  function client(options: Options = {}): Redis | Redis5 {
    const redis = connect({
      host: "127.0.0.1",
      port: proxy.port,
      retryStrategy: () => 5,
      ...quickEnd,
      ...options,
    });
    redis.on("error", () => undefined);
    clients.push(redis);
    return redis;
  }

  function drive(redis: Redis | Redis5): Driver {
    const driver = ioredisDriver(redis);
    drivers.push(driver);
    return driver;
  }

  it("is opened by the first subscription, once for all, and never before", async () => {
    const driver = drive(client());
    await evaluate(driver, nothing);
    expect(proxy.accepted).toBe(1);
    await Promise.all(["a", "b", "c"].map((channel) => driver.subscribe(channel, new Recorder())));
    await driver.subscribe("d", new Recorder());
    expect(proxy.accepted).toBe(2);
  });

  it("has one subscription of the server for a channel, whoever listens to it", async () => {
    const driver = drive(client());
    await admin.config("RESETSTAT");
    const leaveBefore = await driver.subscribe("news", new Recorder());
    const leave = await driver.subscribe("news", new Recorder());
    await leaveBefore();
    await leave();
    const stats = await admin.info("commandstats");
    expect(stats).toMatch(/cmdstat_subscribe:calls=1,/);
    expect(stats).toMatch(/cmdstat_unsubscribe:calls=1,/);
  });

  it("does not keep the process alive, neither connected nor while it waits to connect again", async () => {
    // Without the proxy, whose sockets would be counted too.
    const redis = client({ port: server.port });
    const driver = drive(redis);
    await evaluate(driver, nothing);
    const before = { ...openThings(), sockets: socketsThatKeepAlive() };
    const keepsAlive = () =>
      socketsThatKeepAlive() > before.sockets ||
      [...openThings().things.keys()].some((thing) => !before.things.has(thing) && isTimerWithRef(thing));
    const listener = new Recorder();
    await driver.subscribe("news", listener);
    expect(keepsAlive()).toBe(false);
    await admin.call("CLIENT", "KILL", "TYPE", "pubsub");
    await listener.until(2);
    expect(keepsAlive()).toBe(false);

    const noticed = waitsForEver(redis);
    await admin.call("CLIENT", "KILL", "TYPE", "pubsub");
    await noticed;
    expect(keepsAlive()).toBe(false);
  });

  it("runs its listeners outside the caller's context, also after it reconnected", async () => {
    const requests = new AsyncLocalStorage<string>();
    const driver = drive(client());
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
    await requests.run("request", () => driver.subscribe("more-news", listener));
    await admin.publish("news", "1");
    await heard.until(3);
    await proxy.inject(cut({ on: subscribing })).struck;
    await heard.until(5);
    await admin.publish("news", "2");
    await heard.until(6);
    expect(seen).toEqual(new Array(6).fill(undefined));
  });

  it("holds on to no context of the request that opened it", async () => {
    const requests = new AsyncLocalStorage<object>();
    const driver = drive(client({ lazyConnect: true }));
    const pinned = await (async () => {
      const request = { data: new Array(1_000) };
      await requests.run(request, async () => {
        await evaluate(driver, nothing);
        await driver.subscribe("news", new Recorder());
      });
      return new WeakRef(request);
    })();
    await expect(untilCollected(() => pinned.deref() === undefined)).resolves.toBeUndefined();
  });

  it("rejects when the server can not be reached, and works as soon as it can", async () => {
    const redis = client();
    const driver = drive(redis);
    await evaluate(driver, nothing);
    const retryStrategy = vi.fn(() => 5);
    redis.options.retryStrategy = retryStrategy;
    proxy.inject(refuse);
    const failed = ["news", "more-news"].map((channel) => driver.subscribe(channel, new Recorder()));
    for (const failure of failed) await expect(failure).rejects.toMatchObject({ code: "ECONNREFUSED" });
    // Nobody listens, so nothing is tried again.
    expect(retryStrategy).not.toHaveBeenCalled();
    await proxy.heal();

    const listener = new Recorder();
    await driver.subscribe("news", listener);
    await admin.publish("news", "hello");
    await listener.until(2);
    expect(listener.heard).toEqual(["ready", ">hello"]);
    expect(proxy.accepted).toBe(2);
  });

  it("stops trying to connect when the last listener has left", async () => {
    const redis = client();
    const driver = drive(redis);
    const leave = await driver.subscribe("news", new Recorder());
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const noticed = waitsForEver(redis);
    await proxy.inject(cut({ on: subscribing })).struck;
    await noticed;
    await leave();
    vi.advanceTimersByTime(600_000);
    vi.useRealTimers();
    await evaluate(driver, nothing);
    expect(proxy.accepted).toBe(2);
  });

  it("rejects when the server refuses a channel, without harm to others or to later tries", async () => {
    await admin.acl("SETUSER", "guarded", "on", "nopass", "+@all", "~*", "resetchannels", "&open*");
    const driver = drive(client({ username: "guarded", password: "any" }));
    const listener = new Recorder();
    await driver.subscribe("open", listener);
    const refused = await Promise.allSettled(
      ["secret", "more-secret"].map((channel) => driver.subscribe(channel, new Recorder())),
    );
    for (const result of refused) {
      expect(result).toMatchObject({ reason: { name: "ServerReplyError", code: "NOPERM" } });
    }
    await admin.publish("open", "still there");
    await listener.until(2);
    await admin.acl("SETUSER", "guarded", "&secret");
    await driver.subscribe("secret", listener);
    expect(listener.heard).toEqual(["ready", ">still there", "ready"]);
    await admin.acl("DELUSER", "guarded");
  });

  it("does not take over the caller's policies on slow and refused commands", async () => {
    await admin.acl("SETUSER", "guarded", "on", "nopass", "+@all", "~*", "resetchannels", "&open");
    const redis = client({ username: "guarded", password: "any" });
    await redis.ping();
    redis.options.commandTimeout = 20;
    redis.options.reconnectOnError = () => true;
    const driver = drive(redis);
    proxy.inject(delay(30));
    const listener = new Recorder();
    await driver.subscribe("open", listener);
    await expect(driver.subscribe("secret", new Recorder())).rejects.toMatchObject({ code: "NOPERM" });
    await admin.publish("open", "still there");
    await listener.until(2);
    expect(listener.heard).toEqual(["ready", ">still there"]);
    await admin.acl("DELUSER", "guarded");
  });

  it("leaves no timer behind when a connection breaks in its handshake", async () => {
    const redis = client({ disconnectTimeout: 60_000 });
    await redis.ping();
    const driver = drive(redis);
    const { struck } = proxy.inject(cutBeforeForward());
    await expect(driver.subscribe("news", new Recorder())).rejects.toThrow();
    expect((await struck)?.id).toBe(2);
  });

  it("rejects when the connection breaks before the answer, and tries again for those who listened before", async () => {
    const driver = drive(client());
    const listener = new Recorder();
    await driver.subscribe("news", listener);
    proxy.inject(dropNextReply({ on: "other-news" }));
    await expect(driver.subscribe("other-news", new Recorder())).rejects.toThrow();
    await listener.until(2);
    await admin.publish("news", "hello");
    await listener.until(3);
    expect(listener.heard).toEqual(["ready", "ready", ">hello"]);
  });

  it("opens a new connection after the caller's retryStrategy gave up, for all who listen", async () => {
    const redis = client();
    const driver = drive(redis);
    const [old, young] = [new Recorder(), new Recorder()];
    const leave = await driver.subscribe("old", old);
    const times: number[] = [];
    redis.options.retryStrategy = (attempt) => {
      times.push(attempt);
      return attempt < 3 ? 1 : null;
    };
    proxy.inject(refuse);
    await proxy.inject(cut({ on: subscribing })).struck;
    await until(() => times.length === 3);
    await proxy.heal();
    await driver.subscribe("young", young);
    await old.until(2);
    expect(times).toEqual([1, 2, 3]);
    await leave();
    expect(await admin.publish("old", "unheard")).toBe(0);
  });

  it("does not wait for its next turn when somebody subscribes", async () => {
    const redis = client();
    const driver = drive(redis);
    const listener = new Recorder();
    await driver.subscribe("news", listener);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const again = waitsForEver(redis);
    await proxy.inject(cut({ on: subscribing })).struck;
    await again;
    await driver.subscribe("more-news", new Recorder());
    await listener.until(2);
    // Its turn comes, and finds nothing to do.
    vi.advanceTimersByTime(600_000);
    vi.useRealTimers();
    await evaluate(driver, nothing);
    expect(proxy.accepted).toBe(3);
  });

  it("counts only the failures in a row for the caller's retryStrategy", async () => {
    const redis = client();
    const driver = drive(redis);
    const listener = new Recorder();
    await driver.subscribe("news", listener);
    const retryStrategy = vi.fn((_times: number) => 1);
    redis.options.retryStrategy = retryStrategy;
    for (const ready of [2, 3]) {
      await proxy.inject(cut({ on: subscribing })).struck;
      await listener.until(ready);
    }
    expect(retryStrategy.mock.calls).toEqual([[1], [1]]);
  });

  it("gives up a connection that answers nothing", async () => {
    const driver = drive(client());
    const listener = new Recorder();
    await driver.subscribe("news", listener);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    proxy.inject(halfOpen({ on: subscribing }));
    const waiting = driver.subscribe("other", new Recorder()).catch((error: unknown) => error);
    await until(() => proxy.carrying("other").length === 1);
    vi.advanceTimersByTime(5_000);
    expect(await waiting).toMatchObject({ message: "the subscriber got no answer within 5000 ms" });
    vi.useRealTimers();
    await proxy.heal();
    await driver.subscribe("other", new Recorder());
    await listener.until(2);
  });

  it("gives up a server that accepts its connection and says nothing", async () => {
    const driver = drive(client());
    await evaluate(driver, nothing);
    await server.pause();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const waiting = driver.subscribe("news", new Recorder()).catch((error: unknown) => error);
    await until(() => proxy.connections[1]?.commands.size !== 0 && proxy.accepted === 2);
    vi.advanceTimersByTime(10_000);
    expect(await waiting).toMatchObject({ message: "the subscriber was not ready within 10000 ms" });
    vi.useRealTimers();
    server.resume();
    await driver.subscribe("news", new Recorder());
  });

  it("leaves a connection that has nothing to do in peace", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const driver = drive(client());
    const listener = new Recorder();
    await driver.subscribe("news", listener);
    vi.advanceTimersByTime(600_000);
    vi.useRealTimers();
    await evaluate(driver, nothing);
    expect(await admin.publish("news", "hello")).toBe(1);
    await listener.until(2);
    expect(listener.heard).toEqual(["ready", ">hello"]);
  });

  describe("when the driver is closed", () => {
    it("ends its connection, leaves the caller's client and takes its listeners off it", async () => {
      const redis = client();
      const counts = () => redis.eventNames().map((name) => [name, redis.listenerCount(name)]);
      await redis.ping();
      const before = counts();
      const driver = drive(redis);
      const leave = await driver.subscribe("news", new Recorder());
      await driver.close();
      const sockets = [...openThings().things.values()].filter((thing) =>
        thing.includes(`to ${proxy.port} `),
      );
      expect(sockets).toHaveLength(1);
      expect(counts()).toEqual(before);
      await until(() => proxy.connections.length === 1);
      expect(await redis.ping()).toBe("PONG");
      await Promise.all([leave(), driver.close()]);
    });

    it("rejects who was still joining, and connects no more", async () => {
      const redis = client();
      await redis.ping();
      const driver = drive(redis);
      const joining = driver.subscribe("news", new Recorder()).catch((error: unknown) => error);
      await driver.close();
      expect(await joining).toBeInstanceOf(DriverClosedError);
      await redis.ping();
      expect(proxy.accepted).toBe(1);
    });

    it.each([
      ["stopped", () => server.pause(), () => server.resume()],
      ["cut off", async () => void proxy.inject(halfOpen()), () => undefined],
    ])("does not wait for a server that is %s", async (_, hurt, heal) => {
      const driver = drive(client());
      const leave = await driver.subscribe("news", new Recorder());
      await hurt();
      const [joining, leaving] = [driver.subscribe("other", new Recorder()), leave()];
      const refused = expect(joining).rejects.toBeInstanceOf(DriverClosedError);
      const startMs = performance.now();
      await driver.close();
      expect(performance.now() - startMs).toBeLessThan(1_000);
      await Promise.all([refused, leaving]);
      heal();
    });

    it("does not wait for a server that is gone", async () => {
      const redis = client();
      const driver = drive(redis);
      await driver.subscribe("news", new Recorder());
      const noticed = waitsForEver(redis);
      proxy.inject(refuse);
      await proxy.inject(cut({ on: subscribing })).struck;
      await noticed;
      await expect(driver.close()).resolves.toBeUndefined();
    });
  });
});

/** From now on the subscriber does not connect again. Resolves when it has first noticed that it lost its connection. */
function waitsForEver(redis: Redis | Redis5): Promise<void> {
  return new Promise((resolve) => {
    redis.options.retryStrategy = () => {
      resolve();
      return 600_000;
    };
  });
}

function socketsThatKeepAlive(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}

function isTimerWithRef(thing: object): boolean {
  return "hasRef" in thing && typeof thing.hasRef === "function" && thing.hasRef() === true;
}
