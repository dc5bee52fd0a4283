import { checkCount } from "../checks.js";
import { environment } from "../environment.js";

/** A script for more permits at once would block the server. */
export const MOST_AT_ONCE = 1_000;
const ID_BYTES = 16;
const ID = new RegExp(`^[0-9a-f]{${2 * ID_BYTES}}$`);

export function newIds(count: number): readonly string[] {
  return Array.from({ length: count }, () => environment.randomHex(ID_BYTES));
}

/** @throws TypeError, RangeError */
export function idsOf(given: string | readonly string[]): readonly string[] {
  const ids = typeof given === "string" ? [given] : given;
  if (!Array.isArray(ids)) throw new TypeError("ids must be a string or a list of them");
  checkCount("the number of ids", ids.length, 1, MOST_AT_ONCE);
  return [...new Set(ids.map(checkedId))];
}

/** @throws TypeError, RangeError */
export function checkedId(id: unknown): string {
  if (typeof id !== "string") throw new TypeError("the id of a permit must be a string");
  const hex = id.toLowerCase();
  if (!ID.test(hex)) throw new RangeError(`the id of a permit must be 32 hexadecimal digits, got "${id}"`);
  return hex;
}
