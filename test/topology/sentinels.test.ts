import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis.js";
import { Holdfast } from "../../src/holdfast.js";
import { destroyClient, quickEnd } from "../support/ioredis-clients.js";
import { startSentinels, type WatchedRedis } from "../support/sentinels.js";

let servers: WatchedRedis;
beforeAll(async () => {
  servers = await startSentinels();
});
afterAll(() => servers.stop());

test("a client that was pointed at a Sentinel as if it were a server is told what to do", async () => {
  const [sentinel] = servers.sentinels;
  const redis = new Redis({ ...sentinel, ...quickEnd });
  const holdfast = new Holdfast(ioredisDriver(redis));
  await expect(holdfast.getLock("order:7").lock()).rejects.toMatchObject({
    code: "ERR_HOLDFAST_UNAVAILABLE",
    message: expect.stringContaining("make the client with the Sentinels' addresses"),
  });
  await holdfast.close();
  await destroyClient(redis);
});
