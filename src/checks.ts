import { InvalidNameError } from "./errors.js";

/** Ten years. Longer ones are mistakes of the unit, and Redis refuses what leaves its range. */
const LONGEST_MS = 10 * 365 * 24 * 60 * 60 * 1_000;

/** @throws TypeError */
export function checkFlag(option: string, value: boolean): void {
  if (typeof value !== "boolean") throw new TypeError(`${option} must be true or false, got ${shown(value)}`);
}

/** @throws TypeError */
export function checkObject(what: string, value: object, example?: string): void {
  if (typeof value === "object" && value !== null) return;
  const hint = example === undefined ? "" : `, as in ${example}`;
  throw new TypeError(`${what} must be an object, got ${shown(value)}${hint}`);
}

/** A wrong value in the words of an error. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "function") return "a function";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** The options or settings of something. */
export interface Known {
  /** What one of them is called: `option`. */
  readonly what: string;
  /** What they are of: `a lock`. */
  readonly of: string;
  readonly names: readonly string[];
}

/** @param names all of them as keys, so that the compiler knows that none was forgotten */
export function known<Options>(what: string, of: string, names: Record<keyof Options, true>): Known {
  return { what, of, names: Object.keys(names) };
}

/**
 * A misspelt option would silently have no effect.
 * @param others what is left when all known ones were taken away, so that the compiler knows that none was forgotten
 * @throws TypeError naming the option, those that there are, and the one that was meant
 */
export function refuseUnknown({ what, of, names }: Known, others: Readonly<Record<string, never>>): void {
  for (const name of Object.keys(others)) {
    const meant = names.find((one) => one.slice(0, LIKE).toLowerCase() === name.slice(0, LIKE).toLowerCase());
    const hint = meant === undefined ? "" : `. Did you mean ${meant}?`;
    throw new TypeError(`there is no ${what} "${name}" of ${of}: ${names.join(", ")}${hint}`);
  }
}

/** Names that begin alike in so many letters are taken for each other: waitTime and waitMs. */
const LIKE = 4;

/** @throws TypeError */
export function checkBody(method: string, body: unknown): void {
  if (typeof body !== "function") {
    throw new TypeError(`${method} needs a function to run, as its last argument, got ${shown(body)}`);
  }
}

/**
 * A number of milliseconds, checked at the door.
 * @throws TypeError, RangeError naming the option
 */
export function duration(
  option: string,
  value: number | undefined,
  leastMs: number,
  mostMs: number = LONGEST_MS,
): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "number") {
    throw new TypeError(`${option} must be a number of milliseconds, got ${shown(value)}`);
  }
  if (!Number.isInteger(value) || value < leastMs || value > mostMs) {
    throw new RangeError(
      `${option} must be a whole number of milliseconds from ${leastMs} to ${mostMs}, got ${value}`,
    );
  }
  return value;
}

/**
 * How long a call waits; `Infinity`: for ever.
 * @throws TypeError, RangeError
 */
export function checkWait(waitMs: number | undefined): number | undefined {
  return waitMs === Number.POSITIVE_INFINITY ? waitMs : duration("waitMs", waitMs, 0);
}

/**
 * A number of things, checked at the door.
 * @throws TypeError, RangeError
 */
export function checkCount(what: string, count: number, least: number, most: number): void {
  if (typeof count !== "number") throw new TypeError(`${what} must be a number, got ${shown(count)}`);
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
  if (isClusterKey(key)) return;
  throw new InvalidNameError(
    `the key "${key}" can not be used in a cluster: braces may only enclose one part of it, as in "{order}:7"`,
  );
}

/** Whether all keys and channels of an object with this key share a slot. */
export function isClusterKey(key: string): boolean {
  return /^[^{}]*(?:\{[^{}]+\}[^{}]*)?$/.test(key);
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
    const hint = Array.isArray(name)
      ? ': several locks as one are getMultiLock(getLock("a"), getLock("b"))'
      : "";
    throw new InvalidNameError(`${what} must be a non-empty string, got ${shown(name)}${hint}`);
  }
  if (UNPAIRED_SURROGATE.test(name)) {
    throw new InvalidNameError(`${what} can not have an unpaired surrogate, got ${JSON.stringify(name)}`);
  }
}

/** @throws TypeError */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError(`signal must be an AbortSignal, got ${shown(signal)}`);
  }
}
