import type { Client } from "../client.js";
import { WrongTypeError } from "../errors.js";
import { type LockRecord, lockInspect } from "../protocol/inspect-scripts.js";
import {
  fairQueueKey,
  fencingTokenKey,
  lockChannel,
  permitLeasesKey,
  rwChannel,
  semaphoreChannel,
  waitingKey,
  writersQueueKey,
} from "../protocol/names.js";
import { wasForbidden } from "../runtime/command-failures.js";
import { type CallSubject, forCaller } from "../runtime/for-caller.js";

/**
 * Everything that Redis stores about the lock of a key.
 * @param options `whole`: also reads semaphores and latches, the number of listening connections, and the waiting clients
 * @throws UnavailableError, WrongTypeError, ClientClosedError
 */
export async function look(
  lock: CallSubject & { readonly client: Client; readonly key: string },
  { whole = false }: { readonly whole?: boolean } = {},
): Promise<LockRecord> {
  const { client, key } = lock;
  client.assertOpen(lock);
  const ask = (withClients: boolean) =>
    client.commands.exchange(lockInspect, key, () => ({
      key,
      queueKey: fairQueueKey(key),
      tokenKey: fencingTokenKey(key),
      leasesKey: permitLeasesKey(key),
      ...(withClients && { waitingKeys: [waitingKey(key), writersQueueKey(key)] }),
      ...(whole && {
        counting: countingAt(client),
        channels: [lockChannel(key), rwChannel(key), semaphoreChannel(key)],
      }),
    }));
  // Redis refuses the whole script to a user who may not read one of its keys: then it runs again without the keys of waiting clients.
  const withoutClients = (error: unknown) => {
    if (whole && wasForbidden(error)) return ask(false);
    throw error;
  };
  try {
    const { reply } = await ask(whole).catch(withoutClients);
    const isCount = whole && reply.permits !== null;
    if (reply.type !== "none" && reply.type !== "hash" && !isCount) throw new WrongTypeError(key, reply.type);
    return reply;
  } catch (error) {
    throw forCaller(error, lock);
  }
}

/** The command that counts a channel's listeners on the asked server; undefined if clients may listen on other servers. */
function countingAt({ knowsListeners, commands }: Client): "NUMSUB" | "SHARDNUMSUB" | undefined {
  if (knowsListeners) return "NUMSUB";
  return commands.dialect.publishes === "sharded" ? "SHARDNUMSUB" : undefined;
}
