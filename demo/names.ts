import { randomBytes } from "node:crypto";

/** The locks of the scenes, as the programs of the demo call them. */
export const lockNames = [
  "deploy",
  "stock",
  "printer",
  "import",
  "backup",
  "report",
  "account",
  "album",
  "counter",
  "catalogue",
  "ledger",
  "downloads",
] as const;

export type LockName = (typeof lockNames)[number];

/** The one key of the demo that is no lock: how much is left in stock. */
const STOCK_COUNTER = "stock-counter";

/** What all keys of one run begin with. */
export function newPrefix(): string {
  return `holdfast-demo:${randomBytes(4).toString("hex")}:`;
}

export function stockKey(prefix: string): string {
  return `${prefix}${STOCK_COUNTER}`;
}

/** The greatest fencing token that the stock was written with. */
export function stockTokenKey(prefix: string): string {
  return `${prefix}${STOCK_COUNTER}:token`;
}

/** A fenced lock's counter stays when the lock is free. */
function tokenKey(prefix: string, name: LockName): string {
  return `redisson_lock_token:{${prefix}${name}}`;
}

/** The permits of a semaphore that are taken. */
function permitsKey(prefix: string, name: LockName): string {
  return `{${prefix}${name}}:timeout`;
}

/** What a client was answered about a semaphore. Ends by itself a minute later. */
export function requestsKey(prefix: string, name: LockName, clientId: string): string {
  return `holdfast_req:{${prefix}${name}}:${clientId}`;
}

/** All keys that one run can make, but for those of {@link requestsKey}. */
export function allKeys(prefix: string): string[] {
  const locks = lockNames.map((name) => `${prefix}${name}`);
  return [
    ...locks,
    tokenKey(prefix, "ledger"),
    permitsKey(prefix, "downloads"),
    stockKey(prefix),
    stockTokenKey(prefix),
  ];
}
