import {
  Decoder,
  type GlideClient,
  type GlideClientConfiguration,
  GlideClusterClient,
  Logger,
  ProtocolVersion,
} from "@valkey/valkey-glide";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { evaluate, script } from "../../src/driver/conformance/conformance-case.js";
import { type Driver, DriverClosedError, ServerReplyError } from "../../src/driver/driver.js";
import { type ValkeyGlideClient, valkeyGlideDriver } from "../../src/driver/valkey-glide/index.js";
import { closeGlideClients, glideClient, glideSubscriber } from "../support/clients/valkey-glide-clients.js";
import { cutBeforeForward, dropNextReply, halfOpen } from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";

Logger.init("off");

const increment = script("increment", 'return redis.call("INCR", KEYS[1])');
const refusing = script("refusing", "return redis.error_reply(ARGV[1])");
const key = "counter";

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
  await Promise.all(drivers.splice(0).map((driver) => driver.close()));
  closeGlideClients();
  await proxy.close();
  await admin.flushall();
});

function drive(client: GlideClient, subscriber: GlideClient): Driver {
  const driver = valkeyGlideDriver(client, { subscriber });
  drivers.push(driver);
  return driver;
}

/** Runs scripts through the proxy, and listens past it. */
async function connect(options: Partial<GlideClientConfiguration> = {}): Promise<Driver> {
  return drive(await glideClient(proxy.port, options), await glideSubscriber(server.port));
}

/** Clients that connect to nobody. */
function idle(options: Partial<GlideClientConfiguration> = {}): Promise<GlideClient> {
  return glideClient(server.port, { lazyConnect: true, ...options });
}

describe("clients that would break the protocol are refused", () => {
  it.each([
    ["nothing", undefined],
    ["a string", "redis://127.0.0.1"],
    ["a promise: await it", new Promise(() => undefined)],
    ["another object", new URL("redis://127.0.0.1")],
  ])("when the first is %s", async (what, client) => {
    const subscriber = await idle();
    const make = () => valkeyGlideDriver(client as unknown as ValkeyGlideClient, { subscriber });
    expect(make).toThrow(TypeError);
    expect(make).toThrow("GlideClient or GlideClusterClient, as in");
    expect(make).toThrow(`got ${what}`);
  });

  it("when the second is not there, or no client", async () => {
    const client = await idle();
    const make =
      (...more: unknown[]) =>
      () =>
        Reflect.apply(valkeyGlideDriver, undefined, [client, ...more]);
    expect(make()).toThrow(/needs a second client to listen with.*\{ subscriber \}/);
    expect(make({})).toThrow(TypeError);
    expect(make({ subscriber: {} })).toThrow(/a subscriber GlideClient.*got another object/);
  });

  it("when the second is the first", async () => {
    const client = await glideSubscriber(server.port);
    expect(() => drive(client, client)).toThrow(/needs a second client/);
  });

  it("when GLIDE is too old to subscribe at run time", () => {
    const old = { async customCommand() {} } as unknown as GlideClient;
    expect(() => drive(old, old)).toThrow(/GLIDE 2\.3 or later/);
  });

  it("when one of them is for a cluster and the other is not", async () => {
    const lone = await glideSubscriber(server.port);
    const cluster = Object.create(GlideClusterClient.prototype) as GlideClusterClient;
    expect(() => drive(cluster as unknown as GlideClient, lone)).toThrow(/two clients of the same kind/);
  });

  it.each<[string, Partial<GlideClientConfiguration>, RegExp]>([
    ["with RESP2", { protocol: ProtocolVersion.RESP2 }, /ProtocolVersion\.RESP2.*Leave protocol out/],
    [
      "with a callback",
      { pubsubSubscriptions: { channelsAndPatterns: {}, callback() {} } },
      /with a callback.*Leave pubsubSubscriptions out/,
    ],
    [
      "that decodes text",
      { defaultDecoder: Decoder.String },
      /Create it with defaultDecoder: Decoder\.Bytes/,
    ],
  ])("when the second is one %s", async (_, options, message) => {
    const [client, subscriber] = [await idle(), await idle({ defaultDecoder: Decoder.Bytes, ...options })];
    expect(() => drive(client, subscriber)).toThrow(TypeError);
    expect(() => drive(client, subscriber)).toThrow(message);
  });

  it("while another driver listens with the second", async () => {
    const [client, subscriber] = [await idle(), await idle({ defaultDecoder: Decoder.Bytes })];
    const driver = drive(client, subscriber);
    expect(() => drive(client, subscriber)).toThrow(/another driver uses.*close the other/);
    await driver.close();
    drive(client, subscriber);
    // It is no more that one's to give away.
    await driver.close();
    expect(() => drive(client, subscriber)).toThrow(/another driver uses/);
  });
});

