import { AsyncLocalStorage } from "node:async_hooks";
import { type GlideClient, type GlideClientConfiguration, Logger } from "@valkey/valkey-glide";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Recorder } from "../../src/driver/conformance/conformance-case.js";
import { type Driver, DriverClosedError } from "../../src/driver/driver.js";
import { valkeyGlideDriver } from "../../src/driver/valkey-glide/index.js";
import { closeGlideClients, glideClient, glideSubscriber } from "../support/clients/valkey-glide-clients.js";
import { cut, halfOpen, refuse } from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import { untilCollected } from "../support/run/garbage.js";
import { openThings, watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";

Logger.init("off");

let server: RedisServer;
let admin: Redis;
let proxy: TcpProxy;
const drivers: Driver[] = [];

beforeAll(async () => {
  server = await startRedis();
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
  closeGlideClients();
  await proxy.close();
});

async function drive(subscriber: GlideClient): Promise<Driver> {
  const driver = valkeyGlideDriver(await glideClient(server.port), { subscriber });
  drivers.push(driver);
  return driver;
}

/** Listens through the proxy. */
async function connect(options: Partial<GlideClientConfiguration> = {}): Promise<Driver> {
  return drive(await glideSubscriber(proxy.port, options));
}

async function countOf(channel: string): Promise<number> {
  const [, count] = (await admin.pubsub("NUMSUB", channel)) as [string, number];
  return count;
}

/** How often clients were asked who they are. */
async function looks(): Promise<number> {
  const stats = await admin.info("commandstats");
  // Redis 6.2 does not tell CLIENT INFO from other CLIENTs, of which there are none here.
  return Number(/cmdstat_client(?:\|info)?:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

function useFakeTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
}

describe("the subscriber on GLIDE", () => {
  it("has one subscription of the server for a channel, whoever listens to it", async () => {
    const driver = await connect();
    await admin.config("RESETSTAT");
    const leaveBefore = await driver.subscribe("news", new Recorder());
    const leave = await driver.subscribe("news", new Recorder());
    await leaveBefore();
    expect(await countOf("news")).toBe(1);
    await leave();
    expect(await countOf("news")).toBe(0);
    const stats = await admin.info("commandstats");
    expect(stats).toMatch(/cmdstat_subscribe:calls=1,/);
    expect(stats).toMatch(/cmdstat_unsubscribe:calls=1,/);
  });

  it("asks GLIDE for its connection time and again, as long as somebody listens", async () => {
    const subscriber = await glideSubscriber(proxy.port);
    const driver = await drive(subscriber);
    await admin.config("RESETSTAT");
    const leave = await driver.subscribe("news", new Recorder());
    expect(await looks()).toBe(1);
    await until(async () => (await looks()) === 3);
    await until(waitsToLook);
    await leave();
    await until(() => !waitsToLook());
    // Not only as it is asking just now: that is answered before this.
    await subscriber.customCommand(["PING"]);
    await new Promise(setImmediate);
    expect(waitsToLook()).toBe(false);
    const listener = new Recorder();
    await driver.subscribe("news", listener);
    expect(waitsToLook()).toBe(true);
    await proxy.inject(cut()).struck;
    await listener.until(2);
  });

  it("tells a server that was restarted from the one before", async () => {
    const own = await startRedis();
    const driver = await drive(await glideSubscriber(own.port));
    const listener = new Recorder();
    await driver.subscribe("news", listener);
    await own.kill();
    await own.restart();
    await listener.until(2);
    expect(listener.heard).toEqual(["ready", "ready"]);
    await driver.close();
    closeGlideClients();
    await own.stop();
  });

  it("does not keep the process alive", async () => {
    const driver = await connect();
    const before = openThings();
    await driver.subscribe("news", new Recorder());
    const timers = [...openThings().things.keys()].filter((thing) => !before.things.has(thing));
    expect(timers.length).toBeGreaterThan(0);
    expect(timers.filter(keepsAlive)).toEqual([]);
  });

  it("runs its listeners outside the caller's context, also after it connected anew", async () => {
    const requests = new AsyncLocalStorage<string>();
    const driver = await connect();
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
    await proxy.inject(cut()).struck;
    await heard.until(3);
    await admin.publish("news", "2");
    await heard.until(4);
    expect(seen).toEqual([undefined, undefined, undefined, undefined]);
  });

  it("holds on to no context of the request that opened it", async () => {
    const requests = new AsyncLocalStorage<object>();
    const driver = await connect();
    const pinned = await (async () => {
      const request = { data: new Array(1_000) };
      await requests.run(request, () => driver.subscribe("news", new Recorder()));
      return new WeakRef(request);
    })();
    await expect(untilCollected(() => pinned.deref() === undefined)).resolves.toBeUndefined();
  });

  describe("with a channel that the server refuses", () => {
    const credentials = { username: "guarded", password: "any" };
    beforeEach(() =>
      admin.acl("SETUSER", "guarded", "on", "nopass", "+@all", "~*", "resetchannels", "&open"),
    );
    afterEach(() => admin.acl("DELUSER", "guarded"));

    async function refusals(): Promise<number> {
      const stats = await admin.info("commandstats");
      return Number(/cmdstat_subscribe:.*rejected_calls=(\d+)/.exec(stats)?.[1] ?? 0);
    }

    it("gives it up, and hears others again", async () => {
      const driver = await connect({ credentials });
      const listener = new Recorder();
      await driver.subscribe("open", listener);
      await admin.config("RESETSTAT");
      useFakeTimers();
      const refused = driver.subscribe("secret", new Recorder()).catch((error: unknown) => error);
      await until(async () => (await refusals()) > 0);
      vi.advanceTimersByTime(5_000);
      expect(await refused).toMatchObject({ message: "the subscriber got no answer within 5000 ms" });
      await until(() => {
        vi.advanceTimersByTime(1);
        return listener.heard.length === 2;
      });
      await admin.publish("open", "still there");
      await listener.until(3);
    });

    it("does not ask the server over and over, nor once nobody wants it", async () => {
      const subscriber = await glideSubscriber(proxy.port, { credentials });
      const driver = await drive(subscriber);
      await admin.config("RESETSTAT");
      useFakeTimers();
      const refused = driver.subscribe("secret", new Recorder()).catch((error: unknown) => error);
      await until(async () => (await refusals()) > 0);
      for (let round = 0; round < 200; round += 1) await admin.ping();
      expect(await refusals()).toBeLessThan(10);
      vi.advanceTimersByTime(5_000);
      await refused;
      await until(async () => {
        const { desiredSubscriptions } = await subscriber.getSubscriptions();
        return desiredSubscriptions[0]?.size === 0;
      });
    });
  });

  it("rejects when the server can not be reached, and works as soon as it can", async () => {
    const driver = await connect({ requestTimeout: 200 });
    proxy.inject(refuse);
    for (const connection of proxy.connections) connection.cut();
    useFakeTimers();
    await expect(driver.subscribe("news", new Recorder())).rejects.toThrow();
    vi.useRealTimers();
    await proxy.heal();
    const listener = new Recorder();
    await until(() => driver.subscribe("news", listener).then(Boolean, () => false));
    await admin.publish("news", "hello");
    await listener.until(2);
    expect(listener.heard).toEqual(["ready", ">hello"]);
  });

  it("forgets a channel that was left while there was no connection", async () => {
    const driver = await connect({ requestTimeout: 200 });
    const [stays, goes] = [new Recorder(), new Recorder()];
    await driver.subscribe("stays", stays);
    const leave = await driver.subscribe("goes", goes);
    const { port } = proxy;
    proxy.inject(refuse);
    for (const connection of proxy.connections) connection.cut();
    await expect(driver.subscribe("more", new Recorder())).rejects.toThrow();
    await leave();
    await proxy.heal();
    expect(proxy.port).toBe(port);
    await stays.until(2);
    await until(async () => (await countOf("goes")) === 0);
    expect(await countOf("stays")).toBe(1);
    expect(goes.heard).toEqual(["ready"]);
  });

  it("hears messages that are no text", async () => {
    const driver = await connect();
    const listener = new Recorder();
    await driver.subscribe("news", listener);
    await admin.publish("news", Buffer.from([0xff]));
    await listener.until(2);
    expect(listener.heard).toEqual(["ready", ">\ufffd"]);
  });

  it("leaves a message of the caller's patterns to nobody", async () => {
    const subscriber = await glideSubscriber(server.port);
    await subscriber.psubscribe(new Set(["n*"]), 1_000);
    const driver = await drive(subscriber);
    const listener = new Recorder();
    await driver.subscribe("news", listener);
    await admin.publish("news", "once");
    await admin.publish("news", "twice");
    await listener.until(3);
    expect(listener.heard).toEqual(["ready", ">once", ">twice"]);
  });

  it("refuses sharded messages without a cluster", async () => {
    const driver = await connect();
    await expect(driver.subscribe("news", new Recorder(), "sharded")).rejects.toThrow(TypeError);
  });

  it("tells that its client was closed, and tries no more", async () => {
    const subscriber = await glideSubscriber(server.port);
    const driver = await drive(subscriber);
    await driver.subscribe("news", new Recorder());
    subscriber.close();
    await expect(driver.subscribe("more-news", new Recorder())).rejects.toThrow(DriverClosedError);
    useFakeTimers();
    await expect(driver.subscribe("more-news", new Recorder())).rejects.toThrow(DriverClosedError);
    expect(vi.getTimerCount()).toBe(0);
  });

  describe("when the driver is closed", () => {
    it("ends its subscriptions, and another driver may listen with its client", async () => {
      const subscriber = await glideSubscriber(server.port);
      const [one, two] = [await drive(subscriber), new Recorder()];
      const leave = await one.subscribe("news", new Recorder());
      await Promise.all([one.close(), one.close()]);
      await until(async () => (await countOf("news")) === 0);
      await leave();
      const other = await drive(subscriber);
      await other.subscribe("news", two);
      await admin.publish("news", "hello");
      await two.until(2);
      expect(two.heard).toEqual(["ready", ">hello"]);
    });

    it("rejects who was still joining", async () => {
      const driver = await connect();
      const joining = driver.subscribe("news", new Recorder()).catch((error: unknown) => error);
      await driver.close();
      expect(await joining).toBeInstanceOf(DriverClosedError);
      await until(async () => (await countOf("news")) === 0);
    });

    it.each([
      ["stopped", () => server.pause(), () => server.resume()],
      ["cut off", async () => void proxy.inject(halfOpen()), () => undefined],
    ])("does not wait for a server that is %s", async (_, hurt, heal) => {
      const driver = await connect();
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
      const driver = await connect();
      await driver.subscribe("news", new Recorder());
      proxy.inject(refuse);
      await proxy.inject(cut()).struck;
      await expect(driver.close()).resolves.toBeUndefined();
    });
  });
});

function waitsToLook(): boolean {
  return [...openThings().things.values()].some((thing) => /valkey-glide[\\/]connections/.test(thing));
}

function keepsAlive(thing: object): boolean {
  return "hasRef" in thing && typeof thing.hasRef === "function" && thing.hasRef() === true;
}
