// @ts-check
import Fastify from "fastify";
import { ClientClosedError, UnavailableError } from "holdfast";
import { Shop } from "../express/shop.mjs";
import { locks } from "./locks.mjs";

const url = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
const app = Fastify();
await app.register(locks, { url });
const holdfast = /** @type {import("holdfast").Holdfast} */ (app.getDecorator("holdfast"));
const shop = new Shop(/** @type {import("ioredis").Redis} */ (app.getDecorator("redis")));

app.post("/orders/:id/pay", async (request, reply) => {
  const { id } = /** @type {{ id: string }} */ (request.params);
  // request.signal aborts when the client disconnects: that cancels the wait for the lock.
  const options = { waitMs: 2_000, signal: request.signal, maxHoldMs: 60_000 };
  const { ran } = await holdfast.getLock(`order:${id}`).tryUsing(options, async (lease) => {
    // The lock only makes requests take turns. The order itself tells the second one that it is paid.
    if (await shop.isPaid(id)) return;
    await shop.checkStock(id, lease.signal);
    // Last chance to give up: on SIGTERM, or after the lock was lost.
    holdfast.closing.throwIfAborted();
    lease.assertHeld();
    // From here on only a lost lock stops the work: a disconnected client and SIGTERM do not.
    await shop.pay(id, lease.signal);
  });
  if (ran) return { id, paid: true };
  // Another request has held the lock for all of waitMs. Two seconds is a guess.
  reply.code(409).header("retry-after", "2");
  return { error: "this order is being paid just now" };
});

/** Tells the load balancer to use another process, from SIGTERM on. */
app.get("/ready", async (_request, reply) => reply.code(holdfast.closing.aborted ? 503 : 200).send());

app.setErrorHandler((error, _request, reply) => {
  const isEnding = error instanceof ClientClosedError;
  // Fastify answers 500 to all others. LeaseLostError, for example, may come in the middle of the payment.
  if (!isEnding && !(error instanceof UnavailableError)) throw error;
  if (isEnding) reply.header("connection", "close"); // the next request goes to another process
  // The order was not touched: the client may try again.
  return reply.code(503).header("retry-after", "2").send({ error: error.message });
});

await app.listen({ port: Number(process.env["PORT"] ?? 0), host: "127.0.0.1" });
export const { server } = app;

process.once("SIGTERM", () => void app.close());
