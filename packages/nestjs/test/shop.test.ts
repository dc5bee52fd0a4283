import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { installedNode } from "../../../scripts/node-releases.mjs";
import { runCommand } from "../../../scripts/run-command.mjs";
import { until } from "../../../test/support/run/until.js";
import { type RedisServer, startRedis } from "../../../test/support/servers/redis-server.js";
import { ServerMonitor } from "../../../test/support/servers/server-monitor.js";
import { Child } from "../../../test/support/worlds/child.js";

type World = [
  release: "nest-11" | "nest-12",
  system: "esm" | "cjs",
  node: "20.19" | "26",
  framework: "express" | "fastify",
];

/** Each release of Nest in both module systems, on the oldest Node that holdfast supports and on the newest, on both frameworks. */
const worlds: readonly World[] = [
  ["nest-11", "cjs", "20.19", "fastify"],
  ["nest-11", "esm", "26", "express"],
  ["nest-12", "cjs", "20.19", "express"],
  ["nest-12", "esm", "26", "fastify"],
  ["nest-12", "esm", "26", "express"],
];

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Shop {
  readonly child: Child;
  readonly summaries: unknown;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
}

async function startServer(): Promise<RedisServer> {
  const server = await startRedis();
  closers.push(() => server.stop());
  return server;
}

async function startShop(
  server: RedisServer,
  [release, system, node, framework]: World,
  ...further: "graphql"[]
): Promise<Shop> {
  const program = fileURLToPath(new URL(`releases/${release}/build/${system}/main.js`, import.meta.url));
  if (!existsSync(program)) throw new Error(`${program} is missing: run \`npm run test:nest\``);
  const child = new Child(await installedNode(node), [program, server.url, framework, ...further]);
  closers.push(() => child.stop());
  const { port, summaries, node: version } = await child.next("ready");
  expect(version).toMatch(new RegExp(`^v${node}\\.`));
  return {
    child,
    summaries,
    get: (path, headers = {}) => fetch(`http://127.0.0.1:${port}${path}`, { headers }),
  };
}

// npm may have to fetch a Node.
beforeAll(() => Promise.all(["20.19", "26"].map(installedNode)), 300_000);

describe.each(worlds)("a shop on %s, as %s on Node %s, with %s", (...world) => {
  const [, , , framework] = world;

  test("locks controllers and providers, and keeps what Nest and Swagger are told, in both orders", async () => {
    const server = await startServer();
    const shop = await startShop(server, world);
    const paths = ["/orders/7", "/orders/7/below", "/orders/7/inside"];
    for (const path of paths) expect(await (await shop.get(path)).json()).toEqual({ id: "7", held: true });
    expect(shop.summaries).toEqual(["locked above", "locked below"]);

    await server.client().hset("order:8", "somebody:1", 1);
    await server.client().pexpire("order:8", 60_000);
    for (const path of ["/orders/8", "/orders/8/below"]) {
      const busy = await shop.get(path);
      expect([busy.status, busy.headers.get("retry-after")]).toEqual([409, "2"]);
    }
  });

  test("is healthy, and shows its locks to those whom a guard lets pass", async () => {
    const shop = await startShop(await startServer(), world);
    const health = await (await shop.get("/health")).json();
    expect(health).toMatchObject({ status: "ok", details: { locks: { status: "up" } } });
    expect((await shop.get("/locks")).status).toBe(403);
    expect((await shop.get("/locks", { "x-role": "admin" })).headers.get("content-type")).toContain(
      "text/html",
    );
  });

  test("runs each job in one of two processes, in both orders with @Cron", async () => {
    const server = await startServer();
    const shops = await Promise.all([startShop(server, world), startShop(server, world)]);
    const fired = await Promise.all(shops.map(async (shop) => (await shop.get("/jobs")).json()));
    expect(fired).toEqual([
      ["above", "below"],
      ["above", "below"],
    ]);
    const ranNow = () => shops.flatMap(({ child }) => child.events.filter(({ event }) => event === "ran"));
    await until(() => ranNow().length >= 2);
    // What has begun is brought to its end.
    for (const { child } of shops) process.kill(child.pid, "SIGTERM");
    await Promise.all(shops.map(({ child }) => child.exited));
    const ran = ranNow();
    expect(ran.map(({ job }) => job).sort()).toEqual(["above", "below"]);
    const markers = await server.client().keys("holdfast_once:*");
    expect(markers.map((marker) => marker.includes("jobs.below") || marker.includes("Jobs.above"))).toEqual([
      true,
      true,
    ]);
  });

  test("on SIGTERM a running body ends, its lock is freed, and then the connection", async () => {
    const server = await startServer();
    const shop = await startShop(server, world);
    const monitor = await ServerMonitor.open(server);
    closers.push(async () => monitor.close());
    // Fastify waits for connections that are kept open.
    const answer = shop.get("/orders/7/slow", { connection: "close" });
    await shop.child.next("slow");
    process.kill(shop.child.pid, "SIGTERM");
    await shop.child.next("closing");
    expect(await server.client().exists("order:7")).toBe(1);
    await shop.child.ask("go on");
    expect(await (await answer).json()).toEqual({ id: "7", held: true });
    expect(await shop.child.exited).toEqual({ code: null, signal: "SIGTERM" });
    expect(shop.child.errors).toBe("");
    const seen = (await monitor.read()).filter((words) => words.includes("order:7") || words[0] === "quit");
    expect(seen.at(-1)).toEqual(["quit"]);
    expect(seen.at(-2)).toContain("order:7");
    expect(await server.client().exists("order:7")).toBe(0);
  });

  test.runIf(framework === "express")("locks resolvers of GraphQL, in both orders", async () => {
    const server = await startServer();
    const shop = await startShop(server, world, "graphql");
    const ask = async (query: string) => {
      const headers = { "apollo-require-preflight": "true" };
      return (await shop.get(`/graphql?query=${encodeURIComponent(query)}`, headers)).json();
    };
    expect(await ask('{ above(id: "7") below(id: "9") }')).toEqual({ data: { above: true, below: true } });
    await server.client().hset("order:8", "somebody:1", 1);
    await server.client().pexpire("order:8", 60_000);
    expect(await ask('{ below(id: "8") }')).toMatchObject({
      errors: [{ message: expect.stringContaining("order:8") }],
    });
  });
});

test("an application on Nest 11 is tested under Jest, as CommonJS", async () => {
  const jest = fileURLToPath(new URL("../../../node_modules/jest/bin/jest.js", import.meta.url));
  const rootDir = fileURLToPath(new URL("releases/nest-11/build/jest", import.meta.url));
  const config = JSON.stringify({ rootDir, testEnvironment: "node", transform: {} });
  const { ok, output } = await runCommand(await installedNode("20.19"), [jest, "--ci", "--config", config], {
    quiet: true,
  });
  expect(ok, output).toBe(true);
  expect(output).toContain("1 passed");
});
