import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import {
  cut,
  cutBeforeForward,
  delay,
  dropNextReply,
  halfOpen,
  refuse,
} from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import type { RedisServer } from "../support/servers/redis-server.js";
import { workerServer } from "../support/servers/worker-server.js";

let server: RedisServer;
let admin: Redis;
let proxy: TcpProxy;
const clients: Redis[] = [];

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
  await admin.flushall();
  await Promise.all(clients.splice(0).map((client) => destroyClient(client)));
  await proxy.close();
});

/** A client that neither reconnects nor resends, so that it shows what happened to its one connection. */
function plainClient(): Redis {
  const client = new Redis({
    port: proxy.port,
    host: "127.0.0.1",
    retryStrategy: () => null,
    lazyConnect: true,
  });
  client.on("error", () => undefined);
  clients.push(client);
  return client;
}

async function milliseconds(body: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await body();
  return performance.now() - startMs;
}

describe("a healthy proxy", () => {
  it("passes commands and replies of any size, and knows which connection carries what", async () => {
    const [one, two] = [plainClient(), plainClient()];
    const text = "ü".repeat(300_000);
    await one.set("key:one", text);
    expect(await two.get("key:one")).toBe(text);
    expect(proxy.connections).toHaveLength(2);
    expect(proxy.carrying("key:one").map(({ id }) => id)).toEqual([1, 2]);
    expect(proxy.carrying("SET\r\n").map(({ id }) => id)).toEqual([1]);
    expect(proxy.connections[1]?.commands).toContain("get");
    expect(proxy.connections.map(({ owed }) => owed)).toEqual([0, 0]);
  });

  it("passes the end of either side on", async () => {
    const client = plainClient();
    await client.ping();
    await client.quit();
    await until(() => proxy.connections.length === 0);

    const other = plainClient();
    await other.ping();
    const [ours] = String(await other.client("ID")).split(" ");
    const end = once(other, "end");
    await admin.client("KILL", "ID", ours ?? "");
    await end;
    await until(() => proxy.connections.length === 0);
    expect([client.status, other.status]).toEqual(["end", "end"]);
  });
});

describe("delay", () => {
  it("makes every request and reply later, in order, and only while it lasts", async () => {
    const client = plainClient();
    await client.ping();
    proxy.inject(delay(40));
    expect(proxy.healthy).toBe(false);
    const order: number[] = [];
    const tookMs = await milliseconds(() =>
      Promise.all([1, 2, 3].map((n) => client.rpush("list", n).then(() => order.push(n)))),
    );
    expect(tookMs).toBeGreaterThanOrEqual(80);
    expect(order).toEqual([1, 2, 3]);
    expect(await admin.lrange("list", 0, -1)).toEqual(["1", "2", "3"]);
    await proxy.heal();
    expect(proxy.healthy).toBe(true);
  });

  it("can be for one connection only", async () => {
    const [slow, quick] = [plainClient(), plainClient()];
    await Promise.all([slow.get("the-slow-one"), quick.ping()]);
    proxy.inject(delay(600_000, { on: "the-slow-one" }));
    const late = settled(slow.ping());
    expect(await quick.ping()).toBe("PONG");
    expect(late.done).toBe(false);
    await proxy.heal();
    expect(await late.result).toBe("PONG");
  });

  it("lets what it held back go when the proxy heals", async () => {
    const client = plainClient();
    await client.ping();
    proxy.inject(delay(600_000));
    const reply = client.incr("counter");
    await until(() => proxy.carrying("counter").length === 1);
    await proxy.heal();
    expect(await reply).toBe(1);
  });
});

