import { InvalidNameError } from "./errors.js";

/** Ten years. Longer ones are mistakes of the unit, and Redis refuses what leaves its range. */
const LONGEST_MS = 10 * 365 * 24 * 60 * 60 * 1_000;

/** @throws TypeError */
export function checkFlag(option: string, value: boolean): void {
  if (typeof value !== "boolean")
    throw new TypeError(`${option} must be true or false, got ${String(value)}`);
}

/** @throws TypeError */
export function checkObject(what: string, value: object, example?: string): void {
  if (typeof value === "object" && value !== null) return;
  throw new TypeError(`${what} must be an object${example === undefined ? "" : `, as in ${example}`}`);
}

/**
 * A misspelt option would be as good as none, and nobody would notice.
 * @param others what is left when all known ones were taken away, so that the compiler knows that none was forgotten
 * @throws TypeError naming the option
 */
export function refuseUnknown(what: string, others: Readonly<Record<string, never>>): void {
  for (const name of Object.keys(others)) throw new TypeError(`there is no ${what} "${name}"`);
}

/** @throws TypeError */
export function checkBody(method: string, body: unknown): void {
  if (typeof body !== "function") {
    throw new TypeError(`${method} needs a function to run, as its last argument`);
  }
}

/**
 * A number of milliseconds, checked at the door.
 * @throws TypeError, RangeError naming the option
 */
export function duration(option: string, value: number | undefined, leastMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "number") throw new TypeError(`${option} must be a number of milliseconds`);
  if (!Number.isInteger(value) || value < leastMs || value > LONGEST_MS) {
    throw new RangeError(
      `${option} must be a whole number of milliseconds from ${leastMs} to ${LONGEST_MS}, got ${value}`,
    );
  }
  return value;
}

/**
 * A number of things, checked at the door.
 * @throws TypeError, RangeError
 */
export function checkCount(what: string, count: number, least: number, most: number): void {
  if (typeof count !== "number") throw new TypeError(`${what} must be a number`);
  if (!Number.isInteger(count) || count < least || count > most) {
    throw new RangeError(`${what} must be a whole number from ${least} to ${most}, got ${count}`);
  }
}

/**
 * The name of the key: what the mapper makes of the name that the program uses.
 * @throws InvalidNameError
 */
export function keyOf(name: string, nameMapper: (name: string) => string): string {
  checkName(name, "a name");
  const key = nameMapper(name);
  checkName(key, `what the name mapper made of "${name}"`);
  return key;
}

/**
 * Only with one tag in braces, or none at all, do all keys and channels of an object share a slot of a cluster.
 * @throws InvalidNameError
 */
export function checkClusterKey(key: string): void {
  if (/^[^{}]*(?:\{[^{}]+\}[^{}]*)?$/.test(key)) return;
  throw new InvalidNameError(
    `the key "${key}" can not be used in a cluster: braces may only enclose one part of it, as in "{order}:7"`,
  );
}

/**
 * The channel of a latch has braces around the whole name, so that braces within it name another slot.
 * @throws InvalidNameError
 */
export function checkClusterLatch(key: string, pubSub: string): void {
  // Messages of PUBLISH need no slot.
  if (!key.includes("{") || pubSub === "classic") return;
  throw new InvalidNameError(
    `the key "${key}" can not be that of a latch in a cluster: a latch's channel shares its slot only without braces`,
  );
}

/** Half of a character: UTF-8 has none, and clients send U+FFFD in its place, so that different names would be one key. */
const UNPAIRED_SURROGATE = /\p{Surrogate}/u;

function checkName(name: unknown, what: string): void {
  if (typeof name !== "string" || name === "") {
    throw new InvalidNameError(`${what} must be a non-empty string, got ${name === "" ? '""' : typeof name}`);
  }
  if (UNPAIRED_SURROGATE.test(name)) {
    throw new InvalidNameError(`${what} can not have an unpaired surrogate, got ${JSON.stringify(name)}`);
  }
}

/** @throws TypeError */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError("signal must be an AbortSignal");
  }
}
