/** Numbers as text, written and read as Redis does with the C library. */

/** `%.17g`: the text of a number that a script hands to Redis, and of a score. */
export function numberText(number: number): string {
  if (Number.isSafeInteger(number) && number !== 0) return `${number}`;
  return generalText(number, 17);
}

/** `%.14g`: the text that Lua makes of a number. */
export function shortNumberText(number: number): string {
  return generalText(number, 14);
}

/** `%g` with so many digits at most. */
function generalText(number: number, digits: number): string {
  if (!Number.isFinite(number)) return special(number);
  if (number === 0) return Object.is(number, -0) ? "-0" : "0";
  const [mantissa = "", exponentText = "0"] = number.toExponential(digits - 1).split("e");
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < digits) return withoutTrailingZeros(number.toFixed(digits - 1 - exponent));
  const sign = exponent < 0 ? "-" : "+";
  return `${withoutTrailingZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** `%.0f`, exact: halves go to the even neighbour. */
export function wholeText(number: number): string {
  if (!Number.isFinite(number)) return special(number);
  const truncated = Math.trunc(number);
  const rest = Math.abs(number - truncated);
  const awayFromZero = rest > 0.5 || (rest === 0.5 && truncated % 2 !== 0);
  const whole = awayFromZero ? truncated + Math.sign(number) : truncated;
  return `${Object.is(whole, -0) ? "-" : ""}${BigInt(whole)}`;
}

/** What `strtod` reads when all of the text is a number; undefined otherwise. */
export function parseNumber(text: string): number | undefined {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return Number(text);
  const [, minus, word] = /^(?:\+|(-))?(inf|infinity|nan|0x[\da-f]+)$/i.exec(text) ?? [];
  if (word === undefined) return undefined;
  const size = /^0x/i.test(word) ? Number(word) : /^nan$/i.test(word) ? Number.NaN : Number.POSITIVE_INFINITY;
  return minus === undefined ? size : -size;
}

function withoutTrailingZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function special(number: number): string {
  if (Number.isNaN(number)) return "nan";
  return number > 0 ? "inf" : "-inf";
}
