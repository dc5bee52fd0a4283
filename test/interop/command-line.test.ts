import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { holdfast } from "../../packages/cli/test/support/command-line.js";
import { misfits } from "../../packages/cli/test/support/schemas.js";
import { release } from "../support/jvm/interop.js";
import { type Redisson, startRedisson } from "../support/jvm/redisson.js";
import { until } from "../support/run/until.js";
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

  test("tells what a JVM waits for, by its channel and by its place in a queue, and lets it in by unlock", async () => {
    const env = { HOLDFAST_URL: server.url };
    const [holder, waiter] = [await redisson.connect(server.url), await redisson.connect(server.url)];
    const [lock, fair] = [
      { kind: "lock", name: "order:8" } as const,
      { kind: "fair", name: "report" } as const,
    ];
    const [first, plainWaiter, fairWaiter] = [holder.thread("h"), waiter.thread("p"), waiter.thread("f")];
    await first.call(lock, "lock");
    await first.call(fair, "lock");
    const waits = [plainWaiter.call(lock, "lock"), fairWaiter.call(fair, "lock")];
    await until(async () => (await plainWaiter.isWaiting()) && (await fairWaiter.isWaiting()));

    const listed = await holdfast(["ls", "--waiting", "--sort", "name"], { env });
    const jvm = (id: string) => `JVM ${id.slice(0, 4)}…:\\d+`;
    expect(listed.lines.slice(1)).toEqual([
      expect.stringMatching(new RegExp(`^order:8 +lock +${jvm(holder.id)} .* 1 listening *$`)),
      expect.stringMatching(new RegExp(`^report +fair +${jvm(holder.id)} .* 1 in the queue`)),
    ]);
    const shown = await holdfast(["show", "order:8", "report", "--json"], { env });
    expect(misfits("shown-lock", shown.lines)).toEqual([]);
    const [ofLock, ofFair] = shown.lines.map((line) => JSON.parse(line) as object);
    expect(ofLock).toMatchObject({ holders: [{ by: "jvm" }], waiting: [], listeners: 1 });
    expect(ofFair).toMatchObject({
      holders: [{ by: "jvm" }],
      waiting: [{ holder: expect.stringMatching(new RegExp(`^${waiter.id}:\\d+$`)), client: null }],
    });
    expect((await holdfast(["show", "report"], { env })).out).toMatch(
      new RegExp(`waiting +1\\. ${jvm(waiter.id)}\n`),
    );

    for (const { name } of [lock, fair]) {
      const { lines } = await holdfast(["show", name], { env });
      const [, line = ""] = /free it +holdfast (unlock .*)$/.exec(lines.at(-1) ?? "") ?? [];
      expect((await holdfast(line.split(" "), { env })).code).toBe(0);
    }
    await Promise.all(waits);
    expect((await holdfast(["show", "order:8"], { env })).out).toMatch(
      new RegExp(`held by +${jvm(waiter.id)}`),
    );
    await expect(first.call(lock, "unlock")).rejects.toThrow("IllegalMonitorState");
    await plainWaiter.call(lock, "unlock");
    await fairWaiter.call(fair, "unlock");
    await Promise.all([holder.disconnect(), waiter.disconnect()]);
  });
});
