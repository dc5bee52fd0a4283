import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { holdfast } from "../../packages/cli/test/support/command-line.js";
import { release } from "../support/jvm/interop.js";
import { type Redisson, startRedisson } from "../support/jvm/redisson.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";

let server: RedisServer;
let redisson: Redisson;
beforeAll(async () => {
  [server, redisson] = await Promise.all([startRedis(), startRedisson(release)]);
});
afterAll(async () => {
  await redisson?.stop();
  await server?.stop();
});

describe(`Redisson ${release}: the command line`, () => {
  test("tells a JVM that has a lock by its id, and by its name where it has presence", async () => {
    const env = { HOLDFAST_URL: server.url };
    const jvm = await redisson.connect(server.url);
    const lock = { kind: "lock", name: "order:7" } as const;
    await jvm.thread("t").call(lock, "lock");
    const byId = new RegExp(`^order:7 +lock +JVM ${jvm.id.slice(0, 4)}…:\\d+ `);

    expect((await holdfast(["ls"], { env })).out).toBe("");
    expect((await holdfast(["ls", "--scan"], { env })).lines.at(1)).toMatch(byId);
    const shown = await holdfast(["show", "order:7"], { env });
    expect(shown.lines.at(-1)).toMatch(new RegExp(`holdfast unlock order:7 --holder ${jvm.id}:\\d+$`));

    await jvm.presence("tell", "default", { app: "billing", host: "pod-7" });
    expect((await holdfast(["ls", "--scan"], { env })).lines.at(1)).toMatch(/^order:7 +lock +billing@pod-7 /);
    expect((await holdfast(["clients"], { env })).lines.at(1)).toMatch(/^billing +pod-7 +- /);

    await jvm.thread("t").call(lock, "unlock");
    await jvm.presence("leave", "default", {});
    await jvm.disconnect();
    expect((await holdfast(["show", "--exit-code", "order:7"], { env })).code).toBe(1);
  });
});
