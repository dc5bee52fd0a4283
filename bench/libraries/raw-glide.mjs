import { randomUUID } from "node:crypto";
import { redisServer } from "../support/redis-server.mjs";
import { COMPARE_AND_DELETE } from "./raw-lua.mjs";

/** @import { Library } from "../support/contracts.js" */

/** @type {Library} */
export const rawGlide = {
  name: "raw-glide",
  role: "raw",
  server: redisServer,
  packages: ["@valkey/valkey-glide"],
  claims: { kinds: [], waits: false, renews: false },
  sent: ({ set = 0 }) => set,

  async open({ port }) {
    const { GlideClient, Script, TimeUnit } = await import("@valkey/valkey-glide");
    const addresses = [{ host: "127.0.0.1", port }];
    const client = await GlideClient.createClient({ addresses, requestTimeout: 5_000 });
    const script = new Script(COMPARE_AND_DELETE);
    return {
      async acquire(name, { ttlMs = 30_000 }) {
        const value = randomUUID();
        const expiry = { type: TimeUnit.Milliseconds, count: ttlMs };
        const reply = await client.set(name, value, { conditionalSet: "onlyIfDoesNotExist", expiry });
        if (reply !== "OK") throw new Error(`${name} is not free`);
        return { name, value };
      },
      release: (/** @type {{ name: string, value: string }} */ { name, value }) =>
        client.invokeScript(script, { keys: [name], args: [value] }),
    };
  },
};
