import type { Client } from "../client.js";
import { type PermitRelease, permitRelease } from "../protocol/semaphore-scripts.js";
import { type Count, change, type Decided } from "./count.js";

/**
 * Gives permits back, all or none; tried on behind the scenes when Redis did not answer or refused.
 * @param after what to do behind the scenes once that has been decided there
 * @throws UnavailableError, WrongTypeError, ClientClosedError
 */
export function releasePermits(
  count: Count,
  ids: readonly string[],
  after?: (status: PermitRelease["status"]) => Promise<void>,
): Promise<Decided<PermitRelease>> {
  const { key, channel } = count;
  return change(
    count,
    permitRelease,
    (request) => ({ count: key, request, channel, ids }),
    after === undefined ? { goesOn: true } : { goesOn: true, after },
  );
}

/** As {@link releasePermits}, but what is left of them when some are gone. @returns false when some were */
export async function releaseWhatIsLeft(count: Count, ids: readonly string[]): Promise<boolean> {
  const releaseEach = async (status: PermitRelease["status"]) => {
    if (status === "released" || ids.length === 1) return;
    await Promise.allSettled(ids.map((id) => releasePermits(count, [id])));
  };
  const { status } = await releasePermits(count, ids, releaseEach);
  await releaseEach(status);
  return status === "released";
}

/**
 * Declares all leased permits of a client lost, and in the background gives them back if they are to be, and those with which
 * bodies run.
 */
export function releaseAllPermits(client: Client, free: boolean): void {
  if (free) for (const giveBack of client.inUse) client.inBackground(giveBack);
  for (const hold of client.permits.all()) {
    const { count, ids } = hold;
    hold.lose("closed");
    if (free) client.inBackground(() => releaseWhatIsLeft({ ...count, client }, ids));
  }
}
