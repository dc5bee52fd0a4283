import { AsyncLocalStorage } from "node:async_hooks";
import { Redis, type RedisOptions } from "ioredis";
import { Redis as Redis5, type RedisOptions as Redis5Options } from "ioredis5";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { evaluate, script } from "../../src/driver/conformance/conformance-case.js";
import { type Driver, DriverClosedError, ServerReplyError } from "../../src/driver/driver.js";
import { fromIoredis } from "../../src/driver/ioredis/errors.js";
import { type IoredisClient, ioredisDriver } from "../../src/driver/ioredis/index.js";
import { destroyClient, quickEnd } from "../support/clients/ioredis-clients.js";
import { cut, cutBeforeForward, dropNextReply, halfOpen } from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import type { RedisServer } from "../support/servers/redis-server.js";
import { workerServer } from "../support/servers/worker-server.js";

const increment = script("increment", 'return redis.call("INCR", KEYS[1])');
const key = "counter";

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
  await Promise.all(drivers.splice(0).map((driver) => driver.close()));
  await Promise.all(clients.splice(0).map((redis) => destroyClient(redis)));
  await proxy.close();
  await admin.flushall();
});

type Options = Omit<RedisOptions, "replyMapping">;

interface Version {
  readonly version: number;
  connect(options: Options): Redis | Redis5;
}
type Connect = Version["connect"];

const versions: readonly Version[] = [
  { version: 6, connect: (options) => new Redis(options) },
  // The types of version 5 distinguish options that are undefined from options that are absent.
  { version: 5, connect: (options) => new Redis5(options as unknown as Redis5Options) },
];

