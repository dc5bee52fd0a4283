import { expect, test } from "vitest";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { childPrograms } from "../support/worlds/child-programs.js";

const redis = locksOnRedis();
const start = childPrograms();
const CROSSINGS = 10_000;
const LIBRARIES = ["redlock4", "redlock5", "holdfast/redlock"] as const;

test("10,000 crossings by redlock 4, redlock 5 and ours on one name never overlap, and all come to their turn", {
  timeout: 300_000,
}, async () => {
  const port = redis.server.port;
  const users = await Promise.all(
    [...LIBRARIES, ...LIBRARIES].map((library) => start("redlock-user", { port, library })),
  );
  const times = Math.ceil(CROSSINGS / users.length);
  const crossed = await Promise.all(users.map((user) => user.ask("cross", { name: "bridge", times })));
  expect(crossed).toEqual(users.map(() => expect.objectContaining({ event: "crossed", overlaps: 0 })));
  await Promise.all(users.map((user) => user.ask("exit")));
  expect(await redis.plain.get("bridge:on-bridge")).toBe("0");
  expect(await redis.plain.exists("bridge")).toBe(0);
  await redis.plain.flushall();
});
