import type { Client } from "../client.js";
import { type PermitRelease, permitRelease } from "../protocol/semaphore-scripts.js";
import { type Count, change, type Decided } from "./count.js";

/**
 * Gives permits back, all or none; repeated in the background if Redis does not answer or refuses.
 * @param after runs in the background after a decision that comes too late for the caller
 * @throws UnavailableError, WrongTypeError, ClientClosedError
 */
export function releasePermits(
  count: Count,
  ids: readonly string[],
  after?: (status: PermitRelease["status"]) => Promise<void>,
): Promise<Decided<PermitRelease>> {
  const { client, key, channel } = count;
  const { lines } = client;
  const looks = lines.waitedFor.has(channel) ? lines.look(channel) : undefined;
  return change(
    count,
    permitRelease,
    (request) => ({ count: key, request, channel, ids, looks }),
    after === undefined ? { goesOn: true, looks } : { goesOn: true, looks, after },
  );
}

/** As {@link releasePermits}, but if some are gone, gives back the others. @returns false if some were gone */
export async function releaseWhatIsLeft(count: Count, ids: readonly string[]): Promise<boolean> {
  const releaseEach = async (status: PermitRelease["status"]) => {
    if (status === "absent" && ids.length > 1) await releaseOneByOne(count, ids);
  };
  const { status } = await releasePermits(count, ids, releaseEach);
  await releaseEach(status);
  return status === "released";
}

/**
 * As {@link releasePermits}, for ids that may belong to several leases of this client, or to none. The leases give up these permits even if
 * the caller does not learn the outcome. After that no call would release them, so this client gives them back in the background, even if
 * other ids are gone.
 */
export function releaseByIds(count: Count, ids: readonly string[]): Promise<Decided<PermitRelease>> {
  const { permits } = count.client;
  const own = ids.filter((id) => permits.of([id]).length > 0);
  return releasePermits(count, ids, async (status) => {
    if (status === "absent") await releaseOneByOne(count, own);
  });
}

async function releaseOneByOne(count: Count, ids: readonly string[]): Promise<void> {
  await Promise.allSettled(ids.map((id) => releasePermits(count, [id])));
}

/**
 * Declares all leased permits of a client lost. With `free`, also gives back, in the background, these permits and the permits of running
 * bodies.
 */
export function releaseAllPermits(client: Client, free: boolean): void {
  if (free) for (const giveBack of client.inUse) client.inBackground(giveBack);
  for (const hold of client.permits.all()) {
    const { count, ids } = hold;
    hold.lose("closed");
    if (free) client.inBackground(() => releaseWhatIsLeft({ ...count, client }, ids));
  }
}
