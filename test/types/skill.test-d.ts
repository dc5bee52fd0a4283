/** The code of SKILL.md. */

// #region client
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";

const holdfast = new Holdfast(ioredisDriver(new Redis("redis://127.0.0.1:6379")));
// #endregion

declare const invoice: { id: string };
declare function charge(invoice: { id: string }, options?: { signal?: AbortSignal }): Promise<void>;
declare function load(name: string, options: { signal: AbortSignal }): Promise<{ id: string }>;
declare function exportAll(options: { signal: AbortSignal }): Promise<void>;
declare function confirmed(holders: readonly unknown[]): Promise<boolean>;

// #region first
await holdfast.using(`invoice:${invoice.id}`, { waitMs: 5_000 }, async (lease) => {
  await charge(invoice, { signal: lease.signal });
});
// #endregion

const lock = holdfast.getLock("invoice:7");

// #region signal-wrong
await lock.using(async () => {
  await charge(invoice); // wrong: goes on after the lock is lost
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
await charge(invoice); // wrong: when this throws, nothing releases the lock
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
  const held = await lock.lock({ waitMs: 5_000 });
  try {
    await charge(invoice, { signal: held.signal });
  } finally {
    await held.unlock();
  }
  // #endregion
}
void chargeLater;

// #region fixed-wrong
await lock.using({ leaseMs: 60_000 }, ({ signal }) => exportAll({ signal })); // wrong: it may take longer
// #endregion

// #region fixed
await lock.using({ maxHoldMs: 600_000 }, ({ signal }) => exportAll({ signal }));
// #endregion

// #region force-wrong
await lock.forceUnlock(); // wrong: its holder may be at work
// #endregion

// #region force
const seen = await holdfast.inspect("invoice:7");
if (await confirmed(seen.holders)) await holdfast.forceUnlock(seen);
// #endregion
