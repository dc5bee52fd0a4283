import { ServerReplyError } from "../../../src/driver/driver.js";
import type { Lease } from "../../../src/lease.js";
import { LeaseLock } from "../../../src/locks/lease-lock.js";
import type { Lock } from "../../../src/locks/lock.js";
import type { LockIdentity } from "../../../src/locks/lock-kind.js";
import type { Stay } from "../../../src/threads/stay.js";
import type { ScriptedDriver } from "../drivers/scripted-driver.js";
import { answerWith } from "../faults/call-faults.js";
import type { FakeTime } from "./fake-time.js";

/** What the code of locks knows of a lock. */
export function identityOf(lock: Lock): LockIdentity {
  if (!(lock instanceof LeaseLock)) throw new TypeError(`${lock.name} is no lock of one key`);
  return lock.identity;
}

/** The stay that a lease is of. */
export function stayOf({ client, id }: LockIdentity, { threadId }: Pick<Lease, "threadId">): Stay {
  const stay = client.threads.find(threadId)?.stayIn(id);
  if (stay === undefined) throw new RangeError(`thread ${threadId} has no stay`);
  return stay;
}

/** A server that refuses for good: the command is not repeated, and a new try follows. */
export const full = answerWith(
  new ServerReplyError("OOM command not allowed when used memory > 'maxmemory'."),
);

/** The next so many calls of a script are refused. */
export function refuse(driver: ScriptedDriver, script: string, times: number): void {
  for (let i = 0; i < times; i += 1) void driver.next(full, script);
}

/** How long after the one before each call of a script was sent. */
export function gapsOf({ driver }: Pick<FakeTime, "driver">, script: string): number[] {
  const times = driver.timesOf(script);
  return times.slice(1).map((ms, at) => ms - (times[at] ?? 0));
}
