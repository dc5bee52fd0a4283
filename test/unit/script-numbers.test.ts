import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { memoryDriver } from "../../src/memory/index.js";
import type { RedisServer } from "../support/servers/redis-server.js";
import { workerServer } from "../support/servers/worker-server.js";

let server: RedisServer;
beforeAll(async () => {
  server = await workerServer();
});
afterAll(() => server.stop());

function evaluate(driver: Driver, expression: string): Promise<unknown> {
  const lua = `return ${expression}`;
  const sha1 = createHash("sha1").update(lua).digest("hex");
  return driver.run(
    { script: { name: "numbers", lua, sha1 }, keys: [], args: ["1795209961773"] },
    { givenUp: false },
  );
}

describe.each([
  ["redis-server", () => ioredisDriver(server.client())],
  ["the embedded server", () => memoryDriver()],
] as const)("a script on %s", (_, open) => {
  test.each([
    ["string.format('%.0f', tonumber('1795209961') * 1000 + 7)", "1795209961007"],
    ["string.format('%.0f', tonumber(ARGV[1]) + 1)", "1795209961774"],
    ["tonumber(ARGV[1]) > 2147483647 and 1 or 0", 1],
    ["string.format('%.0f', 4 / 2)", "2"],
    ["math.floor(tonumber('961773') / 1000)", 961],
    ["tonumber(ARGV[1])", 1_795_209_961_773],
    ["{ unpack({ 'a', 'b', 'c' }, 2) }", ["b", "c"]],
    ["tonumber('1795209961.5') == 1795209961.5 and 1 or 0", 1],
  ])("answers %s as Redis' Lua 5.1 does [R35]", async (expression, answer) => {
    const driver = open();
    expect(await evaluate(driver, expression)).toEqual(answer);
    await driver.close();
  });
});
