import { afterEach, describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { ObservedDriver } from "../support/drivers/observed-driver.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import type { Child } from "../support/worlds/child.js";
import { childPrograms } from "../support/worlds/child-programs.js";

const redis = locksOnRedis();
const start = childPrograms();
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await redis.plain.del("s", "{s}:timeout", QUEUE);
});

const HOUR_MS = 3_600_000;
const LONG_MS = 60_000;
const QUEUE = "holdfast_waiting:{s}";
const KINDS = ["getSemaphore", "getPermitExpirableSemaphore"] as const;
type Kind = (typeof KINDS)[number];
/** The first turns, before all know of each other, cost a command for each client; later ones three. */
const COMMANDS = 8;

interface Patient {
  readonly holdfast: Holdfast;
  readonly driver: ObservedDriver;
}

/** A client with connections of its own that only a message or the end of a turn makes ask again. */
function patient(): Patient {
  const client = redis.server.client();
  const driver = new ObservedDriver(ioredisDriver(client));
  const holdfast = new Holdfast(driver, { safetyPeriodMs: HOUR_MS });
  ends.push(async () => {
    await holdfast.close({ releaseHeld: true });
    await destroyClient(client);
  });
  return { holdfast, driver };
}

async function take(holdfast: Holdfast, kind: Kind): Promise<() => Promise<unknown>> {
  if (kind === "getSemaphore") {
    const semaphore = holdfast.getSemaphore("s");
    await semaphore.acquire();
    return () => semaphore.release();
  }
  const permits = await holdfast.getPermitExpirableSemaphore("s").acquire({ leaseMs: HOUR_MS });
  return () => permits.release();
}

/** The lines that wait, the first first. */
function places(): Promise<string[]> {
  return redis.plain.zrange(QUEUE, "1", "+inf", "BYSCORE");
}

describe.each(KINDS)("with %s", (kind) => {
  test("32 clients on 3 permits are never more than 3, all have their turns, and each turn costs a few commands", {
    timeout: LONG_MS,
  }, async () => {
    const [clients, turns, permits] = [32, 8, 3];
    await redis.holdfast()[kind]("s").trySetPermits(permits);
    const all = Array.from({ length: clients }, patient);
    let [inside, most] = [0, 0];
    const served = all.map(() => 0);
    const visits = all.map(async ({ holdfast }, at) => {
      for (let left = turns; left > 0; left -= 1) {
        const giveBack = await take(holdfast, kind);
        inside += 1;
        most = Math.max(most, inside);
        await redis.plain.ping();
        inside -= 1;
        served[at] = (served[at] ?? 0) + 1;
        await giveBack();
      }
    });
    await Promise.all(visits);
    expect(most).toBe(permits);
    expect(served).toEqual(all.map(() => turns));
    const asked = all.flatMap(({ driver }) =>
      driver.calls.filter(({ call }) => /^(?:semaphore|permit)-/.test(call.script.name)),
    );
    expect(asked.length / (clients * turns)).toBeLessThanOrEqual(COMMANDS);
    expect(await redis.holdfast()[kind]("s").availablePermits()).toBe(permits);
    expect(await places()).toEqual([]);
  });
});

describe("a process that is killed while it is the first in the queue", () => {
  async function victim(): Promise<Child> {
    const settings = { port: redis.server.port, semaphore: "s", inside: "inside" };
    return start("permit-user", settings);
  }

  test("does not hold up those behind it: they are told in their order, without a wait for it", {
    timeout: LONG_MS,
  }, async () => {
    const semaphore = redis.holdfast().getSemaphore("s");
    await semaphore.trySetPermits(1);
    const giveBack = await take(patient().holdfast, "getSemaphore");
    const order: string[] = [];
    const waits = async ({ holdfast }: Patient) => {
      const back = await take(holdfast, "getSemaphore");
      order.push(holdfast.clientId);
      return back;
    };
    /** Who hears what all hear loses a race, and so comes to stand in the queue. */
    const stand = (count: number) =>
      until(async () => {
        await redis.plain.publish("redisson_sc:{s}", "1");
        return (await places()).length === count;
      });
    const [one, second, third] = [patient(), patient(), patient()];
    const ours = [waits(one)];
    await stand(1);
    const dying = await victim();
    const never = dying.ask("acquire", { permits: 1 }).catch(() => "it died");
    await stand(2);
    ours.push(waits(second));
    await stand(3);
    ours.push(waits(third));
    await stand(4);
    const lines = await places();

    // The first has it, and knows of the others. The process is the first of those that wait when it dies.
    await giveBack();
    const backOf = (at: number) => ours[at] as Promise<() => Promise<unknown>>;
    const back = await backOf(0);
    expect(await places()).toEqual(lines.slice(1));
    await dying.stop();
    expect(await never).toBe("it died");
    expect(await places()).toEqual(lines.slice(1));
    await back();
    // Nobody listens for it: the release has passed it over.
    expect(await places()).not.toContain(lines[1]);
    await (await backOf(1))();
    await (await backOf(2))();
    expect(order).toEqual([one, second, third].map(({ holdfast }) => holdfast.clientId));
    expect(await places()).toEqual([]);
    expect(await semaphore.availablePermits()).toBe(1);
  });
});
