import "reflect-metadata";
import { ServiceUnavailableException } from "@nestjs/common";
import { type HealthCheckResult, HealthCheckService, TerminusModule } from "@nestjs/terminus";
import { Test } from "@nestjs/testing";
import { type Driver, Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { memoryDriver } from "holdfast/memory";
import { Redis } from "ioredis";
import { afterEach, expect, test } from "vitest";
import { startRedis } from "../../../test/support/servers/redis-server.js";
import { HoldfastModule, type HoldfastModuleOptions } from "../src/index.js";
import { HoldfastHealthIndicator, type HoldfastHealthOptions } from "../src/terminus.js";

/** The first question has the embedded server load its scripts. */
const timeoutMs = 1_500;

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** What Terminus answers, of an application with that client. */
async function checker(options: HoldfastModuleOptions, name?: string) {
  const module = await Test.createTestingModule({
    imports: [TerminusModule.forRoot({ logger: false }), HoldfastModule.forRoot({ ...options, name })],
    providers: [HoldfastHealthIndicator],
  }).compile();
  closers.push(() => module.close());
  const [health, locks] = [module.get(HealthCheckService), module.get(HoldfastHealthIndicator)];
  return (asked?: HoldfastHealthOptions) =>
    health.check([() => locks.check("locks", asked)]).catch((error): HealthCheckResult => {
      if (error instanceof ServiceUnavailableException) return error.getResponse() as HealthCheckResult;
      throw error;
    });
}

/** A driver whose subscriptions are somebody else's. */
function listening(driver: Driver, subscribe: Driver["subscribe"]): Driver {
  return new Proxy(driver, {
    get: (of, key) => {
      if (key === "subscribe") return subscribe;
      const value = Reflect.get(of, key, of);
      return typeof value === "function" ? value.bind(of) : value;
    },
  });
}

test("is up with the server and its distance where it answers, and down with the reason where not", async () => {
  const server = await startRedis();
  closers.push(() => server.stop());
  const check = await checker({ driver: ioredisDriver(server.client()) });
  const up = await check({ timeoutMs: 20_000 });
  expect(up).toMatchObject({
    status: "ok",
    details: {
      locks: { status: "up", server: `redis://127.0.0.1:${server.port}/0`, rttMs: expect.any(Number) },
    },
  });
  expect(await server.client().pubsub("NUMSUB", "redisson_lock__channel:{holdfast:health}")).toEqual([
    "redisson_lock__channel:{holdfast:health}",
    0,
  ]);
  await server.pause();
  expect(await check({ timeoutMs: 50 })).toMatchObject({
    status: "error",
    details: { locks: { status: "down", message: expect.stringContaining("50 ms") } },
  });
  server.resume();
});

test("is degraded where the server answers and its messages do not arrive", async () => {
  const check = await checker({ driver: listening(memoryDriver(), () => new Promise(() => {})) });
  expect(await check({ timeoutMs })).toMatchObject({
    status: "degraded",
    details: { locks: { status: "degraded", messages: "no answer to a subscription within 1500 ms" } },
  });
  const refused = await checker({
    driver: listening(memoryDriver(), () => Promise.reject(new Error("no more connections"))),
  });
  expect((await refused()).details["locks"]).toMatchObject({
    status: "degraded",
    messages: "no subscription: no more connections",
  });
});

test("is up for a user of Redis who may listen to the channels of certain locks alone", async () => {
  const server = await startRedis();
  closers.push(() => server.stop());
  const redis = server.client();
  const rights = ["~*", "+@all", "resetchannels", "&redisson_lock__channel:{order:*"];
  await redis.call("ACL", "SETUSER", "orders", "on", ">secret", ...rights);
  const client = new Redis(server.port, { username: "orders", password: "secret" });
  closers.push(async () => client.disconnect());
  const check = await checker({ driver: ioredisDriver(client) });
  expect(await check({ timeoutMs: 20_000 })).toMatchObject({ status: "ok" });
  await redis.call("ACL", "SETUSER", "orders", "-subscribe");
  expect((await check({ timeoutMs: 20_000 })).details["locks"]).toMatchObject({
    status: "degraded",
    messages: expect.stringContaining("subscribe"),
  });
});

test("asks for messages once, however often it is asked while no answer comes", async () => {
  let asked = 0;
  let answer = (_: () => Promise<void>) => {};
  const subscribe = () => {
    asked += 1;
    return new Promise<() => Promise<void>>((resolve) => {
      answer = resolve;
    });
  };
  const check = await checker({ driver: listening(memoryDriver(), subscribe) });
  const status = async () => (await check({ timeoutMs })).status;
  expect([await status(), await status(), asked]).toEqual(["degraded", "degraded", 1]);
  answer(async () => {});
  await expect
    .poll(async () => {
      await status();
      return asked;
    })
    .toBeGreaterThan(1);
});

test("a client that was given shows its messages with its driver alone", async () => {
  const driver = listening(memoryDriver(), () => new Promise(() => {}));
  const check = await checker({ holdfast: new Holdfast(driver) });
  expect((await check()).status).toBe("ok");
  const knows = await checker({ holdfast: new Holdfast(driver), driver });
  expect((await knows({ timeoutMs })).status).toBe("degraded");
});

test("looks at the client of that name, and rejects where there is none", async () => {
  const check = await checker({ driver: memoryDriver() }, "billing");
  expect((await check({ client: "billing" })).status).toBe("ok");
  await expect(check().then(({ status }) => status)).rejects.toThrow(
    "HoldfastModule is not imported, or not with that name: there is no Holdfast(default)",
  );
});
