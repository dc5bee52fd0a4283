// @ts-check
/** Plays a fleet of frozen and thawed environments, and a clock that is about to run out. */
import assert from "node:assert/strict";
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { withRedis } from "../with-redis.mjs";
import { Environment } from "./environment.mjs";
import { Ledger } from "./ledger.mjs";

const orders = ["lamp-300", "desk-200", "sofa-5000", "shelf-100"];

/** @typedef {{ a: Environment, b: Environment, keeper: Environment, redis: Redis, holdfast: Holdfast, ledger: Ledger }} Stage */

/** @type {((stage: Stage) => Promise<string>)[]} each answers what is to be seen */
const scenes = [
  async ({ a, b, ledger }) => {
    const event = { orderId: "lamp-300" };
    const answers = await Promise.all([a.invoke(event), b.invoke(event)]);
    const statuses = answers.map(({ statusCode }) => statusCode);
    assert.deepEqual([statuses, await ledger.payments("lamp-300")], [[200, 200], 1]);
    return `two environments get one order at once: ${statuses.join(", ")}; 1 payment`;
  },
  async ({ a, holdfast }) => {
    assert.equal((await a.invoke({ orderId: "desk-200" })).statusCode, 200);
    const { holders } = await holdfast.inspect("order:desk-200");
    assert.deepEqual(holders, []);
    return "frozen after its answer: the lock is free, as it was released before";
  },
  async ({ a, redis, ledger }) => {
    const clients = String(await redis.client("LIST")).split("\n");
    const ids = clients.flatMap((line) =>
      / name=lambda /.test(line) ? [String(/^id=(\d+)/.exec(line)?.[1])] : [],
    );
    assert.ok(ids.length > 0);
    for (const id of ids) await redis.client("KILL", "ID", id);
    const { statusCode } = await a.invoke({ orderId: "shelf-100" });
    assert.deepEqual([statusCode, await ledger.payments("shelf-100")], [200, 1]);
    return "its connections were closed while it was frozen: the next invocation connects again, and pays";
  },
  async ({ b, holdfast, ledger }) => {
    const startMs = performance.now();
    const { statusCode } = await b.invoke({ orderId: "sofa-5000" }, 1_500);
    const tookMs = performance.now() - startMs;
    const { holders } = await holdfast.inspect("order:sofa-5000");
    assert.deepEqual([statusCode, holders, await ledger.payments("sofa-5000")], [503, [], 0]);
    assert.ok(tookMs < 1_500);
    return "1.5 s for work of 5 s: it stops in time, answers 503 and leaves no lock behind";
  },
  async ({ keeper, holdfast }) => {
    assert.equal((await keeper.invoke({})).state, "held");
    // Nothing renews it now: the next holder comes in when its lease is over.
    const next = await holdfast.getLock("report").lock({ waitMs: 20_000 });
    const answer = await keeper.invoke({});
    assert.deepEqual(answer, { state: "lost", code: "ERR_HOLDFAST_LEASE_LOST", reason: "expired" });
    next.assertHeld();
    await next.unlock();
    return `a lease that is kept over the freeze: another has the lock, and thawed it says "${answer.state}" at once`;
  },
];

await withRedis(async (url) => {
  const redis = new Redis(url);
  const holdfast = new Holdfast(ioredisDriver(redis));
  const ledger = new Ledger(redis);
  await redis.del(orders.map((id) => `ledger:${id}`));
  const [a, b, keeper] = await Promise.all([
    Environment.start("handler.mjs", url),
    Environment.start("handler.mjs", url),
    Environment.start("kept-lease.mjs", url),
  ]);
  try {
    for (const scene of scenes) console.log(await scene({ a, b, keeper, redis, holdfast, ledger }));
    console.log(`${scenes.length} scenes: no lock outlived its invocation unseen`);
    return true;
  } finally {
    await Promise.all([a, b, keeper].map((environment) => environment.end()));
    await holdfast.close();
    redis.disconnect();
  }
});
