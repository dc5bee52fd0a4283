import type { Client } from "../client.js";
import { NotHeldError } from "../errors.js";
import { HeldLease, type Lease } from "../lease.js";
import { JointLease } from "./joint-lease.js";
import { lockIds } from "./lock-kind.js";

/** The lease of the innermost body around the caller that has a lock with this key. Released leases do not count. */
export function leaseHere(client: Client, key: string): Lease | undefined {
  for (const lease of client.threads.current?.leasesOf(lockIds(key)) ?? []) {
    const isLease = lease instanceof HeldLease || lease instanceof JointLease;
    if (isLease && lease.state !== "released") return lease;
  }
  return undefined;
}

/** @throws NotHeldError, LeaseLostError */
export function assertLocked(name: string, lease: Lease | undefined): void {
  if (lease === undefined) throw new NotHeldError(name, "no body around this call holds it");
  lease.assertHeld();
}
