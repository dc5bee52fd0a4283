import { describe, expect, test } from "vitest";
import type { HoldfastOptions } from "../../src/client-options.js";
import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();

const MANY = 20_000;
const MOST_UNDER_WAY = 1_000;
/** No lease of a test ends by itself within it. */
const LONG_MS = 600_000;
const names = Array.from({ length: MANY }, (_, at) => `burst:${at}`);

/** How many locks were asked for and not answered yet, now and at most. */
interface Counted {
  underWay: number;
  most: number;
  sent: number;
}

/** A client that has met the server, and what its driver is asked for. */
async function withClient(
  options: HoldfastOptions,
  work: (holdfast: Holdfast, counted: Counted) => Promise<void>,
): Promise<void> {
  const client = redis.server.client();
  const counted: Counted = { underWay: 0, most: 0, sent: 0 };
  const holdfast = new Holdfast(counting(ioredisDriver(client), counted), options);
  try {
    await holdfast.getLock("acquaintance").using(() => undefined);
    counted.sent = 0;
    await work(holdfast, counted);
  } finally {
    await holdfast.close();
    await destroyClient(client);
  }
}

function counting(driver: Driver, counted: Counted): Driver {
  const run: Driver["run"] = (call, ticket) => {
    const locks = call.script.name === "lock-acquire" ? call.keys.length : 0;
    counted.sent += locks;
    counted.underWay += locks;
    counted.most = Math.max(counted.most, counted.underWay);
    return driver.run(call, ticket).finally(() => {
      counted.underWay -= locks;
    });
  };
  return new Proxy(driver, {
    get(target, name) {
      if (name === "run") return run;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function unlockAll(leases: readonly Lease[]): Promise<void> {
  for (let at = 0; at < leases.length; at += 5_000) {
    await Promise.all(leases.slice(at, at + 5_000).map((lease) => lease.unlock()));
  }
}

describe("twenty thousand different locks of one client in one turn", () => {
  test.each([true, false])(
    "are all taken, a thousand under way at once (groupCommit: %j) [own-14]",
    async (groupCommit) => {
      await withClient({ groupCommit }, async (holdfast, counted) => {
        const calls = names.map((name) => holdfast.getLock(name).lock({ leaseMs: LONG_MS }));
        const leases = await Promise.all(calls);
        expect(leases.filter(({ state }) => state === "held")).toHaveLength(MANY);
        expect(counted).toEqual({ underWay: 0, most: MOST_UNDER_WAY, sent: MANY });
        await unlockAll(leases);
      });
    },
    60_000,
  );

  test("fail when the server stands still, most of them unsent, and leave nothing behind once it goes on", async () => {
    const commandTimeoutMs = 500;
    await withClient({ commandTimeoutMs }, async (holdfast, counted) => {
      await redis.server.pause();
      const outcomes = await Promise.allSettled(names.map((name) => holdfast.getLock(name).lock()));
      redis.server.resume();
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(0);
      expect(counted.sent).toBeLessThanOrEqual(2 * 2 * MOST_UNDER_WAY);
      const unknown = outcomes.filter(
        (outcome) => outcome.status === "rejected" && outcome.reason.outcomeUnknown,
      );
      expect(unknown.length).toBeLessThanOrEqual(2 * MOST_UNDER_WAY);
      await holdfast.close();
    });
  }, 60_000);
});