function client(connect: Connect, options: Options = {}): Redis | Redis5 {
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

function drive(redis: IoredisClient): Driver {
  const driver = ioredisDriver(redis);
  drivers.push(driver);
  return driver;
}

/** A promise that can be looked at. */
function watched<T>(promise: Promise<T>): { settled: boolean; readonly result: Promise<T | Error> } {
  const state = {
    settled: false,
    result: promise
      .catch((error: Error) => error)
      .finally(() => {
        state.settled = true;
      }),
  };
  return state;
}

/** Cuts each connection as soon as it says anything. */
function failHandshakes(): () => void {
  return proxy.addRule({
    request(connection) {
      connection.cut();
      return "drop";
    },
  });
}

describe("a client that would break the protocol is refused", () => {
  for (const { version, connect } of versions) {
    it(`with keyPrefix (ioredis ${version})`, () => {
      const redis = client(connect, { keyPrefix: "app:", lazyConnect: true });
      expect(() => ioredisDriver(redis)).toThrow(TypeError);
      expect(() => ioredisDriver(redis)).toThrow(/keyPrefix "app:".*nameMapper/);
    });

    it(`with stringNumbers (ioredis ${version})`, () => {
      const redis = client(connect, { stringNumbers: true, lazyConnect: true });
      expect(() => ioredisDriver(redis)).toThrow(/stringNumbers.*integers/);
    });

    it(`in subscriber or monitor mode (ioredis ${version})`, async () => {
      const subscriber = client(connect, { protocol: 2 });
      await subscriber.subscribe("news");
      expect(() => ioredisDriver(subscriber)).toThrow(/in subscriber mode/);
      const monitor = await client(connect).monitor();
      clients.push(monitor);
      expect(() => ioredisDriver(monitor)).toThrow(/in monitor mode/);
    });
  }

  it.each([
    ["nothing", undefined],
    ["a string", "redis://127.0.0.1"],
    ["a client of node-redis", { eval() {}, evalSha() {}, duplicate() {}, on() {}, options: {} }],
    ["another object", new URL("redis://127.0.0.1")],
  ])("when it is %s, and is told what is needed", (what, redis) => {
    const make = () => ioredisDriver(redis as unknown as IoredisClient);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(`ioredisDriver(new Redis(url)), got ${what}`);
  });
});

describe("traits", () => {
  it.each<[Options, string]>([
    [{}, "redis://localhost:6379/0"],
    [{ host: "::1", port: 7000, db: 3, username: "me", password: "secret" }, "redis://[::1]:7000/3"],
    [{ host: "db.example", tls: {} }, "rediss://db.example:6379/0"],
    [{ path: "/run/redis.sock" }, "redis+unix:///run/redis.sock/0"],
    [
      { sentinels: [{ host: "a" }, { host: "b", port: 1 }], name: "main", sentinelPassword: "secret" },
      "redis+sentinel://a:26379,b:1/main/0",
    ],
  ])("of %j name the server without credentials", (options, name) => {
    const redis = new Redis({ ...options, lazyConnect: true });
    expect(drive(redis).traits).toEqual({
      server: name,
      topology: options.sentinels ? "sentinel" : "standalone",
    });
  });
});

for (const { version, connect } of versions) {
  describe(`scripts on ioredis ${version}`, () => {
    it("go along with their text once per connection, and by their name after that", async () => {
      const driver = drive(client(connect));
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

    it("use the database that SELECT has chosen since, whatever connection they take", async () => {
      const redis = client(connect, { db: 1 });
      await redis.select(2);
      const driver = drive(redis);
      expect(await evaluate(driver, increment, [key])).toBe(1);
      const call = { script: increment, keys: [key], args: [] };
      const demand = { replicas: "connected", timeoutMs: 100 } as const;
      expect(await driver.runReplicated?.(call, { givenUp: false }, demand)).toMatchObject({ reply: 2 });
      expect(await admin.info("keyspace")).toMatch(/Keyspace\r\ndb2:keys=1,[^\n]*\s*$/);
    });

    it("are sent no second time once they are given up", async () => {
      const driver = drive(client(connect));
      await evaluate(driver, increment, [key]);
      await admin.script("FLUSH");
      const ticket = { givenUp: false };
      const answer = driver.run({ script: increment, keys: [key], args: [] }, ticket);
      ticket.givenUp = true;
      await expect(answer).rejects.toMatchObject({ name: "ServerReplyError", code: "NOSCRIPT" });
      expect(await evaluate(driver, increment, [key])).toBe(2);
    });

    it("say that a MULTI is open on the connection of the client, and run with its EXEC", async () => {
      const redis = client(connect);
      const driver = drive(redis);
      await evaluate(driver, increment, [key]);
      await redis.call("MULTI");
      await expect(evaluate(driver, increment, [key])).rejects.toThrow("a MULTI is open on the connection");
      expect(await redis.call("EXEC")).toEqual([2]);
      expect(await evaluate(driver, increment, [key])).toBe(3);
    });

    it("are sent no second time once the driver is closed", async () => {
      const driver = drive(client(connect));
      await evaluate(driver, increment, [key]);
      await admin.script("FLUSH");
      const answer = evaluate(driver, increment, [key]);
      const refused = expect(answer).rejects.toMatchObject({ code: "NOSCRIPT" });
      await driver.close();
      await refused;
      expect(await admin.get(key)).toBe("1");
    });

    it("reject with the code of a refused password, and with the cause", async () => {
      await admin.acl("SETUSER", "guarded", "on", ">right", "+@all", "~*", "&*");
      const driver = drive(client(connect, { username: "guarded", password: "wrong" }));
      const error = await evaluate(driver, increment, [key]).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ServerReplyError);
      expect(error).toMatchObject({ code: "WRONGPASS", cause: { name: "ReplyError" } });
      const listening = driver.subscribe("news", { onMessage() {}, onReady() {} });
      await expect(listening).rejects.toMatchObject({ name: "ServerReplyError", code: "WRONGPASS" });
      await admin.acl("DELUSER", "guarded");
    });

    it("reject with the code of a missing permission", async () => {
      await admin.acl("SETUSER", "guarded", "on", ">right", "+@all", "-@scripting", "~*", "&*");
      const driver = drive(client(connect, { username: "guarded", password: "right" }));
      const refused = evaluate(driver, increment, [key]);
      await expect(refused).rejects.toMatchObject({ name: "ServerReplyError", code: "NOPERM" });
      await admin.acl("DELUSER", "guarded");
    });

    it("reject with something else when nobody listens", async () => {
      await proxy.close();
      const driver = drive(client(connect, { maxRetriesPerRequest: 0 }));
      const error = await evaluate(driver, increment, [key]).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Error);
      expect(error).not.toBeInstanceOf(ServerReplyError);
      await expect(driver.subscribe("news", { onMessage() {}, onReady() {} })).rejects.toMatchObject({
        code: "ECONNREFUSED",
      });
      expect(driver.resets).toBe(0);
    });

    it("are refused when the client was ended by its owner, and taken when it is connected again", async () => {
      const redis = client(connect);
      const driver = drive(redis);
      await evaluate(driver, increment, [key]);
      await redis.quit();
      await until(() => redis.status === "end");
      await expect(evaluate(driver, increment, [key])).rejects.toThrow(DriverClosedError);
      await expect(driver.subscribe("news", { onMessage() {}, onReady() {} })).rejects.toThrow(/has ended/);
      await redis.connect();
      expect(await evaluate(driver, increment, [key])).toBe(2);
    });

    it("tell why there is no connection, without listening to the errors of the client", async () => {
      const redis = client(connect, { retryStrategy: () => 5 });
      const driver = drive(redis);
      await evaluate(driver, increment, [key]);
      expect(driver.outage).toBeUndefined();
      const { port } = proxy;
      proxy.refuse();
      for (const connection of proxy.connections) connection.cut();
      await until(() => driver.outage !== undefined);
      await until(() => (driver.outage as NodeJS.ErrnoException).code === "ECONNREFUSED");
      expect(driver.outage?.message).toContain(`127.0.0.1:${port}`);
      await proxy.listen();
      await evaluate(driver, increment, [key]);
      expect(driver.outage).toBeUndefined();
    });
  });

  describe(`what a caller has to expect of ioredis ${version}`, () => {
    it("a command whose reply was lost is sent again, and a reset counted before its answer", async () => {
      const driver = drive(client(connect));
      await evaluate(driver, increment, [key]);
      const { struck } = proxy.inject(dropNextReply({ on: key }));
      expect(await evaluate(driver, increment, [key])).toBe(3);
      await struck;
      expect(driver.resets).toBe(1);
    });

    it("a command that never arrived looks the same", async () => {
      const driver = drive(client(connect));
      await evaluate(driver, increment, [key]);
      proxy.inject(cutBeforeForward({ on: key }));
      expect(await evaluate(driver, increment, [key])).toBe(2);
      expect(driver.resets).toBe(1);
    });

    it("without autoResendUnfulfilledCommands it is not sent again, and ioredis forgets it", async () => {
      const redis = client(connect, { autoResendUnfulfilledCommands: false });
      const driver = drive(redis);
      await evaluate(driver, increment, [key]);
      const { struck } = proxy.inject(dropNextReply({ on: key }));
      const forgotten = watched(redis.incr(key));
      await expect(evaluate(driver, increment, [key])).rejects.toThrow("closed before the answer");
      await struck;
      expect(driver.resets).toBe(1);
      const count = await evaluate(driver, increment, [key]);
      expect(await evaluate(driver, increment, [key])).toBe(Number(count) + 1);
      expect(forgotten.settled).toBe(false);
    });

    it("so it is with a command that had to wait for the connection which was then lost", async () => {
      const redis = client(connect, { autoResendUnfulfilledCommands: false });
      const driver = drive(redis);
      const { struck } = proxy.inject(dropNextReply({ on: key }));
      expect(redis.status).not.toBe("ready");
      const lost = evaluate(driver, increment, [key]);
      await expect(lost).rejects.toThrow("closed before the answer");
      await struck;
      expect(await evaluate(driver, increment, [key])).toBe(2);
    });

    it("but not with one that waits while connections fail before they carry anything", async () => {
      const driver = drive(client(connect, { autoResendUnfulfilledCommands: false }));
      const lift = failHandshakes();
      const answer = evaluate(driver, increment, [key]);
      await until(() => proxy.accepted > 3);
      lift();
      expect(await answer).toBe(1);
    });

    it("a command outlives any number of connections that fail in their handshake, maxRetriesPerRequest or not", async () => {
      const driver = drive(client(connect, { maxRetriesPerRequest: 1 }));
      await evaluate(driver, increment, [key]);
      const { struck } = proxy.inject(dropNextReply({ on: key }));
      const lost = watched(evaluate(driver, increment, [key]));
      await struck;
      const lift = failHandshakes();
      await until(() => proxy.accepted > 6);
      expect(lost.settled).toBe(false);
      lift();
      expect(await lost.result).toBe(3);
      expect(driver.resets).toBe(1);
    });

    it("a command that waits for its client to reconnect is rejected by us when that gives up: ioredis forgets it", async () => {
      const redis = client(connect, { maxRetriesPerRequest: 1 });
      const driver = drive(redis);
      await evaluate(driver, increment, [key]);
      const { struck } = proxy.inject(dropNextReply({ on: key }));
      const forgotten = watched(redis.incr(key));
      const lost = watched(evaluate(driver, increment, [key]));
      await struck;
      failHandshakes();
      await until(() => proxy.accepted > 3);
      await destroyClient(redis);
      expect(await lost.result).toMatchObject({ message: expect.stringContaining("has ended") });
      await admin.ping();
      expect([redis.status, forgotten.settled]).toEqual(["end", false]);
    });

    it("a command rejected by commandTimeout still arrives", async () => {
      const redis = client(connect);
      const driver = drive(redis);
      await evaluate(driver, increment, [key]);
      proxy.inject(halfOpen());
      redis.options.commandTimeout = 50;
      await expect(evaluate(driver, increment, [key])).rejects.toThrow("Command timed out");
      expect(await admin.get(key)).toBe("1");
      await proxy.heal();
      await until(async () => (await admin.get(key)) === "2");
      expect(driver.resets).toBe(0);
    });

    it("reconnectOnError with 2 sends a refused command again, after a reset", async () => {
      const refuse = script(
        "refuse-once",
        'if redis.call("INCR", KEYS[1]) == 1 then return redis.error_reply("AGAIN please") end return 7',
      );
      const driver = drive(
        client(connect, { reconnectOnError: (error) => (error.message.startsWith("AGAIN") ? 2 : false) }),
      );
      expect(await evaluate(driver, refuse, [key])).toBe(7);
      expect(driver.resets).toBe(1);
      expect(await admin.get(key)).toBe("2");
    });

    it("a connection that was ready before the driver came is lost as well", async () => {
      const redis = client(connect);
      await redis.ping();
      const driver = drive(redis);
      await proxy.inject(cut()).struck;
      await evaluate(driver, increment, [key]);
      expect(driver.resets).toBe(1);
    });

    it("a connection that was never ready loses nothing", async () => {
      const redis = client(connect);
      proxy.inject(cutBeforeForward());
      const driver = drive(redis);
      expect(await evaluate(driver, increment, [key])).toBe(1);
      expect(proxy.accepted).toBe(2);
      expect(driver.resets).toBe(0);
    });
  });

  it(`a lazy client of ioredis ${version} is connected by the first script, outside the caller's context`, async () => {
    const redis = client(connect, { lazyConnect: true });
    const driver = drive(redis);
    const requests = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    for (const event of ["connect", "ready"] as const) redis.on(event, () => seen.push(requests.getStore()));
    expect(redis.status).toBe("wait");
    await requests.run("request", () => evaluate(driver, increment, [key]));
    expect(seen).toEqual([undefined, undefined]);
  });
}

describe("errors of ioredis", () => {
  it("are answers of the server also where a minifier renamed the class", () => {
    class E extends Error {
      readonly command = { name: "evalsha" };
      override readonly name = "e";
    }
    expect(fromIoredis(new E("WRONGTYPE Operation against a key"))).toMatchObject({ code: "WRONGTYPE" });
    const aborted = new E("Command aborted due to connection close");
    expect(fromIoredis(aborted)).toBe(aborted);
    const lost = new Error("read ECONNRESET");
    expect(fromIoredis(lost)).toBe(lost);
    expect(fromIoredis("text")).toBe("text");
  });

  it("are left to the caller's own client", async () => {
    const print = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const redis = new Redis({
      host: "127.0.0.1",
      port: proxy.port,
      lazyConnect: true,
      retryStrategy: () => null,
    });
    clients.push(redis);
    const driver = drive(redis);
    const listeners = redis.listenerCount("error");
    await proxy.close();
    await expect(driver.subscribe("news", { onMessage() {}, onReady() {} })).rejects.toThrow();
    // Nobody hears the subscriber's errors but us,
    expect(print).not.toHaveBeenCalled();
    // and the errors of the client that we were given are not ours to hear.
    expect(redis.listenerCount("error")).toBe(listeners);
    await evaluate(driver, increment, [key]).catch(() => undefined);
    expect(print).toHaveBeenCalledWith(
      "[ioredis] Unhandled error event:",
      expect.stringContaining("ECONNREFUSED"),
    );
    print.mockRestore();
  });
});
