import { InvalidNameError } from "./errors.js";

/** Ten years. A longer time comes from a wrong unit, and Redis refuses values outside its range. */
const LONGEST_MS = 10 * 365 * 24 * 60 * 60 * 1_000;

/** @throws TypeError */
export function checkFlag(option: string, value: boolean): void {
  if (typeof value !== "boolean") throw new TypeError(`${option} must be true or false, got ${shown(value)}`);
}

/**
 * An array, a date or a signal would pass as an object that sets no option.
 * @throws TypeError
 */
export function checkObject(what: string, value: object, example?: string): void {
  if (Object.prototype.toString.call(value) === "[object Object]") return;
  const hint = example === undefined ? "" : `, as in ${example}`;
  throw new TypeError(`${what} must be an object, got ${shown(value)}${hint}`);
}

/** The platform's name of the type, for objects of any realm: `Array`, `Date`, `AbortSignal`, or `Object` if it has no such name. */
function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

/** A wrong value, as error messages show it. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  const tag = tagOf(value);
  if (tag === "Object" || tag === "Array") return `an ${tag.toLowerCase()}`;
  return `${/^[AEIOU]/.test(tag) ? "an" : "a"} ${tag}`;
}

/** The options or settings of something. */
export interface Known {
  /** The singular name: `option`. */
  readonly what: string;
  /** The thing that has the options: `a lock`. */
  readonly of: string;
  readonly names: readonly string[];
  /** How to give an option, with `?` instead of its name: `lease.unlock({ ? })`. */
  readonly given: string | undefined;
}

/** @param names all names as keys, so that the compiler notices a missing name */
/* @__NO_SIDE_EFFECTS__ */
export function known<Options>(
  what: string,
  of: string,
  names: Record<keyof Options, true>,
  given?: string,
): Known {
  return { what, of, names: Object.keys(names), given };
}

/**
 * A misspelt option would silently have no effect.
 * @param others the options that are left without the known names, so that the compiler notices a missing name
 * @param elsewhere other places that the name may belong to
 * @throws TypeError naming the option, the known options, and the option that was probably meant or the place where it belongs
 */
export function refuseUnknown(
  { what, of, names }: Known,
  others: Readonly<Record<string, never>>,
  elsewhere: readonly Known[] = [],
): void {
  for (const name of Object.keys(others)) {
    const there = `there is no ${what} "${name}" of ${of}: ${names.join(", ")}`;
    throw new TypeError(`${there}${hintFor(name, names, elsewhere)}`);
  }
}

function hintFor(name: string, names: readonly string[], elsewhere: readonly Known[]): string {
  const place = elsewhere.find((other) => other.names.includes(name));
  if (place?.given !== undefined) return `. Pass it as in ${place.given.replace("?", name)}`;
  const begins = name.slice(0, LIKE).toLowerCase();
  const alike = names.find((one) => one.slice(0, LIKE).toLowerCase() === begins);
  const meant = alike ?? names.find((one) => OTHER_NAMES[one]?.includes(name));
  return meant === undefined ? "" : `. Did you mean ${meant}?`;
}

/** Two names that share this many first letters count as similar: waitTime and waitMs. */
const LIKE = 4;

/** The names of options in other lock libraries. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  leaseMs: ["ttl", "ttlMs", "expire", "expires", "expiry", "duration", "lockTimeout"],
  waitMs: [
    "timeout",
    "timeoutMs",
    "acquireTimeout",
    "maxWait",
    "retryCount",
    "retryDelay",
    "retries",
    "retryInterval",
  ],
  watchdogMs: ["lockWatchdogTimeout"],
};

/**
 * A second argument would silently have no effect, like the 5 in `getSemaphore(name, 5)`.
 * @param instead how to give the value, with `?` in its place
 * @throws TypeError
 */
export function refuseSurplus(method: string, surplus: readonly unknown[], instead?: string): void {
  const [first] = surplus;
  if (first === undefined) return;
  const hint = instead === undefined ? "" : `. Pass it as in ${instead.replace("?", String(first))}`;
  throw new TypeError(`${method} takes only a name, but also got ${shown(first)}${hint}`);
}

