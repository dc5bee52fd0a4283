import { afterEach, describe, expect, test } from "vitest";
import { Client } from "../../src/client.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { readFleet } from "../../src/presence/fleet.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const MOST = 10_000;
const HOUR_MS = 3_600_000;
const GROUP = "crowd";

afterEach(() => redis.plain.flushdb());

const idOf = (nth: number) => `${String(nth).padStart(8, "0")}-6f0a-8001-9d8e-0123456789ab`;

/** Clients that each were heard of later than the one before. @param live what they tell; without, nothing of themselves */
async function come(from: number, upto: number, live = ""): Promise<void> {
  const atMs = String(Date.now());
  const fill = redis.plain.pipeline();
  for (let nth = from; nth < upto; nth += 1) {
    fill.hset(`holdfast_client:{${GROUP}}:${idOf(nth)}`, "v", "1", "at", atMs, "every", "5000", "live", live);
    fill.zadd(`holdfast_clients:{${GROUP}}`, Number(atMs) + HOUR_MS + nth, idOf(nth));
  }
  await fill.exec();
}

test("a fleet that tells more than 32 MiB is read with all its clients, of which those that were heard of longest ago tell nothing [P14]", async () => {
  const live = JSON.stringify({ holds: [["x".repeat(16_000), "lock", 1, 1, 1, 0]] });
  const many = 2_200;
  for (let nth = 0; nth < many; nth += 200) await come(nth, nth + 200, live);
  const { holdfast } = redis.connect();
  // Also where the reader remembers some of them.
  for (let time = 0; time < 2; time += 1) {
    const { clients, truncated } = await holdfast.fleet({ group: GROUP });
    expect([clients.length, truncated]).toEqual([many, true]);
    const silent = clients.slice(
      0,
      clients.findIndex(({ holds }) => holds.length > 0),
    );
    const telling = clients.length - silent.length;
    expect(clients.map(({ id }) => id)).toEqual(Array.from({ length: many }, (_, at) => idOf(at)));
    expect(telling * live.length).toBeGreaterThanOrEqual(33_554_432);
    expect(telling * live.length).toBeLessThan(33_554_432 + 262_144 + 32_768);
    expect(silent.filter(({ holds, state }) => holds.length === 0 && state === "there")).toEqual(silent);
  }
});

describe("a fleet of more than 10 000 clients", () => {
  test("is read up to those that were heard of last, and says that there are more", async () => {
    await come(0, MOST);
    const { holdfast } = redis.connect();
    expect(await holdfast.fleet({ group: GROUP })).toMatchObject({ truncated: false });
    await come(MOST, MOST + 3);
    const { clients, truncated } = await holdfast.fleet({ group: GROUP });
    expect(truncated).toBe(true);
    expect(clients.map(({ id }) => id)).toEqual(Array.from({ length: MOST }, (_, at) => idOf(at + 3)));
  });

  test("is read as it was at first, however many come while it is read", async () => {
    const client = new Client(ioredisDriver(redis.connect().redis), {});
    let there = 200;
    await come(0, there);
    let read = 0;
    for await (const page of readFleet(client, { group: GROUP })) {
      read += page.length;
      await come(there, there + 200);
      there += 200;
    }
    expect(read).toBe(200);
    await client.stop();
  });
});