describe("traits", () => {
  it.each<[Partial<GlideClientConfiguration>, string]>([
    [{ addresses: [{ host: "localhost" }] }, "redis://localhost:6379/0"],
    [
      { addresses: [{ host: "::1", port: 7000 }], databaseId: 3, credentials: { password: "secret" } },
      "redis://[::1]:7000/3",
    ],
    [{ addresses: [{ host: "a" }, { host: "b", port: 1 }], useTLS: true }, "rediss://a:6379,b:1/0"],
  ])("of %j name the server without credentials", async (options, name) => {
    const driver = drive(await idle(options), await idle({ defaultDecoder: Decoder.Bytes }));
    expect(driver.traits).toEqual({ server: name, topology: "standalone", sharded: false });
    expect(driver.placeOf?.(key)).toBe("");
  });
});

describe("scripts", () => {
  it("go along with their text once, and by their name after that", async () => {
    const driver = await connect();
    await admin.script("FLUSH");
    await admin.config("RESETSTAT");
    await Promise.all([1, 2, 3].map(() => evaluate(driver, increment, [key])));
    const stats = await admin.info("commandstats");
    expect(stats).toMatch(/cmdstat_eval:calls=1,/);
    expect(stats).toMatch(/cmdstat_evalsha:calls=2,.*failed_calls=0/);
  });

  it("are sent no second time once they are given up", async () => {
    const driver = await connect();
    await evaluate(driver, increment, [key]);
    await admin.script("FLUSH");
    const ticket = { givenUp: false };
    const answer = driver.run({ script: increment, keys: [key], args: [] }, ticket);
    ticket.givenUp = true;
    await expect(answer).rejects.toMatchObject({ name: "ServerReplyError", code: "NOSCRIPT" });
    expect(await evaluate(driver, increment, [key])).toBe(2);
  });

  it("are sent no second time once the driver is closed", async () => {
    const driver = await connect();
    await evaluate(driver, increment, [key]);
    await admin.script("FLUSH");
    const answer = evaluate(driver, increment, [key]);
    const refused = expect(answer).rejects.toMatchObject({ code: "NOSCRIPT" });
    await driver.close();
    await refused;
    expect(await admin.get(key)).toBe("1");
  });

  it.each([
    "ERR in general",
    "NOPERM this: a - user",
    "LOADING it",
    "NOSCRIPT known",
    "EXECABORT all",
    "READONLY now",
    "MASTERDOWN there",
    "CLUSTERDOWN here",
    "CROSSSLOT keys",
    "TRYAGAIN later",
    "OOM command: not - allowed",
    "WRONGTYPE of value",
    "NOAUTH yet",
    "MISCONF of disks",
    "BUSY with another",
    "REFUSED as it was asked to",
  ])("reject with the words of the server: %s", async (words) => {
    const driver = await connect();
    const error = await evaluate(driver, refusing, [], [words]).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ServerReplyError);
    expect(error).toMatchObject({
      code: words.split(" ")[0],
      cause: { name: expect.stringMatching(/Error$/) },
    });
    expect((error as Error).message).toMatch(words);
    expect(driver.resets).toBe(0);
  });

  it("reject with the code of a missing permission", async () => {
    await admin.acl("SETUSER", "guarded", "on", ">right", "+@all", "-@scripting", "~*", "&*");
    const driver = await connect({ credentials: { username: "guarded", password: "right" } });
    const refused = evaluate(driver, increment, [key]);
    await expect(refused).rejects.toMatchObject({ name: "ServerReplyError", code: "NOPERM" });
    await admin.acl("DELUSER", "guarded");
  });

  it("answer with text also where it is none, whatever the client decodes", async () => {
    await admin.set(key, Buffer.from([0x61, 0xff]));
    const read = script("read", 'return { redis.call("GET", KEYS[1]), 7, { "b" } }');
    for (const defaultDecoder of [Decoder.String, Decoder.Bytes]) {
      const driver = await connect({ defaultDecoder });
      expect(await evaluate(driver, read, [key])).toEqual(["a\ufffd", 7, ["b"]]);
    }
  });

  it("are refused when the client was closed by its owner", async () => {
    const client = await glideClient(server.port);
    const driver = drive(client, await glideSubscriber(server.port));
    await evaluate(driver, increment, [key]);
    client.close();
    await expect(evaluate(driver, increment, [key])).rejects.toThrow(DriverClosedError);
    expect(driver.resets).toBe(0);
  });

  it("are none of a compression's business", async () => {
    const driver = await connect({ compression: { enabled: true, minCompressionSize: 6 } });
    const store = script("store", 'redis.call("SET", KEYS[1], ARGV[1]) return ARGV[1]');
    const text = "x".repeat(1_000);
    expect(await evaluate(driver, store, [key], [text])).toBe(text);
    expect(await admin.get(key)).toBe(text);
  });
});