/** @throws TypeError */
export function checkBody(method: string, body: unknown): void {
  if (typeof body !== "function") {
    throw new TypeError(`${method} needs a function as its last argument, got ${shown(body)}`);
  }
}

/**
 * Checks a number of milliseconds from the caller.
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
 * Checks a number of things from the caller.
 * @throws TypeError, RangeError
 */
export function checkCount(what: string, count: number, least: number, most: number): void {
  if (typeof count !== "number") throw new TypeError(`${what} must be a number, got ${shown(count)}`);
  if (!Number.isInteger(count) || count < least || count > most) {
    throw new RangeError(`${what} must be a whole number from ${least} to ${most}, got ${count}`);
  }
}

/**
 * The text that a function of the program has returned. The promise of an `async` function is not a text. Its rejection is ignored, so that
 * it does not end the process.
 * @throws TypeError
 */
export function textFrom(what: string, answer: unknown): string {
  if (typeof answer === "string" && answer !== "") return answer;
  disregard(answer);
  throw new TypeError(`${what} must return a non-empty string, not a promise, got ${shown(answer)}`);
}

/** A promise that no code waits for: its rejection must not end the process. */
function disregard(answer: unknown): void {
  Promise.resolve(answer).catch(() => undefined);
}

/**
 * The name of the key: the mapper's result for the name that the program uses.
 * @throws InvalidNameError
 */
export function keyOf(name: string, nameMapper: (name: string) => string): string {
  checkName(name, "a name");
  const key = nameMapper(name);
  if (typeof key !== "string") disregard(key);
  checkName(key, `the name mapper's result for "${name}"`);
  return key;
}

/**
 * All keys and channels of an object share a slot of a cluster only if the key has at most one tag in braces.
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
 * The channel of a latch has braces around the whole name, so braces within the name select another slot.
 * @throws InvalidNameError
 */
export function checkClusterLatch(key: string, pubSub: string): void {
  // Messages of PUBLISH need no slot.
  if (!key.includes("{") || pubSub === "classic") return;
  throw new InvalidNameError(
    `a latch in a cluster can not use the key "${key}": its channel is in the same slot only if the key has no braces`,
  );
}

/** Half of a character: UTF-8 cannot encode it, and clients send U+FFFD instead, so that different names would share a key. */
const UNPAIRED_SURROGATE = /\p{Surrogate}/u;

function checkName(name: unknown, what: string): void {
  if (typeof name !== "string" || name === "") {
    const hint = Array.isArray(name)
      ? ': to take several locks as one, use getMultiLock(getLock("a"), getLock("b"))'
      : "";
    throw new InvalidNameError(`${what} must be a non-empty string, got ${shown(name)}${hint}`);
  }
  if (UNPAIRED_SURROGATE.test(name)) {
    throw new InvalidNameError(`${what} can not have an unpaired surrogate, got ${JSON.stringify(name)}`);
  }
}

/**
 * Recognised by its methods: signals of jsdom, of Jest's sandboxes and of the package `abort-controller` have other classes.
 * @throws TypeError
 */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  const { aborted, addEventListener, removeEventListener } = signal ?? {};
  const isSignal = typeof addEventListener === "function" && typeof removeEventListener === "function";
  if (isSignal && typeof aborted === "boolean") return;
  throw new TypeError(`signal must be an AbortSignal, got ${shown(signal)}`);
}

/** @throws TypeError */
export function checkDriver(driver: { readonly run?: unknown; readonly subscribe?: unknown } | null): void {
  if (typeof driver?.run === "function" && typeof driver.subscribe === "function") return;
  throw new TypeError(
    "Holdfast needs a driver: wrap your Redis client with ioredisDriver, nodeRedisDriver or valkeyGlideDriver, as in new Holdfast(ioredisDriver(redis))",
  );
}
