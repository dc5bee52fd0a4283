import type { Client } from "../client.js";
import { ServerReplyError } from "../driver/driver.js";
import { UnavailableError } from "../errors.js";
import { type FoundRecord, lockInspectMany } from "../protocol/finding-scripts.js";
import { batches } from "../runtime/batches.js";
import { wasRefused } from "../runtime/command-failures.js";
import type { Patience } from "../runtime/patience.js";

/** A script for more locks would block the server for too long. */
const KEYS_A_COMMAND = 100;
/**
 * In a cluster most keys need a command of their own, because one command can only name keys of one slot. A single server gets one command
 * after the other.
 */
const COMMANDS_AT_ONCE = 8;

/** How the server refuses keys that a user may not access. If it refuses the command itself, the words differ. */
const FOREIGN_KEY = /^NOPERM .*\bkeys?\b/i;

/**
 * The stored state of each key, except the keys that the user of this connection may not read.
 * @throws UnavailableError, ClientClosedError
 */
export async function lookAtMany(
  client: Client,
  keys: readonly string[],
  patience: Patience,
): Promise<ReadonlyMap<string, FoundRecord>> {
  const { commands } = client;
  const records = new Map<string, FoundRecord>();
  const parts = batches(
    commands,
    keys.map((key) => ({ key })),
    KEYS_A_COMMAND,
  ).values();
  let hasFailed = false;
  const work = async () => {
    for (const part of parts) {
      if (hasFailed) return;
      const partKeys = part.map(({ key }) => key);
      await lookAt(client, partKeys, patience, records).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: client.inCluster ? COMMANDS_AT_ONCE : 1 }, work));
  return records;
}

/**
 * Sends one command, and further commands for the keys that did not fit into its answer. If the server refuses, each key is sent by itself:
 * one key of another user, or a moving slot, fails the whole command.
 * @param withClients false if the user may not access the key of the waiting clients: the lock is then read without that key
 */
async function lookAt(
  client: Client,
  keys: readonly string[],
  patience: Patience,
  records: Map<string, FoundRecord>,
  withClients = true,
): Promise<void> {
  const [first] = keys;
  if (patience.cancelled || first === undefined) return;
  let answered: number;
  try {
    const divisible = keys.length > 1;
    const input = { locks: keys, withClients };
    const { reply } = await client.commands.exchange(lockInspectMany, first, () => input, {
      divisible,
      get cancelled() {
        return patience.cancelled ?? false;
      },
    });
    for (const [at, key] of keys.entries()) {
      const record = reply[at];
      if (record !== undefined) records.set(key, record);
    }
    answered = reply.length;
  } catch (error) {
    if (!wasRefused(error)) throw error;
    if (keys.length === 1) {
      if (!isForeignKey(error)) throw error;
      if (withClients) await lookAt(client, keys, patience, records, false);
      return;
    }
    for (const key of keys) await lookAt(client, [key], patience, records);
    return;
  }
  await lookAt(client, keys.slice(answered), patience, records);
}

function isForeignKey(error: unknown): boolean {
  if (!(error instanceof UnavailableError)) return false;
  const { cause } = error;
  return cause instanceof ServerReplyError && !cause.fromScript && FOREIGN_KEY.test(cause.message);
}
