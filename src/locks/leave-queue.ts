import { nextField } from "../protocol/names.js";
import type { LockIdentity } from "./lock-kind.js";
import { releasesOf, sendingsOf } from "./lowering.js";

/**
 * Takes the client out of the lock's queue, unless calls of it wait for the lock. If the lock was given to it at this very
 * moment, it is given to the next. The last call may be that of a spin lock, which itself stands in no queue.
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
      // A call of this client has the lock: its release is to look into the queue, as others that wait rely on it.
      if (answer?.status !== "absent" || answer.stands !== true) client.lines.hasLeft(id, looks);
    } finally {
      // A call that came meanwhile may have asked for a place before this took the client out: it asks once more.
      client.lines.of(id)?.wake();
    }
  });
}
