/** The code of SKILL.md. */

import { Holdfast, type Lease } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";

declare const url: string;
declare const invoice: { id: string };
declare function charge(invoice: { id: string }, options?: { signal?: AbortSignal }): Promise<void>;
declare function load(name: string, options: { signal: AbortSignal }): Promise<{ id: string }>;
declare function exportAll(options: { signal: AbortSignal }): Promise<void>;
declare function confirmed(holders: readonly unknown[]): Promise<boolean>;

// #region client
const holdfast = new Holdfast(ioredisDriver(new Redis(url)));
// #endregion

// #region first
await holdfast.using(`invoice:${invoice.id}`, { waitMs: 5_000 }, async (lease) => {
  await charge(invoice, { signal: lease.signal });
});
// #endregion

const lock = holdfast.getLock("invoice:7");

// #region signal-wrong
await lock.using(async () => {
  await charge(invoice);
});
// #endregion

// #region signal
await lock.using(async (lease) => {
  const invoice = await load("invoice:7", { signal: lease.signal });
  lease.assertHeld(); // right before an effect that cannot be undone
  await charge(invoice, { signal: lease.signal });
});
// #endregion

// #region release-wrong
const lease = await lock.lock();
await charge(invoice); // when this throws, the watchdog keeps renewing
await lease.unlock();
// #endregion

// #region release
const { ran } = await lock.tryUsing(async (held) => {
  await charge(invoice, { signal: held.signal });
});
if (!ran) console.log("another process is at it");
// #endregion

async function chargeLater(): Promise<void> {
  // #region release-finally
  const held: Lease = await lock.lock({ waitMs: 5_000 });
  try {
    await charge(invoice, { signal: held.signal });
  } finally {
    await held.unlock();
  }
  // #endregion
}
void chargeLater;

// #region fixed-wrong
await lock.using({ leaseMs: 60_000 }, ({ signal }) => exportAll({ signal }));
// #endregion

// #region fixed
await lock.using({ maxHoldMs: 600_000 }, ({ signal }) => exportAll({ signal }));
// #endregion

// #region force-wrong
await lock.forceUnlock(); // frees it from a holder that may be at work
// #endregion

// #region force
const seen = await holdfast.inspect("invoice:7");
if (await confirmed(seen.holders)) await holdfast.forceUnlock(seen);
// #endregion
