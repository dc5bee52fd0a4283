// @ts-check
// #region jobs
/** @typedef {{ holdfast: import("holdfast").Holdfast, redis: import("ioredis").Redis }} Clients */

/** @param {Clients} clients @param {string} customer @param {string} job with an id of its own: no two are the same text */
export async function add({ redis }, customer, job) {
  await redis.multi().rpush(`jobs:${customer}`, job).sadd("customers", customer).exec();
}

const FORGET_WITHOUT_JOBS = `
if redis.call("LLEN", KEYS[1]) == 0 then redis.call("SREM", KEYS[2], ARGV[1]) end`;

/**
 * Does the first job of a customer who has some, and whose jobs no other worker does at the moment.
 *
 * @param {Clients} clients
 * @param {(job: string, signal: AbortSignal) => Promise<unknown>} work is called again for a job whose process has died
 * @returns {Promise<boolean>} false: nothing was done; ask again a little later
 */
export async function doNext({ holdfast, redis }, work) {
  const customer = await redis.srandmember("customers");
  if (customer === null) return false;
  const list = `jobs:${customer}`;
  const { ran } = await holdfast.getLock(`customer:${customer}`).tryUsing(async (lease) => {
    const job = await redis.lindex(list, 0);
    if (job !== null) {
      await work(job, lease.signal);
      lease.assertHeld();
      // After the work: the job of a process that dies is still there. By its text: a process that stood still takes no other job off.
      await redis.lrem(list, 1, job);
    }
    await redis.eval(FORGET_WITHOUT_JOBS, 2, list, "customers", customer);
  });
  return ran;
}
// #endregion
