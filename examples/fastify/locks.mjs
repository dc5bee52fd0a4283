// @ts-check
import fastifyPlugin from "fastify-plugin";
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";

/**
 * One client for the whole application: `app.getDecorator("holdfast")`. It is closed with the application.
 *
 * @type {import("fastify").FastifyPluginAsync<{ url: string }>}
 */
const plugin = async (app, { url }) => {
  const redis = new Redis(url);
  redis.on("error", () => undefined); // ioredis reconnects by itself, and failing calls reject with the reason
  const holdfast = new Holdfast(ioredisDriver(redis), { commandTimeoutMs: 1_000 });
  app.decorate("redis", redis);
  app.decorate("holdfast", holdfast);
  // Fastify runs onClose after the last response. A request that waits for a lock would hold that up for as long as it waits. So the client
  // closes in preClose: requests that wait are rejected at once, and those with a lock have ten seconds to finish.
  app.addHook("preClose", () => holdfast.close({ graceMs: 10_000 }));
  app.addHook("onClose", async () => redis.disconnect());
};

// Without fastify-plugin only the plugin's own routes would have the two decorators.
export const locks = fastifyPlugin(plugin, { name: "locks" });
