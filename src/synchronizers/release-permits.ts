import type { Client } from "../client.js";
import { type PermitRelease, permitRelease } from "../protocol/semaphore-scripts.js";
import { type Count, change, type Decided } from "./count.js";

/**
 * Gives permits back, all or none; tried on behind the scenes when Redis did not answer or refused.
 * @param after what to do behind the scenes once it has been decided there, of which the caller does not hear
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

/** As {@link releasePermits}, but what is left of them when some are gone. @returns false when some were */
export async function releaseWhatIsLeft(count: Count, ids: readonly string[]): Promise<boolean> {
  const releaseEach = async (status: PermitRelease["status"]) => {
    if (status === "absent" && ids.length > 1) await releaseOneByOne(count, ids);
  };
  const { status } = await releasePermits(count, ids, releaseEach);
  await releaseEach(status);
  return status === "released";
}

/**
 * As {@link releasePermits}, for ids that may be of several leases of this client, or of none. When the caller does not hear what
 * became of it, these leases have given up their permits, and no call releases them any more. So these permits are given back
 * behind the scenes even when others of the ids are gone.
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
