// @ts-check
import { once } from "node:events";
import { serve } from "@hono/node-server";
import { ClientClosedError, Holdfast, UnavailableError } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Hono } from "hono";
import { Redis } from "ioredis";
import { Shop } from "../express/shop.mjs";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
redis.on("error", () => undefined); // ioredis reconnects by itself, and failing calls reject with the reason
const holdfast = new Holdfast(ioredisDriver(redis), { commandTimeoutMs: 1_000 });
const shop = new Shop(redis);
const app = new Hono();

app.post("/orders/:id/pay", async (context) => {
  const id = context.req.param("id");
  // The signal of the request aborts when the client disconnects: that cancels the wait for the lock.
  const options = { waitMs: 2_000, signal: context.req.raw.signal, maxHoldMs: 60_000 };
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
  if (ran) return context.json({ id, paid: true });
  // Another request has held the lock for all of waitMs. Two seconds is a guess.
  return context.json({ error: "this order is being paid just now" }, 409, { "Retry-After": "2" });
});

/** Tells the load balancer to use another process, from SIGTERM on. */
app.get("/ready", (context) => context.body(null, holdfast.closing.aborted ? 503 : 200));

app.onError((error, context) => {
  const isEnding = error instanceof ClientClosedError;
  // LeaseLostError, for example, may come in the middle of the payment.
  if (!isEnding && !(error instanceof UnavailableError)) {
    console.error(error);
    return context.json({ error: "the payment may be incomplete" }, 500);
  }
  if (isEnding) context.header("Connection", "close"); // the next request goes to another process
  // The order was not touched: the client may try again.
  return context.json({ error: error.message }, 503, { "Retry-After": "2" });
});

const options = { fetch: app.fetch, port: Number(process.env["PORT"] ?? 0), hostname: "127.0.0.1" };
export const server = /** @type {import("node:http").Server} */ (serve(options));
await once(server, "listening");

process.once("SIGTERM", async () => {
  server.close(); // no new connections
  server.keepAliveTimeout = 1; // open connections end after their response
  await holdfast.close({ graceMs: 10_000 }); // rejects waiting requests, lets running payments finish
  redis.disconnect();
});
