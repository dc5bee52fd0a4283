// @ts-check
// #region setup
import { once } from "node:events";
import express from "express";
import { ClientClosedError, Holdfast, UnavailableError } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { Shop } from "./shop.mjs";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
redis.on("error", () => undefined); // ioredis reconnects by itself, and failing calls reject with the reason
const holdfast = new Holdfast(ioredisDriver(redis), { commandTimeoutMs: 1_000 });
const shop = new Shop(redis);
const app = express();
// #endregion

// #region pay
app.post("/orders/:id/pay", async (request, response) => {
  const { id } = request.params;
  // A client that disconnects cancels its wait for the lock.
  const gone = new AbortController();
  response.once("close", () => gone.abort());

  // maxHoldMs: a payment that hangs blocks its order for a minute, not for ever.
  const options = { waitMs: 2_000, signal: gone.signal, maxHoldMs: 60_000 };
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
  if (ran) response.json({ id, paid: true });
  // Two seconds is a guess. The lease's remaining time would be no better: it is renewed until the other request is done.
  else response.status(409).set("Retry-After", "2").json({ error: "this order is being paid just now" });
});
// #endregion

// #region errors
/** Tells the load balancer to use another process, from SIGTERM on. */
app.get("/ready", (_request, response) => void response.sendStatus(holdfast.closing.aborted ? 503 : 200));

/** @type {express.ErrorRequestHandler} */
const answerErrors = (error, _request, response, next) => {
  if (response.closed || response.headersSent) return; // the client has gone
  const isEnding = error instanceof ClientClosedError;
  // LeaseLostError, for example, may come in the middle of the payment: 500.
  if (!isEnding && !(error instanceof UnavailableError)) return next(error);
  if (isEnding) response.set("Connection", "close"); // the next request goes to another process
  // The order was not touched: the client may try again.
  response.status(503).set("Retry-After", "2").json({ error: error.message });
};
app.use(answerErrors);
// #endregion

export const server = app.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1");
await once(server, "listening");

// #region end
process.once("SIGTERM", async () => {
  server.close(); // no new connections
  server.keepAliveTimeout = 1; // open connections end after their response
  await holdfast.close({ graceMs: 10_000 }); // rejects waiting requests, lets running payments finish
  redis.disconnect();
});
// #endregion
