import { Redis } from "ioredis";
import { test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis.js";
import { Holdfast } from "../../src/holdfast.js";
import { startRedis } from "../support/redis-server.js";
import { cut, refuse } from "../support/proxy-faults.js";
import { startProxy } from "../support/tcp-proxy.js";
test("x", async () => {
  const s = await startRedis(); const plain = s.client();
  const held = await new Holdfast(ioredisDriver(s.client())).getLock("a").lock({leaseMs: 600000});
  const proxy = await startProxy(s.port);
  const connection = new Redis({ host: "127.0.0.1", port: proxy.port, retryStrategy: () => 5 });
  connection.on("error", () => undefined);
  const client = new Holdfast(ioredisDriver(connection), { safetyPeriodMs: 600000 });
  const waiting = client.getLock("a").lock();
  const numsub = async () => (await plain.pubsub("NUMSUB", "redisson_lock__channel:{a}"))[1];
  while (await numsub() !== 1) await new Promise(r => setTimeout(r, 10));
  console.log("subscribed");
  proxy.inject(refuse);
  const c = await proxy.inject(cut({ on: "\r\nsubscribe" })).struck;
  console.log("struck", !!c, proxy.connections.length);
  for (let i = 0; i < 20; i++) { console.log("numsub", await numsub(), proxy.connections.length); if (await numsub() === 0) break; await new Promise(r => setTimeout(r, 50)); }
  await held.unlock(); console.log("unlocked");
  await proxy.heal(); console.log("healed");
  const l = await Promise.race([waiting, new Promise(r => setTimeout(r, 3000, "no"))]);
  console.log(l === "no" ? "NO" : "in", await numsub(), proxy.connections.length);
  await client.close(); connection.disconnect(); await proxy.close(); await s.stop();
});
