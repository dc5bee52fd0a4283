import { WrongTypeError } from "../errors.js";
import { FencedHeldLease, type FencedLease } from "../lease.js";
import { fencingTokenKey } from "../protocol/names.js";
import { readCounter } from "../protocol/stored-numbers.js";
import { LeaseLock } from "./lease-lock.js";
import type { Lock } from "./lock.js";
import type { LockIdentity, LockKind } from "./lock-kind.js";
import { reentrantLock } from "./reentrant-lock.js";

/** A lock with a fencing token for each lease. Source: Redisson's RFencedLock. */
export interface FencedLock extends Lock<FencedLease> {
  /**
   * The latest token given out; null if there has been none.
   * @throws UnavailableError, WrongTypeError, ClientClosedError
   * @example const latest = await lock.getToken();
   */
  getToken(): Promise<bigint | null>;
}

/** Each acquisition, also a re-entry, takes the next number of a counter stored beside the lock. */
export const fencedLock: LockKind = {
  ...reentrantLock,
  name: "fenced-lock",
  fenced: true,
  handsOver: false,
};

/** The engine of a fenced lock: its leases have a token. */
export class FencedLeaseLock extends LeaseLock<FencedHeldLease> implements FencedLock {
  constructor(lock: LockIdentity) {
    super(lock, FencedHeldLease);
  }

  async getToken(): Promise<bigint | null> {
    const { key } = this.identity;
    const { token } = await this.look();
    if (token === null) return null;
    const counter = readCounter(token);
    if (counter === undefined) throw new WrongTypeError(fencingTokenKey(key), "string", "fencing counter");
    return counter;
  }
}
