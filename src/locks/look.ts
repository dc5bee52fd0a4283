import type { Client } from "../client.js";
import { WrongTypeError } from "../errors.js";
import { type LockRecord, lockInspect } from "../protocol/lock-scripts.js";
import { fairQueueKey, fencingTokenKey } from "../protocol/names.js";

/**
 * All that Redis has about the lock of a key.
 * @throws UnavailableError, WrongTypeError, ClientClosedError
 */
export async function look({
  client,
  key,
}: {
  readonly client: Client;
  readonly key: string;
}): Promise<LockRecord> {
  client.assertOpen();
  const { reply } = await client.commands.exchange(lockInspect, key, () => ({
    key,
    queueKey: fairQueueKey(key),
    tokenKey: fencingTokenKey(key),
  }));
  if (reply.type !== "none" && reply.type !== "hash") throw new WrongTypeError(key, reply.type);
  return reply;
}
