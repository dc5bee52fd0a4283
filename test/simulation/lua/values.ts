import { parseNumber, shortNumberText } from "../../../src/memory/number-text.js";

/** What a compiled script calculates with. Nil is undefined; texts are byte strings. */
export type Value = undefined | boolean | number | string | Table | LuaFunction;

/** What a call answers: its only value, or a list of all of them where it has none or several. */
export type Results = Value | readonly Value[];

export type LuaFunction = (...args: Value[]) => Results;

/** An error that a script makes by itself, as in `1 + nil`. */
export class ScriptFault extends Error {
  override readonly name = "ScriptFault";
}

/** What lies at 1, 2, 3 and so on is in a list, all else in a map. */
export class Table {
  /** Without a gap: none of them is nil. */
  readonly items: Value[];
  #rest: Map<Value, Value> | undefined;

  constructor(items: Value[] = []) {
    this.items = items;
  }

  get(key: Value): Value {
    const item = typeof key === "number" ? this.items[key - 1] : undefined;
    return item === undefined ? this.#rest?.get(key) : item;
  }

  set(key: Value, value: Value): void {
    if (typeof key === "number") {
      const { length } = this.items;
      if (Number.isNaN(key)) throw new ScriptFault("table index is NaN");
      if (key >= 1 && key <= length && Number.isInteger(key)) {
        if (value === undefined) this.#cut(key);
        else this.items[key - 1] = value;
        return;
      }
      if (key === length + 1 && value !== undefined) {
        this.items.push(value);
        this.#join();
        return;
      }
    } else if (key === undefined) throw new ScriptFault("table index is nil");
    if (value === undefined) this.#rest?.delete(key);
    else {
      this.#rest ??= new Map();
      this.#rest.set(key, value);
    }
  }

  /** The table itself, with one more field. */
  with(key: string, value: Value): Table {
    this.set(key, value);
    return this;
  }

  /** What `#` answers. Where there are gaps it may be one of several: the one that fengari's search finds. */
  get length(): number {
    const behind = this.#rest?.size ?? 0;
    if (behind === 0) return this.items.length;
    let is = 0;
    let isNot = this.items.length + behind + 1;
    while (this.get(isNot) !== undefined) {
      is = isNot;
      isNot *= 2;
    }
    while (isNot - is > 1) {
      const middle = Math.floor((is + isNot) / 2);
      if (this.get(middle) === undefined) isNot = middle;
      else is = middle;
    }
    return is;
  }

  /** All that is in it. The order is nobody's business, as in Lua. */
  entries(): (readonly [Value, Value])[] {
    return [...this.items.map((item, at) => [at + 1, item] as const), ...(this.#rest ?? [])];
  }

  /** One of the list is nil from now on: the others behind it move to the map. */
  #cut(key: number): void {
    const [, ...behind] = this.items.splice(key - 1);
    behind.forEach((item, at) => {
      this.#rest ??= new Map();
      this.#rest.set(key + 1 + at, item);
    });
  }

  /** The list has grown: what follows moves there from the map. */
  #join(): void {
    const rest = this.#rest;
    if (rest === undefined) return;
    for (let key = this.items.length + 1; rest.size > 0; key += 1) {
      const next = rest.get(key);
      if (next === undefined) return;
      rest.delete(key);
      this.items.push(next);
    }
  }
}

export function isTrue(value: Value): boolean {
  return value !== undefined && value !== false;
}

export function typeOf(value: Value): string {
  if (value === undefined) return "nil";
  return typeof value === "object" ? "table" : typeof value;
}

/** The number that a value is, or that its text tells. */
export function numberOf(value: Value): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string"
    ? parseNumber(value.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, ""))
    : undefined;
}

/** The text that a text or a number is in a `..`. */
export function textOf(value: Value): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return shortNumberText(value);
  throw new ScriptFault(`attempt to concatenate a ${typeOf(value)} value`);
}
