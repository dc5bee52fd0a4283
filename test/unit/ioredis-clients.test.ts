import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { freePort } from "../support/servers/free-port.js";

const HOUR_MS = 3_600_000;

async function waitingClient(): Promise<Redis> {
  const client = new Redis({ port: await freePort(), retryStrategy: () => HOUR_MS });
  client.on("error", () => undefined);
  await new Promise((resolve) => client.once("reconnecting", resolve));
  return client;
}

test.each([
  ["quits", (client: Redis) => client.quit()],
  ["disconnects", (client: Redis) => client.disconnect()],
  ["only waits", () => undefined],
])("a client that waits to reconnect, and %s meanwhile, is ended", async (_, meanwhile) => {
  const client = await waitingClient();
  await meanwhile(client);
  await destroyClient(client);
  expect(client.status).toBe("end");
});

test("a client that quits while it is ended is ended", async () => {
  const client = await waitingClient();
  await Promise.all([destroyClient(client), client.quit()]);
  expect(client.status).toBe("end");
});
