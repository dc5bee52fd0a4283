import type { Redis } from "ioredis";

const HOUR_MS = 3_600_000;

/** The id of a client of such a fleet. */
export const storedClientId = (nth: number): string =>
  `${String(nth).padStart(8, "0")}-6f0a-8001-9d8e-0123456789ab`;

/**
 * Writes a fleet as its clients would, without any: each has told just now, holds its part of the locks, and waits for one of the next
 * client's.
 */
export async function storeFleet(redis: Redis, size: { clients: number; locks: number }): Promise<void> {
  const atMs = String(Date.now());
  const fill = redis.pipeline();
  const each = Math.ceil(size.locks / size.clients);
  for (let nth = 0; nth < size.clients; nth += 1) {
    const id = storedClientId(nth);
    const keys = Array.from({ length: each }, (_, at) => `order:${nth * each + at}`).filter(
      (_, at) => nth * each + at < size.locks,
    );
    for (const key of keys) {
      fill.hset(key, `${id}:1`, "1");
      fill.pexpire(key, HOUR_MS);
    }
    const holds = keys.map((key) => [key, "lock", 1, 1, 9_000, 1, `invoice ${key}`]);
    const waits = [[`order:${((nth + 1) * each) % size.locks}`, "lock", 7_000]];
    const live = { acquired: 12, holds, waits, stats: [], lost: [], more: { holds: 0, waits: 0, stats: 0 } };
    const meta = { app: "billing", host: `web-${nth}`, pid: nth, labels: { region: "eu" } };
    fill.hset(
      `holdfast_client:{default}:${id}`,
      ...["v", "1", "at", atMs, "every", "5000", "liveAt", atMs],
      ...["meta", JSON.stringify(meta), "live", JSON.stringify(live)],
    );
    fill.zadd("holdfast_clients:{default}", Number(atMs) + HOUR_MS + nth, id);
  }
  await fill.exec();
}
