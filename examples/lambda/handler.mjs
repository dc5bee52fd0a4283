// @ts-check
import { Holdfast, UnavailableError } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { Ledger } from "./ledger.mjs";

/** Enough for the release and the answer. */
const MARGIN_MS = 500;

// Outside the handler: one client for all invocations of this environment. Its sockets freeze with it. When Redis or a firewall closes them
// meanwhile, ioredis finds out at the first command after the thaw and connects again.
const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379", { connectionName: "lambda" });
redis.on("error", () => undefined);
const holdfast = new Holdfast(ioredisDriver(redis), { commandTimeoutMs: 1_000 });
const ledger = new Ledger(redis);

/**
 * Takes and releases the lock within one invocation. When the handler has answered, the environment freezes: the timer that renews a lease
 * stands still, so a lease that is kept would end unseen.
 *
 * @param {{ orderId: string }} event
 * @param {{ getRemainingTimeInMillis(): number }} context
 */
export async function handler({ orderId }, context) {
  // At its timeout Lambda ends the process, and the lock would stay taken until its TTL is over. So the work stops before.
  const leftMs = Math.max(context.getRemainingTimeInMillis() - MARGIN_MS, 0);
  const deadline = AbortSignal.timeout(leftMs);
  const options = { waitMs: Math.min(2_000, leftMs), signal: deadline };
  try {
    // `using` and `tryUsing` come back when the lock is released: nothing is left to do when the environment freezes.
    const { ran } = await holdfast.getLock(`order:${orderId}`).tryUsing(options, async (lease) => {
      if (await ledger.isPaid(orderId)) return;
      await ledger.pay(orderId, AbortSignal.any([lease.signal, deadline]));
    });
    return { statusCode: ran ? 200 : 409 };
  } catch (error) {
    if (deadline.aborted || error instanceof UnavailableError) return { statusCode: 503 };
    throw error;
  }
}
