import { builtModule } from "../support/built-module.mjs";
import { redisServer } from "../support/redis-server.mjs";

/** @import { Driver, FencedLease, Holdfast, Lease } from "../../src/index.js" */
/** @import { Kind, Library, OpenSettings } from "../support/contracts.js" */

/** The watchdog renews each third of its lease. */
const RENEWALS_PER_LEASE = 3;

/** @type {readonly Library[]} */
export const holdfastLibraries = [
  holdfastWith({ name: "holdfast", packages: ["ioredis"], connect: onIoredis }),
  holdfastWith({ name: "holdfast-node-redis", packages: ["redis"], connect: onNodeRedis, variant: "client" }),
  holdfastWith({
    name: "holdfast-glide",
    packages: ["@valkey/valkey-glide"],
    connect: onGlide,
    variant: "client",
  }),
  // As most programs use it: with no fixed lease, whatever is wished.
  holdfastWith({ name: "holdfast-watchdog", packages: ["ioredis"], connect: onIoredis, variant: "lease" }),
  // For a scenario that is about plain locks: with fair ones, whatever is wished.
  holdfastWith({ name: "holdfast-fair", packages: ["ioredis"], connect: onIoredis, variant: "kind" }),
];

/**
 * @param {Pick<Library, "name" | "packages" | "variant"> & { connect: (settings: OpenSettings) => Promise<Driver> }} how
 * @returns {Library}
 */
function holdfastWith({ connect, ...rest }) {
  return {
    ...rest,
    role: "ours",
    server: redisServer,
    claims: { kinds: ["fair", "fenced", "read", "write"], waits: true, renews: true },

    async open(settings) {
      const { Holdfast } = await builtModule(settings, ".");
      const watchdogMs = settings.renewEachMs * RENEWALS_PER_LEASE;
      const holdfast = new Holdfast(await connect(settings), { watchdogMs, ...settings.holdfastOptions });
      const isFixed = rest.variant !== "lease";
      const usual = rest.variant === "kind" ? "fair" : "plain";
      return {
        acquire: (name, { ttlMs, kind = usual }) =>
          lockOf(holdfast, kind, name).lock(isFixed && ttlMs !== undefined ? { leaseMs: ttlMs } : {}),
        release: (/** @type {Lease} */ lease) => lease.unlock(),
        isHeld: (/** @type {Lease} */ lease) => lease.state === "held",
        token: (/** @type {FencedLease} */ lease) => lease.token,
      };
    },
  };
}

/**
 * @param {Holdfast} holdfast
 * @param {Kind} kind
 * @param {string} name
 */
function lockOf(holdfast, kind, name) {
  switch (kind) {
    case "plain":
      return holdfast.getLock(name);
    case "fair":
      return holdfast.getFairLock(name);
    case "fenced":
      return holdfast.getFencedLock(name);
    case "read":
      return holdfast.getReadWriteLock(name).readLock();
    case "write":
      return holdfast.getReadWriteLock(name).writeLock();
  }
}

/** @param {OpenSettings} settings */
async function onIoredis(settings) {
  const { Redis } = await import("ioredis");
  const { ioredisDriver } = await builtModule(settings, "./ioredis");
  return ioredisDriver(new Redis({ host: "127.0.0.1", port: settings.port }));
}

/** @param {OpenSettings} settings */
async function onNodeRedis(settings) {
  const { createClient } = await import("redis");
  const { nodeRedisDriver } = await builtModule(settings, "./node-redis");
  const client = createClient({ socket: { host: "127.0.0.1", port: settings.port } });
  client.on("error", (error) => console.error(error));
  await client.connect();
  return nodeRedisDriver(client);
}

/** @param {OpenSettings} settings */
async function onGlide(settings) {
  const { Decoder, GlideClient } = await import("@valkey/valkey-glide");
  const { valkeyGlideDriver } = await builtModule(settings, "./valkey-glide");
  const options = { addresses: [{ host: "127.0.0.1", port: settings.port }], requestTimeout: 5_000 };
  const client = await GlideClient.createClient(options);
  const subscriber = await GlideClient.createClient({ ...options, defaultDecoder: Decoder.Bytes });
  return valkeyGlideDriver(client, { subscriber });
}
