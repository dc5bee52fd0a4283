// @ts-check
import { once } from "node:events";
import express from "express";
import { ClientClosedError, Holdfast, UnavailableError } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { Shop } from "./shop.mjs";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
redis.on("error", () => undefined); // ioredis connects again by itself, and each call that fails says why
const holdfast = new Holdfast(ioredisDriver(redis), { commandTimeoutMs: 1_000 });
const shop = new Shop(redis);
const app = express();

// #region pay
app.post("/orders/:id/pay", async (request, response) => {
  const { id } = request.params;
  // Closed before the answer was sent: the client has gone, and so its wait for the lock ends.
  const gone = new AbortController();
  response.once("close", () => gone.abort());

  // A payment that hangs keeps its order for a minute, not for ever.
  const options = { waitMs: 2_000, signal: gone.signal, maxHoldMs: 60_000 };
  const { ran } = await holdfast.getLock(`order:${id}`).tryUsing(options, async (lease) => {
    // The lock lets one in after the other. That nothing is done twice, the order has to say, and it is read under the lock.
    if (await shop.isPaid(id)) return;
    await shop.checkStock(id, lease.signal);
    // Nothing has been done yet: it may be given up where this process is to end, and is where the lock was lost.
    holdfast.closing.throwIfAborted();
    lease.assertHeld();
    // A payment that has begun is brought to its end: only the loss of the lock stops it, no client that has gone and no SIGTERM.
    await shop.pay(id, lease.signal);
  });
  if (ran) response.json({ id, paid: true });
  // When to ask again. It is not when the lock is free: its lease is renewed for as long as the other request takes.
  else response.status(409).set("Retry-After", "2").json({ error: "this order is being paid just now" });
});
// #endregion

// #region errors
/** For the load balancer: from SIGTERM on it is to choose another process. */
app.get("/ready", (_request, response) => void response.sendStatus(holdfast.closing.aborted ? 503 : 200));

/** @type {express.ErrorRequestHandler} */
const answerErrors = (error, _request, response, next) => {
  if (response.closed || response.headersSent) return; // nobody reads it
  const isEnding = error instanceof ClientClosedError;
  // Any other error, as LeaseLostError, may have come in the middle of the work: 500.
  if (!isEnding && !(error instanceof UnavailableError)) return next(error);
  if (isEnding) response.set("Connection", "close"); // another process may serve
  // Nothing has been done: it may be sent again.
  response.status(503).set("Retry-After", "2").json({ error: error.message });
};
app.use(answerErrors);
// #endregion

export const server = app.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1");
await once(server, "listening");

// #region end
process.once("SIGTERM", async () => {
  server.close(); // no new connections
  server.keepAliveTimeout = 1; // those that are open end with their answers
  await holdfast.close({ graceMs: 10_000 }); // those that wait for a lock end at once, bodies that run have ten seconds
  redis.disconnect();
});
// #endregion
