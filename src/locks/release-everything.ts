import type { Client } from "../client.js";
import type { Release } from "../protocol/lock-calls.js";
import { batches, inParts } from "../runtime/batches.js";
import type { HeldKind } from "../threads/held.js";
import { releasesOf, sendingsOf } from "./lowering.js";

/** As many as the watchdog renews in one command, so that no command holds up the server. */
const BATCH_SIZE = 100;

/** Declares all holds of a client lost. With `free`, also frees their locks in the background. */
export function releaseEverything(client: Client, free: boolean): void {
  const held = new Map<HeldKind["release"], Release[]>();
  for (const stay of [...client.threads.stays()]) {
    const { fields, lock, inRedis } = stay;
    if (stay.live.length === 0) continue;
    stay.loseAll("closed");
    const { release } = lock.kind;
    const releases = held.get(release) ?? [];
    held.set(release, releases);
    releases.push(...releasesOf({ ...lock, client }, fields, { heldCount: inRedis.highestCount }));
    // If a release of the stay still waits for its turn, it then finds nothing to release, and reports no loss.
    if (free) inRedis.lowers(0);
  }
  if (!free) return;
  for (const [script, releases] of held) {
    // Within one command, either all releases look into their queues or none does.
    const looks = releases.find((release) => release.looks)?.looks;
    const alike = releases.map((release) => ({ ...release, looks: release.looks ?? looks }));
    for (const batch of batches(client.commands, alike, BATCH_SIZE)) {
      client.inBackground(() =>
        inParts(batch, async (part, divisible) => {
          const [{ key = "" } = {}] = part;
          const sendings = sendingsOf(client, part);
          const input = () => ({ notAfterMs: 0, locks: sendings() });
          await client.commands.exchange(script, key, input, { divisible });
        }),
      );
    }
  }
}
