// @ts-check
// #region server
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

app.post("/orders/:id/pay", async (request, response) => {
  const { id } = request.params;
  // Closed before the answer was sent: the client has gone, and so its wait for the lock ends.
  const gone = new AbortController();
  response.once("close", () => gone.abort());

  const { ran } = await holdfast
    .getLock(`order:${id}`)
    .tryUsing({ waitMs: 2_000, signal: gone.signal, maxHoldMs: 60_000 }, async (lease) => {
      // The lock lets one in after the other. That nothing is done twice, the order itself has to say, and it is read under the lock.
      if (await shop.isPaid(id)) return;
      // Nothing has happened yet: this may be given up when the process is to end.
      await shop.checkStock(id, AbortSignal.any([lease.signal, holdfast.closing]));
      lease.assertHeld();
      // A payment that has begun is brought to its end: neither a client that has gone nor SIGTERM stops it, only the loss of the lock.
      await shop.pay(id, lease.signal);
    });
  if (ran) response.json({ id, paid: true });
  // When to ask again. It is not when the lock is free: its lease is renewed for as long as the other request takes.
  else response.status(409).set("Retry-After", "2").json({ error: "this order is being paid just now" });
});

/** For the load balancer: from SIGTERM on it is to choose another process. */
app.get("/ready", (_request, response) => void response.sendStatus(holdfast.closing.aborted ? 503 : 200));

/** @type {express.ErrorRequestHandler} */
const answerErrors = (error, _request, response, next) => {
  if (response.closed || response.headersSent) return; // nobody reads it
  if (error instanceof ClientClosedError)
    response.set("Connection", "close"); // another process may serve
  else if (!(error instanceof UnavailableError)) return next(error);
  // In both cases nothing was done: it may be sent again.
  response.status(503).set("Retry-After", "2").json({ error: error.message });
};
app.use(answerErrors);

export const server = app.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1");
await once(server, "listening");

process.once("SIGTERM", async () => {
  server.close(); // no new connections
  server.keepAliveTimeout = 1; // those that are open end with their answers
  await holdfast.close({ graceMs: 10_000 }); // those that wait for a lock end at once, bodies that run have ten seconds
  redis.disconnect();
});
// #endregion
