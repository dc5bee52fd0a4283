import {
  type GlideClient,
  type GlideClientConfiguration,
  Logger,
  ProtocolVersion,
} from "@valkey/valkey-glide";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { evaluate, script } from "../../src/driver/conformance/conformance-case.js";
import type { Driver } from "../../src/driver/driver.js";
import { valkeyGlideDriver } from "../../src/driver/valkey-glide/index.js";
import { closeGlideClients, glideClient, glideSubscriber } from "../support/clients/valkey-glide-clients.js";
import { runConformance } from "../support/drivers/conformance-runner.js";
import { cut, cutBeforeForward } from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";

Logger.init("off");

let server: RedisServer;
let admin: Redis;
beforeAll(async () => {
  server = await startRedis();
  admin = server.client();
});
afterAll(() => server.stop());
watchLeaks({ keys: () => admin });

interface Wiring {
  readonly commands: TcpProxy;
  readonly messages: TcpProxy;
  readonly clients: readonly GlideClient[];
}

/** Each driver has proxies of its own, so that its connections can be told from those of others. */
const wirings = new Map<Driver, Wiring>();
afterEach(async () => {
  closeGlideClients();
  for (const { commands, messages } of wirings.values()) {
    await commands.close();
    await messages.close();
  }
  wirings.clear();
});

async function wire(options: Partial<GlideClientConfiguration>): Promise<Driver> {
  const [commands, messages] = [await startProxy(server.port), await startProxy(server.port)];
  const client = await glideClient(commands.port, options);
  const subscriber = await glideSubscriber(messages.port);
  const driver = valkeyGlideDriver(client, { subscriber });
  wirings.set(driver, { commands, messages, clients: [client, subscriber] });
  return driver;
}

const lost = script("lost", "return 1");

const abilities = {
  countsReceivers: true,
  masters: 1,
  keepsOrder: true,
  /** Under a call: GLIDE does not tell when a connection breaks while there is none. */
  cutCommand: async (driver: Driver) => {
    wirings.get(driver)?.commands.inject(cutBeforeForward({ on: lost.lua }));
    await evaluate(driver, lost).catch(() => undefined);
  },
  cutSubscriber: async (driver: Driver) => {
    await wirings.get(driver)?.messages.inject(cut()).struck;
  },
  endClient: async (driver: Driver) => {
    for (const client of wirings.get(driver)?.clients ?? []) client.close();
  },
  flushScripts: async () => {
    await admin.script("FLUSH");
  },
} as const;

beforeEach(() => admin.flushall());
const pair = { client: "GLIDE", topology: "standalone" } as const;
runConformance("valkeyGlideDriver on GLIDE 2", { connect: () => wire({}), ...abilities }, pair);
runConformance(
  "valkeyGlideDriver on GLIDE 2 with RESP2",
  { connect: () => wire({ protocol: ProtocolVersion.RESP2 }), ...abilities },
  pair,
);
