import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { plainDriver } from "../adapters/plain/index.js";
import { PlainClient } from "../support/clients/plain-client.js";
import { runConformance } from "../support/drivers/conformance-runner.js";
import { cut } from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import { watchLeaks } from "../support/run/leaks.js";
import { ask } from "../support/servers/ask.js";
import { type ReplicatedRedis, startReplicated } from "../support/servers/replicated-redis.js";

let servers: ReplicatedRedis;
beforeAll(async () => {
  servers = await startReplicated();
});
afterAll(() => servers.stop());
watchLeaks();

interface Wiring {
  readonly client: PlainClient;
  readonly proxy: TcpProxy;
}

/** Each driver has a proxy of its own, so that its connections can be told from those of others. */
const wirings = new Map<Driver, Wiring>();
afterEach(async () => {
  for (const { client, proxy } of wirings.values()) {
    await client.end();
    await proxy.close();
  }
  wirings.clear();
});

async function breakConnection(driver: Driver, on: string): Promise<void> {
  await wirings.get(driver)?.proxy.inject(cut({ on })).struck;
}

runConformance("an adapter in five files", {
  replicas: 1,
  masters: 1,
  countsReceivers: true,
  keepsOrder: true,
  async connect() {
    const proxy = await startProxy(servers.master.port);
    const client = new PlainClient({ port: proxy.port });
    const driver = plainDriver(client);
    wirings.set(driver, { client, proxy });
    return driver;
  },
  async cutCommand(driver) {
    const { client } = wirings.get(driver) ?? {};
    // What is sent before it knows is rejected.
    const lost = client && once(client, "lost");
    await breakConnection(driver, "\r\nEVAL");
    await lost;
  },
  cutSubscriber: (driver) => breakConnection(driver, "\r\nsubscribe"),
  endClient: async (driver) => wirings.get(driver)?.client.end(),
  flushScripts: async () => void (await ask(servers.master, "SCRIPT", "FLUSH")),
});

it("an adapter needs five files, of 350 lines together at most", () => {
  const folder = new URL("../adapters/plain/", import.meta.url);
  const files = readdirSync(folder).sort();
  expect(files).toEqual(["client.ts", "connections.ts", "errors.ts", "index.ts", "server.ts"]);
  const lines = files.map((file) => readFileSync(new URL(file, folder), "utf8").split("\n").length - 1);
  expect(lines.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(350);
});
