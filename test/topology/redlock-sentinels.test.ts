import { afterAll, beforeAll, expect, test } from "vitest";
import Redlock, { ExecutionError } from "../../src/redlock/index.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { ioredisFlavours } from "../support/clients/ioredis-flavours.js";
import { startSentinels, type WatchedRedis } from "../support/servers/sentinels.js";

const SLOW_MS = 60_000;
let servers: WatchedRedis;
beforeAll(async () => {
  servers = await startSentinels();
}, SLOW_MS);
afterAll(() => servers.stop(), SLOW_MS);

test.each(ioredisFlavours)(
  "holdfast/redlock has a client of $name that asks Sentinels, with a keyPrefix as well",
  async ({ name, redis }) => {
    for (const keyPrefix of ["", "app:"]) {
      const client = redis({ sentinels: [...servers.sentinels], name: servers.name, keyPrefix });
      client.on("error", () => undefined);
      const redlock = new Redlock([client], { retryDelay: 50 });
      const lock = await redlock.acquire([name], 20_000);
      const refused = redlock.acquire([name], 20_000, { retryCount: 0 });
      await expect(refused).rejects.toBeInstanceOf(ExecutionError);
      const master = await servers.master();
      expect(await master.client().type(keyPrefix + name)).toBe("hash");
      const waiting = redlock.using([name], 20_000, async (signal) => signal.aborted);
      await (await lock.extend(20_000)).release();
      expect(await waiting).toBe(false);
      await redlock.quit();
      await destroyClient(client);
    }
  },
);
