import { numberText, shortNumberText, wholeText } from "../../../src/memory/number-text.js";
import { expressionOf } from "./patterns.js";
import {
  isTrue,
  type LuaFunction,
  numberOf,
  type Results,
  ScriptFault,
  Table,
  typeOf,
  type Value,
} from "./values.js";

function bad(at: number, name: string, wanted: string, value: Value): ScriptFault {
  const got = value === undefined ? "no value" : typeOf(value);
  return new ScriptFault(`bad argument #${at} to '${name}' (${wanted} expected, got ${got})`);
}

function number(value: Value, at: number, name: string): number {
  const found = numberOf(value);
  if (found === undefined) throw bad(at, name, "number", value);
  return found;
}

function text(value: Value, at: number, name: string): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return numberText(value);
  throw bad(at, name, "string", value);
}

function table(value: Value, at: number, name: string): Table {
  if (value instanceof Table) return value;
  throw bad(at, name, "table", value);
}

/** The captures, or all that was found where a pattern has none. */
function capturesOf(match: RegExpMatchArray): Value[] {
  return match.length > 1 ? match.slice(1) : [match[0]];
}

function found(name: string, subject: Value, pattern: Value, init: Value): RegExpMatchArray | undefined {
  const whole = text(subject, 1, name);
  const start = init === undefined ? 1 : number(init, 3, name);
  const from = Math.max(start < 0 ? whole.length + start : start - 1, 0);
  if (from > whole.length) return undefined;
  const expression = expressionOf(text(pattern, 2, name));
  // In Lua `^` stands for where the search begins, so that what lies before is cut off.
  expression.lastIndex = 0;
  const match = expression.exec(whole.slice(from));
  if (match === null) return undefined;
  match.index += from;
  return match;
}

function chosen(
  name: string,
  isBetter: (best: number, each: number) => boolean,
): (...args: Value[]) => Value {
  return (first, ...others) => {
    let best = number(first, 1, name);
    for (let at = 0; at < others.length; at += 1) {
      const each = number(others[at], at + 2, name);
      if (isBetter(best, each)) best = each;
    }
    return best;
  };
}

/** Functions that answer one value at every call: their calls need not be asked how many. */
const single: Readonly<Record<string, (...args: Value[]) => Value>> = {
  type(value) {
    return typeOf(value);
  },
  tonumber(value, base) {
    const radix = base === undefined ? 10 : number(base, 2, "tonumber");
    if (radix === 10) return numberOf(value);
    if (typeof value !== "string") return undefined;
    const digits = value.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, "");
    const read = Number.parseInt(digits, radix);
    return read.toString(radix) === digits.toLowerCase().replace(/^0+(?=.)/, "") ? read : undefined;
  },
  tostring(value) {
    if (typeof value === "number") return shortNumberText(value);
    if (typeof value === "object" || typeof value === "function") throw bad(1, "tostring", "text", value);
    return value === undefined ? "nil" : String(value);
  },
  "math.floor": (value) => Math.floor(number(value, 1, "floor")),
  "math.ceil": (value) => Math.ceil(number(value, 1, "ceil")),
  "math.abs": (value) => Math.abs(number(value, 1, "abs")),
  "math.max": chosen("max", (best, each) => each > best),
  "math.min": chosen("min", (best, each) => each < best),
  "string.format"(format, ...values) {
    let at = 0;
    return text(format, 1, "format").replace(/%(\.0f|s|.?)/gs, (_, verb) => {
      at += 1;
      const value = values[at - 1];
      if (verb === ".0f") return wholeText(number(value, at + 1, "format"));
      if (verb === "02x")
        return number(value, at + 1, "format")
          .toString(16)
          .padStart(2, "0");
      if (verb === "s" && typeof value === "string") return value;
      throw new ScriptFault('the only formats are "%.0f" for numbers and "%s" for texts');
    });
  },
  "string.sub"(subject, start, end) {
    const whole = text(subject, 1, "sub");
    const first = number(start, 2, "sub");
    const last = end === undefined ? -1 : number(end, 3, "sub");
    const from = first < 0 ? Math.max(whole.length + first + 1, 1) : Math.max(first, 1);
    return whole.slice(from - 1, Math.max(last < 0 ? whole.length + last + 1 : last, 0));
  },
  "string.char": (...codes) => String.fromCharCode(...codes.map((code, at) => number(code, at + 1, "char"))),
  "string.byte": (subject) => text(subject, 1, "byte").charCodeAt(0),
  "string.len": (subject) => text(subject, 1, "len").length,
};

const several: Readonly<Record<string, LuaFunction>> = {
  unpack(list, start, end) {
    const all = table(list, 1, "unpack");
    const from = start === undefined ? 1 : number(start, 2, "unpack");
    const to = end === undefined ? all.length : number(end, 3, "unpack");
    const values: Value[] = [];
    for (let at = from; at <= to; at += 1) values.push(all.get(at));
    return values;
  },
  next(list, key) {
    const entries = table(list, 1, "next").entries();
    const at = key === undefined ? 0 : entries.findIndex(([other]) => other === key) + 1;
    return [...(entries[at] ?? [undefined])];
  },
  "table.insert"(list, value) {
    const items = table(list, 1, "insert");
    items.set(items.length + 1, value);
    return [];
  },
  "string.find"(subject, pattern, init, isPlain) {
    if (isTrue(isPlain)) {
      const wanted = text(pattern, 2, "find");
      const from = init === undefined ? 0 : number(init, 3, "find") - 1;
      const at = text(subject, 1, "find").indexOf(wanted, from);
      return at < 0 ? undefined : [at + 1, at + wanted.length];
    }
    const match = found("find", subject, pattern, init);
    if (match?.index === undefined) return undefined;
    return [match.index + 1, match.index + match[0].length, ...match.slice(1)];
  },
  "string.match"(subject, pattern, init) {
    const match = found("match", subject, pattern, init);
    return match === undefined ? undefined : capturesOf(match);
  },
  "string.gsub"(subject, pattern, replacement) {
    let count = 0;
    const expression = expressionOf(text(pattern, 2, "gsub"));
    const replaced = text(subject, 1, "gsub").replace(expression, (...parts: unknown[]) => {
      count += 1;
      const captures = parts.filter((part) => typeof part === "string").slice(0, -1) as string[];
      const [whole = ""] = captures;
      if (typeof replacement !== "function") return text(replacement, 3, "gsub");
      const results: Results = replacement(...(captures.length > 1 ? captures.slice(1) : captures));
      const [result] = Array.isArray(results) ? results : [results];
      return isTrue(result) ? text(result, 3, "gsub") : whole;
    });
    return [replaced, count];
  },
};

/** What a script finds under Lua's global names, as far as scripts use it. */
export const library = { single, several } as const;

/** What `string.gmatch` goes through. */
export function matchesOf(subject: Value, pattern: Value): Value[][] {
  const expression = expressionOf(text(pattern, 2, "gmatch"));
  return [...text(subject, 1, "gmatch").matchAll(expression)].map(capturesOf);
}
