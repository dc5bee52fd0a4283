// @ts-check
// #region worker
import { DelayedError, Worker } from "bullmq";
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";

const url = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
const redis = new Redis(url);
redis.on("error", () => undefined); // ioredis reconnects by itself, and failing calls reject with the reason
// After a worker has died, the next job of its customer can start within 6 seconds.
const holdfast = new Holdfast(ioredisDriver(redis), { watchdogMs: 6_000 });

/**
 * @template {{ customer: string }} Data
 * @param {string} queue
 * @param {(job: import("bullmq").Job<Data>, signal: AbortSignal) => Promise<unknown>} work
 */
export function startWorker(queue, work) {
  const worker = new Worker(
    queue,
    async (/** @type {import("bullmq").Job<Data>} */ job, token, cancelled) => {
      const lock = holdfast.getLock(`customer:${job.data.customer}`);
      const { ran, value } = await lock.tryUsing((lease) =>
        // A lost lease stops the work, and so does BullMQ's cancelJob().
        work(job, cancelled ? AbortSignal.any([lease.signal, cancelled]) : lease.signal),
      );
      if (ran) return value;
      // Waiting here would keep this worker from the jobs of other customers. Chance spreads the jobs that come back.
      await job.moveToDelayed(Date.now() + 100 + Math.random() * 100, token);
      throw new DelayedError();
    },
    { connection: { url }, concurrency: 4 },
  );
  process.once("SIGTERM", async () => {
    await worker.close(); // takes no more jobs, and waits for those that run
    await holdfast.close();
    redis.disconnect();
  });
  return worker;
}
// #endregion
