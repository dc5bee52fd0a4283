import type { Client } from "../client.js";
import { lockRelease, type Release } from "../protocol/lock-scripts.js";

/** As many as a renewal takes in one call, and for the same reason. */
const BATCH_SIZE = 100;

/** Declares all holds of a client lost, and in the background frees their locks if they are to be. */
export function releaseEverything(client: Client, free: boolean): void {
  const held: Release[] = [];
  for (const holding of [...client.threads.holdings()]) {
    const { key, field, lock, storedCount } = holding;
    if (holding.live.length === 0) continue;
    holding.loseAll("closed");
    held.push({ key, holder: field, heldCount: storedCount, keptCount: 0, ttlMs: 1, channel: lock.channel });
  }
  if (!free) return;
  for (let i = 0; i < held.length; i += BATCH_SIZE) {
    const locks = held.slice(i, i + BATCH_SIZE);
    client.inBackground(() => client.commands.exchange(lockRelease, () => ({ notAfterMs: 0, locks })));
  }
}
