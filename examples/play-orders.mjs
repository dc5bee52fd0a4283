// @ts-check
/**
 * Plays clients of an endpoint that pays orders: of two processes that have it, and of one that has no Redis. The examples with a web
 * framework share it, so each of them is held to the same answers.
 */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { withRedis } from "./with-redis.mjs";

/** @param {URL} member the program of a process, which tells where its server listens, and what waits @param {string} url of Redis */
async function start(member, url) {
  const child = fork(member, { env: { ...process.env, REDIS_URL: url } });
  const [address] = await once(child, "message");
  return { child, url: `http://127.0.0.1:${address.port}` };
}

/** @param {{ url: string }} server @param {string} id @param {AbortSignal} [signal] */
async function pay(server, id, signal) {
  const startMs = performance.now();
  const response = await fetch(`${server.url}/orders/${id}/pay`, {
    method: "POST",
    ...(signal ? { signal } : {}),
  });
  await response.text();
  const { status, headers } = response;
  return { status, headers, seconds: (Math.round(performance.now() - startMs) / 1_000).toFixed(1) };
}

/** @type {import("ioredis").Redis} */
let redis;

/** @param {string} what the shop tells, as in "lamp is paid" */
async function told(what) {
  const messages = redis.duplicate();
  await messages.subscribe("shop");
  const heard = new Promise((resolve) =>
    messages.on("message", (_, text) => text === what && resolve(undefined)),
  );
  return { heard: heard.then(() => messages.disconnect()) };
}

/** Until a request of that process waits for the lock of an order. @param {Server} server @param {string} id */
function oneWaits({ child }, id) {
  return new Promise((resolve) =>
    child.on("message", (/** @type {{ waitsFor?: string }} */ { waitsFor }) => {
      if (waitsFor === `order:${id}`) resolve(undefined);
    }),
  );
}

/** @param {string} id @param {"entered" | "payments"} what */
const count = async (id, what) => Number(await redis.get(`shop:${id}:${what}`));

const orders = ["lamp-300", "sofa-4000", "desk-700", "chair-500", "shelf-2000"];

/** @type {((servers: { a: Server, b: Server, away: Server }) => Promise<string>)[]} each answers what is to be seen */
const scenes = [
  async ({ a, b }) => {
    const answers = await Promise.all([a, b, a, b, a].map((server) => pay(server, "lamp-300")));
    const statuses = answers.map(({ status }) => status);
    assert.ok(statuses.every((status) => status === 200 || status === 409));
    return `five clients pay one order at once: ${statuses.join(", ")}; ${await count("lamp-300", "payments")} payment`;
  },
  async ({ a, b }) => {
    const stock = await told("sofa-4000 is in stock");
    const first = pay(a, "sofa-4000");
    await stock.heard;
    const second = await pay(b, "sofa-4000");
    assert.deepEqual(
      [second.status, second.headers.get("retry-after"), (await first).status],
      [409, "2", 200],
    );
    return `the bank takes long: the second client has a 409 after ${second.seconds} s, the first its 200`;
  },
  async ({ a, b }) => {
    const [stock, paid] = [await told("desk-700 is in stock"), await told("desk-700 is paid")];
    const first = pay(a, "desk-700");
    await stock.heard;
    const client = new AbortController();
    const waits = oneWaits(b, "desk-700");
    const second = pay(b, "desk-700", client.signal);
    await waits;
    client.abort();
    await assert.rejects(second, { name: "AbortError" });
    await Promise.all([first, paid.heard]);
    return "a client leaves while it waits: its wait ends, the lock is not taken for it";
  },
  async ({ a }) => {
    const [stock, paid] = [await told("chair-500 is in stock"), await told("chair-500 is paid")];
    const client = new AbortController();
    const first = pay(a, "chair-500", client.signal);
    await stock.heard;
    client.abort();
    await assert.rejects(first, { name: "AbortError" });
    await paid.heard;
    return "a client leaves while its order is paid: the payment is brought to its end";
  },
  async ({ away }) => {
    const answer = await pay(away, "lamp-300");
    assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "2"]);
    return `a process without Redis: 503 after ${answer.seconds} s`;
  },
  async ({ a, b }) => {
    const stock = await told("shelf-2000 is in stock");
    const exit = once(a.child, "exit");
    const first = pay(a, "shelf-2000");
    await stock.heard;
    const waits = oneWaits(a, "shelf-2000");
    const second = pay(a, "shelf-2000");
    await waits;
    a.child.kill("SIGTERM");
    const [ran, waited, ready] = await Promise.all([first, second, fetch(`${b.url}/ready`)]);
    assert.deepEqual(
      [ran.status, waited.status, waited.headers.get("connection"), ready.status],
      [200, 503, "close", 200],
    );
    assert.deepEqual(await exit, [0, null]);
    return "SIGTERM: the client that waits has a 503, the one whose order is paid its 200, and the process ends";
  },
];

/** @typedef {Awaited<ReturnType<typeof start>>} Server */

/** @param {URL} member */
export const playOrders = (member) => withRedis((url) => play(member, url));

/** @param {URL} member @param {string} url */
async function play(member, url) {
  redis = new Redis(url);
  await redis.del(
    orders.flatMap((id) => ["entered", "paid", "payments"].map((what) => `shop:${id}:${what}`)),
  );
  const [a, b, away] = await Promise.all([
    start(member, url),
    start(member, url),
    start(member, "redis://127.0.0.1:1"),
  ]);
  try {
    for (const scene of scenes) console.log(await scene({ a, b, away }));
    // By now its wait would be over as well.
    assert.equal(await count("desk-700", "entered"), 1);
    const payments = await Promise.all(orders.map((id) => count(id, "payments")));
    console.log(
      `${orders.length} orders: ${payments.every((times) => times === 1) ? "each was paid once" : `paid ${payments.join(", ")} times`}`,
    );
    return payments.every((times) => times === 1);
  } finally {
    for (const { child } of [a, b, away]) child.kill("SIGKILL");
    redis.disconnect();
  }
}
