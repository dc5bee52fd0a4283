import { nextField } from "../protocol/names.js";
import type { LockIdentity } from "./lock-kind.js";
import { releasesOf, sendingsOf } from "./lowering.js";

/**
 * Removes the client from the lock's queue unless one of its calls waits for the lock. If the lock was just granted to this client, the
 * next client gets it.
 */
export function leaveQueue(lock: LockIdentity): void {
  const { client, id, key, kind } = lock;
  if (client.lines.lengthOf(id) > 0) return;
  const releases = releasesOf({ ...lock, queues: true }, [nextField(client.id, kind.fieldEnding)]);
  const looks = releases[0]?.looks;
  if (looks === undefined) return;
  const sendings = sendingsOf(client, releases);
  client.inBackground(async () => {
    try {
      const { reply } = await client.commands.exchange(kind.release, key, (notAfterMs) => ({
        notAfterMs,
        locks: sendings(),
      }));
      const [answer] = reply;
      // A call of this client has the lock: its release must look into the queue, because waiters rely on that.
      if (answer?.status !== "absent" || answer.stands !== true) client.lines.hasLeft(id, looks);
    } finally {
      // A new call may have asked for a place before this command removed the client: the call must ask again.
      client.lines.of(id)?.wake();
    }
  });
}