describe("a lost reply", () => {
  it("cuts the connection after the server has done the work, and loses no earlier reply", async () => {
    const client = plainClient();
    await client.ping();
    const { struck } = proxy.inject(dropNextReply({ on: "victim" }));
    const replies = await Promise.allSettled([client.incr("before"), client.incr("victim"), client.ping()]);
    expect(replies.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
    expect((await struck)?.carries("victim")).toBe(true);
    expect(await admin.mget("before", "victim")).toEqual(["1", "1"]);
    expect(proxy.healthy).toBe(true);
    expect(await plainClient().incr("victim")).toBe(2);
  });

  it("can stall: the connection stays, the server goes on, the client hears nothing more", async () => {
    const [victim, bystander] = [plainClient(), plainClient()];
    await Promise.all([victim.ping(), bystander.ping()]);
    const { struck } = proxy.inject(dropNextReply({ on: "victim", after: "stall" }));
    const first = settled(victim.incr("victim"));
    const second = settled(victim.incr("after"));
    await struck;
    expect(await bystander.mget("victim", "after")).toEqual(["1", "1"]);
    expect(await bystander.ping()).toBe("PONG");
    expect([first.done, second.done]).toEqual([false, false]);
    expect(victim.status).toBe("ready");
    // Its stream has a hole, so healing cannot save it.
    await proxy.heal();
    expect(await first.result).toBeInstanceOf(Error);
    expect(await second.result).toBeInstanceOf(Error);
  });

  it("takes no message of a channel for the reply", async () => {
    const client = plainClient();
    await client.subscribe("news");
    const { struck } = proxy.inject(dropNextReply({ on: "more-news" }));
    // With RESP3 the client gets the message between the two replies.
    const replies = await Promise.allSettled([
      client.publish("news", "hello"),
      client.subscribe("more-news"),
    ]);
    expect(replies.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect((await struck)?.id).toBe(1);
  });

  it("that stalls brings no message either", async () => {
    const client = plainClient();
    await client.subscribe("news");
    const heard: unknown[] = [];
    client.on("message", (_, message) => heard.push(message));
    const passed = new Promise<void>((resolve) => {
      proxy.addRule({
        reply: (_, frame) => {
          if (frame.includes("unheard")) resolve();
          return "pass";
        },
      });
    });
    const { struck } = proxy.inject(dropNextReply({ on: "victim", after: "stall" }));
    client.incr("victim").catch(() => undefined);
    await struck;
    await admin.publish("news", "unheard");
    await passed;
    const bystander = plainClient();
    await bystander.ping();
    expect(heard).toEqual([]);
  });
});

describe("cut before forward", () => {
  it("keeps the request from the server, but not those before it", async () => {
    const client = plainClient();
    await client.ping();
    const { struck } = proxy.inject(cutBeforeForward({ on: "victim" }));
    const [, victim] = await Promise.allSettled([client.incr("before"), client.incr("victim")]);
    await struck;
    expect(victim.status).toBe("rejected");
    await until(async () => (await admin.get("before")) === "1");
    expect(await admin.get("victim")).toBeNull();
    expect(await plainClient().incr("victim")).toBe(1);
  });
});

describe("cut", () => {
  it("breaks the chosen connections and no others", async () => {
    const [subscriber, commands] = [plainClient(), plainClient()];
    await Promise.all([subscriber.subscribe("news"), commands.incr("counter")]);
    const end = once(subscriber, "end");
    await proxy.inject(cut({ on: "subscribe" })).struck;
    await end;
    expect(await commands.incr("counter")).toBe(2);
    expect(proxy.connections).toHaveLength(1);
  });

  it("refuses to do nothing", () => {
    expect(() => proxy.inject(cut())).toThrow('fault "cut" can not be injected: there is no connection');
    expect(() => proxy.inject(halfOpen({ on: "xyz" }))).toThrow('no connection carries "xyz"');
  });
});

describe("half-open", () => {
  it("leaves the sockets open with nothing coming through, and delivers when it heals", async () => {
    const client = plainClient();
    await client.ping();
    proxy.inject(halfOpen());
    const reply = settled(client.incr("counter"));
    await until(() => proxy.carrying("counter").length === 1);
    expect(await admin.get("counter")).toBeNull();
    expect(reply.done).toBe(false);
    expect(client.status).toBe("ready");
    await proxy.heal();
    expect(await reply.result).toBe(1);
  });

  it("lets a request arrive late although its sender has gone", async () => {
    const client = plainClient();
    await client.ping();
    proxy.inject(halfOpen());
    client.incr("counter").catch(() => undefined);
    await until(() => proxy.carrying("counter").length === 1);
    await destroyClient(client);
    expect(await admin.get("counter")).toBeNull();
    expect(proxy.connections).toHaveLength(1);
    await proxy.heal();
    await until(async () => (await admin.get("counter")) === "1");
    await until(() => proxy.connections.length === 0);
  });

  it("keeps from the server that a client has gone which had sent nothing more", async () => {
    const client = plainClient();
    const [, id] = /id=(\d+)/.exec(String(await client.client("INFO"))) ?? [];
    const ended = new Promise<void>((resolve) => {
      proxy.addRule({
        end: () => {
          resolve();
          return "pass";
        },
      });
    });
    proxy.inject(halfOpen());
    await destroyClient(client);
    await ended;
    await admin.ping();
    expect(await admin.client("LIST")).toContain(`id=${id} `);
    await proxy.heal();
    await until(() => proxy.connections.length === 0);
  });

  it("holds new connections too", async () => {
    const client = plainClient();
    await client.ping();
    proxy.inject(halfOpen());
    const reply = settled(plainClient().ping());
    await until(() => proxy.accepted === 2);
    await until(() => proxy.connections[1]?.commands.size !== 0);
    expect(reply.done).toBe(false);
    await proxy.heal();
    expect(await reply.result).toBe("PONG");
  });
});

describe("refuse", () => {
  it("makes new connections fail as if nobody listened, keeps the old, and heals", async () => {
    const client = plainClient();
    await client.ping();
    await proxy.inject(refuse).struck;
    expect(await connectTo(proxy.port)).toBe("ECONNREFUSED");
    expect(await client.ping()).toBe("PONG");
    expect(() => proxy.inject(refuse)).toThrow("connections are refused already");
    await proxy.heal();
    expect(await connectTo(proxy.port)).toBe("connected");
  });
});

async function connectTo(port: number): Promise<string> {
  const socket: Socket = connect(port, "127.0.0.1");
  return new Promise((resolve) => {
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.once("connect", () => {
      socket.destroy();
      resolve("connected");
    });
  });
}

/** A promise that can be looked at. */
function settled<T>(promise: Promise<T>): { done: boolean; readonly result: Promise<T | Error> } {
  const state = {
    done: false,
    result: promise
      .catch((error: Error) => error)
      .finally(() => {
        state.done = true;
      }),
  };
  return state;
}
