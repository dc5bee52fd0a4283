/** Numbers as text, written and read as Redis does with the C library. */

/** `%.17g`: the text of a score, and of a number that a script passes to Redis. */
export function numberText(number: number): string {
  if (Number.isSafeInteger(number) && number !== 0) return `${number}`;
  return generalText(number, 17);
}

/** `%.14g`: the text that Lua makes of a number. */
export function shortNumberText(number: number): string {
  return generalText(number, 14);
}

/** `%g` with at most this many digits. */
function generalText(number: number, digits: number): string {
  if (!Number.isFinite(number)) return special(number);
  if (number === 0) return Object.is(number, -0) ? "-0" : "0";
  const [mantissa = "", exponentText = "0"] = exponentialText(Math.abs(number), digits).split("e");
  const exponent = Number(exponentText);
  const minus = number < 0 ? "-" : "";
  if (exponent >= -4 && exponent < digits) return minus + withoutTrailingZeros(pointed(mantissa, exponent));
  const sign = exponent < 0 ? "-" : "+";
  return `${minus}${withoutTrailingZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** Enough digits to recognise a tie: if a five is followed by zeros up to here, all further digits of the double are zeros too. */
const EXACT_DIGITS = 60;

/** Like `toExponential`, but a tie goes to the even digit, as in C. */
function exponentialText(number: number, digits: number): string {
  const exact = number.toExponential(EXACT_DIGITS);
  // `exact` contains the point, so the digits after the kept ones begin here.
  const isTie = /^50*e/.test(exact.slice(digits + 1));
  const isEven = "02468".includes(exact.charAt(digits));
  return isTie && isEven
    ? exact.slice(0, digits + 1) + exact.slice(exact.indexOf("e"))
    : number.toExponential(digits - 1);
}

/** The digits of a mantissa, with the point at the exponent's position. */
function pointed(mantissa: string, exponent: number): string {
  const digits = mantissa.replace(".", "");
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${digits}`;
  const fraction = digits.slice(exponent + 1);
  return digits.slice(0, exponent + 1) + (fraction === "" ? "" : `.${fraction}`);
}

/** `%.0f`, exact: a tie goes to the even neighbour. */
export function wholeText(number: number): string {
  if (!Number.isFinite(number)) return special(number);
  const truncated = Math.trunc(number);
  const rest = Math.abs(number - truncated);
  const awayFromZero = rest > 0.5 || (rest === 0.5 && truncated % 2 !== 0);
  const whole = awayFromZero ? truncated + Math.sign(number) : truncated;
  return `${Object.is(whole, -0) ? "-" : ""}${BigInt(whole)}`;
}

const HEXADECIMAL = /^0x([\da-f]*)\.?([\da-f]*)(?:p([+-]?\d+))?$/;

/** The number that `strtod` reads if the whole text is a number; undefined otherwise. */
export function parseNumber(text: string): number | undefined {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return Number(text);
  const [, minus, word] = /^(?:\+|(-))?(inf|infinity|nan(?:\(\w*\))?|0x.+)$/.exec(text.toLowerCase()) ?? [];
  if (word === undefined) return undefined;
  const size = word.startsWith("0x")
    ? parseHexadecimal(word)
    : word.startsWith("nan")
      ? Number.NaN
      : Number.POSITIVE_INFINITY;
  return minus === undefined || size === undefined ? size : -size;
}

function parseHexadecimal(text: string): number | undefined {
  const [, whole = "", fraction = "", exponent = "0"] = HEXADECIMAL.exec(text) ?? [];
  const digits = whole + fraction;
  if (digits === "") return undefined;
  return Number(BigInt(`0x${digits}`)) * 2 ** (Number(exponent) - 4 * fraction.length);
}

function withoutTrailingZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function special(number: number): string {
  if (Number.isNaN(number)) return "nan";
  return number > 0 ? "inf" : "-inf";
}
