// @ts-check
import { ClientClosedError, UnavailableError } from "holdfast";
import { locks } from "../../../../lib/locks.js";
import { Shop } from "../../../../lib/shop.js";

/** Not on the edge: ioredis needs sockets. */
export const runtime = "nodejs";

/** @param {Request} request @param {{ params: Promise<{ id: string }> }} context */
export async function POST(request, { params }) {
  const { id } = await params;
  const { redis, holdfast } = locks();
  const shop = new Shop(redis);
  // The signal of the request aborts when the client disconnects: that cancels the wait for the lock.
  const options = { waitMs: 2_000, signal: request.signal, maxHoldMs: 60_000 };
  try {
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
    if (ran) return Response.json({ id, paid: true });
    // Another request has held the lock for all of waitMs. Two seconds is a guess.
    return answer(409, "this order is being paid just now");
  } catch (error) {
    // The next request goes to another process.
    if (error instanceof ClientClosedError) return answer(503, error.message, { Connection: "close" });
    // The order was not touched: the client may try again.
    if (error instanceof UnavailableError) return answer(503, error.message);
    if (request.signal.aborted) return answer(499, "the client has gone");
    throw error;
  }
}

/** @param {number} status @param {string} error @param {Record<string, string>} [headers] */
function answer(status, error, headers) {
  return Response.json({ error }, { status, headers: { "Retry-After": "2", ...headers } });
}
