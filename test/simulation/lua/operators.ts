import { isTrue, numberOf, type Results, ScriptFault, Table, textOf, typeOf, type Value } from "./values.js";

function operand(value: Value): number {
  const number = numberOf(value);
  if (number !== undefined) return number;
  throw new ScriptFault(`attempt to perform arithmetic on a ${typeOf(value)} value`);
}

function compared(left: Value, right: Value): ScriptFault {
  const [one, other] = [typeOf(left), typeOf(right)];
  const what = one === other ? `two ${one} values` : `${one} with ${other}`;
  return new ScriptFault(`attempt to compare ${what}`);
}

/** What the code of a compiled script calls for Lua's own operations. */
export const operators = {
  /** No value at all, as of a function that ends without a `return`. */
  NONE: [] as readonly Value[],
  isTrue,
  get(holder: Value, key: Value): Value {
    if (holder instanceof Table) return holder.get(key);
    throw new ScriptFault(`attempt to index a ${typeOf(holder)} value`);
  },
  set(holder: Value, key: Value, value: Value): void {
    if (!(holder instanceof Table)) throw new ScriptFault(`attempt to index a ${typeOf(holder)} value`);
    holder.set(key, value);
  },
  call(callee: Value, ...args: Value[]): Results {
    if (typeof callee === "function") return callee(...args);
    throw new ScriptFault(`attempt to call a ${typeOf(callee)} value`);
  },
  first(results: Results): Value {
    return Array.isArray(results) ? (results[0] as Value) : (results as Value);
  },
  all(results: Results): readonly Value[] {
    return Array.isArray(results) ? results : [results as Value];
  },
  list(items: Value[], fields: readonly (readonly [Value, Value])[] = []): Table {
    const hasGaps = items.includes(undefined);
    const table = new Table(hasGaps ? [] : items);
    for (const [key, value] of fields) table.set(key, value);
    if (hasGaps) {
      items.forEach((item, at) => {
        table.set(at + 1, item);
      });
    }
    return table;
  },
  add: (left: Value, right: Value): number => operand(left) + operand(right),
  subtract: (left: Value, right: Value): number => operand(left) - operand(right),
  multiply: (left: Value, right: Value): number => operand(left) * operand(right),
  divide: (left: Value, right: Value): number => operand(left) / operand(right),
  power: (left: Value, right: Value): number => operand(left) ** operand(right),
  modulo(left: Value, right: Value): number {
    const [dividend, divisor] = [operand(left), operand(right)];
    const rest = dividend % divisor;
    return rest * divisor < 0 ? rest + divisor : rest;
  },
  negate: (value: Value): number => -operand(value),
  length(value: Value): number {
    if (typeof value === "string") return value.length;
    if (value instanceof Table) return value.length;
    throw new ScriptFault(`attempt to get length of a ${typeOf(value)} value`);
  },
  join: (left: Value, right: Value): string => textOf(left) + textOf(right),
  isLess(left: Value, right: Value): boolean {
    if (typeof left === "number" && typeof right === "number") return left < right;
    if (typeof left === "string" && typeof right === "string") return left < right;
    throw compared(left, right);
  },
  isAtMost(left: Value, right: Value): boolean {
    if (typeof left === "number" && typeof right === "number") return left <= right;
    if (typeof left === "string" && typeof right === "string") return left <= right;
    throw compared(left, right);
  },
  isMore(left: Value, right: Value): boolean {
    if (typeof left === "number" && typeof right === "number") return left > right;
    if (typeof left === "string" && typeof right === "string") return left > right;
    throw compared(right, left);
  },
  isAtLeast(left: Value, right: Value): boolean {
    if (typeof left === "number" && typeof right === "number") return left >= right;
    if (typeof left === "string" && typeof right === "string") return left >= right;
    throw compared(right, left);
  },
  /** What a `for` counts with. */
  bound(value: Value, what: string): number {
    const number = numberOf(value);
    if (number === undefined) throw new ScriptFault(`'for' ${what} must be a number`);
    return number;
  },
  /** What a `for` goes through after `pairs` or `ipairs`. */
  entries(value: Value, isList = false): readonly (readonly [Value, Value])[] {
    if (value instanceof Table) {
      return isList ? value.items.map((item, at) => [at + 1, item] as const) : value.entries();
    }
    throw new ScriptFault(`bad argument #1 to 'for iterator' (table expected, got ${typeOf(value)})`);
  },
} as const;
