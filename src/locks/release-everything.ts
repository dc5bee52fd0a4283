import type { Client } from "../client.js";
import type { Release } from "../protocol/lock-calls.js";
import { batches, inParts } from "../runtime/batches.js";
import type { HeldKind } from "../threads/held.js";

/** As many as a renewal takes in one call, and for the same reason. */
const BATCH_SIZE = 100;

/** Declares all holds of a client lost, and in the background frees their locks if they are to be. */
export function releaseEverything(client: Client, free: boolean): void {
  const held = new Map<HeldKind["release"], Release[]>();
  for (const holding of [...client.threads.holdings()]) {
    const { key, fields, lock, inRedis } = holding;
    if (holding.live.length === 0) continue;
    holding.loseAll("closed");
    const { kind, channel } = lock;
    const releases = held.get(kind.release) ?? [];
    held.set(kind.release, releases);
    const heldCount = inRedis.highestCount;
    for (const holder of fields) {
      releases.push({ key, holder, heldCount, keptCount: 0, ttlMs: 1, keptMs: [], channel });
    }
  }
  if (!free) return;
  for (const [script, releases] of held) {
    for (const batch of batches(client.commands, releases, BATCH_SIZE)) {
      client.inBackground(() =>
        inParts(batch, async (locks, divisible) => {
          const [{ key = "" } = {}] = locks;
          await client.commands.exchange(script, key, () => ({ notAfterMs: 0, locks }), { divisible });
        }),
      );
    }
  }
}
