import { describe, expect, test } from "vitest";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { JVM } from "../support/worlds/listed.js";

const redis = locksOnRedis();
const NAMES = 100_000;
/** A name of some ten characters, in a set of the names that were listed, takes a hundred bytes at most; a page is small beside that. */
const MOST_BYTES = 200 * NAMES;

function heapBytes(): number {
  for (let i = 0; i < 3; i += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

describe("locks() over 100 000 names", () => {
  test("lists each once, and keeps little more than their names", { timeout: 180_000 }, async () => {
    const fill = redis.plain.pipeline();
    for (let at = 0; at < NAMES; at += 1) fill.hset(`lock:${at}`, `${JVM}:${at}`, "1");
    await fill.exec();
    const { holdfast } = redis.connect();
    const isListed = new Uint8Array(NAMES);
    const growths: number[] = [];
    let listed = 0;
    const before = heapBytes();
    for await (const { key, holders } of holdfast.locks({ sources: ["scan"] })) {
      const at = Number(key.slice("lock:".length));
      expect([isListed[at], holders[0]?.holder]).toEqual([0, `${JVM}:${at}`]);
      isListed[at] = 1;
      listed += 1;
      if (listed % 20_000 === 0) growths.push(heapBytes() - before);
    }
    expect([listed, growths.length]).toEqual([NAMES, NAMES / 20_000]);
    expect(Math.max(...growths)).toBeLessThan(MOST_BYTES);
    await redis.plain.flushdb();
  });
});
