/**
 * Readers of numbers that Redis stores as text. Any program may have written the text: `1e3`, `0x10` and `""` are not numbers for Redis.
 */
const WHOLE = /^(?:0|-?[1-9]\d*)$/;
const MOST_DIGITS = 20;
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n];

/** A counter that INCR accepts; undefined for any other text. */
export function readCounter(text: string): bigint | undefined {
  if (text.length > MOST_DIGITS || !WHOLE.test(text)) return undefined;
  const counter = BigInt(text);
  return counter >= LEAST && counter <= MOST ? counter : undefined;
}

/** A hold count; NaN for any other text. */
export function readHoldCount(text: string): number {
  const count = readCounter(text);
  return count === undefined || count > BigInt(Number.MAX_SAFE_INTEGER) || count < 0n
    ? Number.NaN
    : Number(count);
}
