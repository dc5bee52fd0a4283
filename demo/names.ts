import { randomBytes } from "node:crypto";

/** The locks of the scenes, as the programs of the demo call them. */
export const lockNames = ["stock", "printer", "import", "backup", "report", "account", "album"] as const;

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

/** All keys that one run can make. */
export function allKeys(prefix: string): string[] {
  return [...lockNames.map((name) => `${prefix}${name}`), stockKey(prefix)];
}
