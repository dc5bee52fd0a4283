import { OfEnvironment } from "../../../src/environment.js";
import { type Link, Ring } from "../../../src/linked.js";

/** How many entries the tables of something have, and how many objects of each class belong to it, by where they are. */
export type Census = ReadonlyMap<string, number>;

/** What is known of a class, or of plain objects (""). */
interface Known {
  readonly name: string;
  /** How the fields are called in a census. */
  readonly paths: Map<string, string>;
  readonly is: "map" | "set" | "ring" | "list" | "of environment" | "object" | "foreign";
}

const knownOf = new WeakMap<object, Known>();
const PLAIN: Known = { name: "", paths: new Map(), is: "object" };

/**
 * Counts all that can be reached from `roots` by their fields, private ones included, where the sources are a copy whose private
 * names were exposed. What only a closure has is not seen.
 * @param stops what does not belong to them: the world, whose own tables are of no interest
 */
export function takeCensus(roots: Readonly<Record<string, unknown>>, stops: Iterable<object>): Census {
  const counts = new Map<string, number>();
  const seen = new Set<unknown>(stops);
  const found: unknown[] = [];
  const places: string[] = [];
  const find = (value: unknown, place: string) => {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    found.push(value);
    places.push(place);
  };
  const add = (what: string, count: number) => {
    if (count !== 0) counts.set(what, (counts.get(what) ?? 0) + Math.abs(count));
  };
  for (const [place, root] of Object.entries(roots)) find(root, place);
  for (let at = 0; at < found.length; at += 1) {
    const value = found[at] as object;
    const place = places[at] ?? "";
    const known = know(value);
    switch (known.is) {
      case "foreign":
        break;
      case "map":
        add(place, (value as Map<unknown, unknown>).size);
        for (const [key, entry] of value as Map<unknown, unknown>) {
          find(key, place);
          if (typeof entry === "number") add(`${place}, summed up`, entry);
          else find(entry, place);
        }
        break;
      case "set":
        add(place, (value as Set<unknown>).size);
        for (const entry of value as Set<unknown>) find(entry, place);
        break;
      case "list": {
        const list = value as unknown[];
        add(place, list.length);
        for (let nth = 0; nth < list.length; nth += 1) {
          const entry = list[nth];
          // A wheel has hundreds of empty places, and rings that are empty again.
          if (entry !== undefined && !(entry instanceof Ring && entry.isEmpty)) find(entry, place);
        }
        break;
      }
      case "ring": {
        for (const link of value as Ring<Link>) {
          add(place, 1);
          find(link, place);
        }
        break;
      }
      case "of environment":
        find((value as OfEnvironment<unknown>).current, place);
        break;
      default:
        if (known !== PLAIN) add(known.name, 1);
        for (const key in value) {
          if (key === "next" || key === "previous") continue;
          const field = (value as Record<string, unknown>)[key];
          if (typeof field === "object" && field !== null) find(field, pathOf(known, key, place));
          else if (typeof field === "number" && isCounter(key)) add(pathOf(known, key, place), field);
        }
    }
  }
  return counts;
}

/**
 * @param mayHave how many more there may be of something
 * @returns what one census has more of than the other, in words
 */
export function more(census: Census, than: Census, mayHave: (what: string) => number): readonly string[] {
  const surplus: string[] = [];
  for (const [what, count] of census) {
    const before = than.get(what) ?? 0;
    if (count > before && count > before + mayHave(what)) surplus.push(`${count} of ${what}`);
  }
  return surplus;
}

/** Whether the private names of the sources are exposed: elsewhere a census would miss most. */
export const isExposed: boolean = "_Ring_head" in new Ring();

function know(value: object): Known {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null || prototype === Object.prototype) return PLAIN;
  let known = knownOf.get(prototype);
  if (known === undefined) {
    known = { name: value.constructor.name, paths: new Map(), is: sortOf(value) };
    knownOf.set(prototype, known);
  }
  return known;
}

function sortOf(value: object): Known["is"] {
  if (value instanceof Map) return "map";
  if (value instanceof Set) return "set";
  if (Array.isArray(value)) return "list";
  if (value instanceof Ring) return "ring";
  if (value instanceof OfEnvironment) return "of environment";
  // What the platform has made keeps no tables of ours in its fields.
  const source = Function.prototype.toString.call(value.constructor);
  return value instanceof Error || source.includes("[native code]") ? "foreign" : "object";
}

/** What tells time, was learnt, only grows, or counts zeros that are kept. */
const NO_COUNTER =
  /(?:Ms|Id|Tick|[rR]esets|[aA]cquired|_beats|^ms|^tick|_empty|_others|^answers|^questions)$/;
const isCounterByKey = new Map<string, boolean>();

function isCounter(key: string): boolean {
  const known = isCounterByKey.get(key);
  if (known !== undefined) return known;
  const is = !NO_COUNTER.test(key);
  isCounterByKey.set(key, is);
  return is;
}

/** `Client.#waiters`, and for what is in a plain object the place of that, as in `Client.settings.replicas`. */
function pathOf({ name, paths }: Known, key: string, place: string): string {
  if (name === "") return `${place}.${key}`;
  const known = paths.get(key);
  if (known !== undefined) return known;
  const path = `${name}.${key.replace(/^_[A-Z]\w*?_/, "#")}`;
  paths.set(key, path);
  return path;
}
