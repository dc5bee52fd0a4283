import { checkClusterKey, keyOf } from "../checks.js";
import type { Client } from "../client.js";
import type { LockSettings } from "../options.js";
import { type LockIdentity, type LockKind, lockId, otherHalfId } from "./lock-kind.js";

/** The key for a name that a program uses. @throws InvalidNameError */
export function keyFor(client: Client, name: string): string {
  const key = keyOf(name, client.settings.nameMapper);
  if (client.inCluster) checkClusterKey(key);
  return key;
}

/** @throws InvalidNameError */
export function identify(client: Client, kind: LockKind, name: string, settings: LockSettings): LockIdentity {
  const key = keyFor(client, name);
  const { reentry = client.settings.reentry } = settings;
  const id = lockId(kind.half, key);
  const otherId = otherHalfId(kind.half, key);
  const { queues } = kind;
  return { client, kind, name, key, id, otherId, channel: kind.channel(key), queues, reentry };
}