describe("what a caller has to expect of GLIDE", () => {
  it("a command whose reply was lost is not sent again, and a reset counted before its failure", async () => {
    const driver = await connect();
    await evaluate(driver, increment, [key]);
    const { struck } = proxy.inject(dropNextReply({ on: key }));
    const error = await evaluate(driver, increment, [key]).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "ConnectionError" });
    expect(driver.resets).toBe(1);
    await struck;
    expect(await evaluate(driver, increment, [key])).toBe(3);
    expect(driver.resets).toBe(1);
  });

  it("a command that never arrived looks the same", async () => {
    const driver = await connect();
    await evaluate(driver, increment, [key]);
    proxy.inject(cutBeforeForward({ on: key }));
    await expect(evaluate(driver, increment, [key])).rejects.toMatchObject({ name: "ConnectionError" });
    expect(driver.resets).toBe(1);
    expect(await evaluate(driver, increment, [key])).toBe(2);
  });

  it("a command rejected by requestTimeout still arrives, and counts as a reset", async () => {
    const driver = await connect({ requestTimeout: 50 });
    await evaluate(driver, increment, [key]);
    proxy.inject(halfOpen());
    await expect(evaluate(driver, increment, [key])).rejects.toMatchObject({ name: "TimeoutError" });
    expect(driver.resets).toBe(1);
    expect(await admin.get(key)).toBe("1");
    await proxy.heal();
    await until(async () => (await admin.get(key)) === "2");
  });

  it("a script goes along with its text again after that, as another server may be there", async () => {
    const driver = await connect();
    await evaluate(driver, increment, [key]);
    proxy.inject(cutBeforeForward({ on: key }));
    await expect(evaluate(driver, increment, [key])).rejects.toThrow();
    await admin.config("RESETSTAT");
    await evaluate(driver, increment, [key]);
    expect(await admin.info("commandstats")).not.toMatch(/cmdstat_evalsha/);
  });

  it("it says why there is no connection until there is one", async () => {
    const driver = await connect({ requestTimeout: 200 });
    await evaluate(driver, increment, [key]);
    expect(driver.outage).toBeUndefined();
    proxy.refuse();
    proxy.inject(cutBeforeForward({ on: key }));
    await expect(evaluate(driver, increment, [key])).rejects.toThrow();
    await expect(evaluate(driver, increment, [key])).rejects.toMatchObject({ name: "TimeoutError" });
    expect(driver.outage).toMatchObject({ name: "ConnectionError" });
    await proxy.listen();
    await until(() => evaluate(driver, increment, [key]).then(Boolean, () => false));
    expect(driver.outage).toBeUndefined();
  });
});
