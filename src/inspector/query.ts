/** The locks that a feed shows, and their order. */
export interface WantedRows {
  /** A glob on names; null: all. */
  readonly match: string | null;
  /** Default: `waiting`, and then by age. */
  readonly sort: "waiting" | "age" | "name";
  /** A shown lock has all of these properties. */
  readonly only: readonly ("waited" | "stale" | "jvm")[];
}

/** What a request asks for. */
export type Query =
  | { readonly of: "page" | "me" | "scan" }
  | { readonly of: "asset"; readonly name: string }
  | { readonly of: "feed" | "snapshot"; readonly wanted: WantedRows }
  | { readonly of: "lock"; readonly key: string }
  | { readonly of: "free"; readonly key: string; readonly reason: string }
  | { readonly of: "release"; readonly key: string; readonly reason: string };

/** A query that is malformed. */
export class MalformedQuery extends Error {}

const LONGEST_KEY_BYTES = 4_096;
const LONGEST_MATCH = 1_000;
const LONGEST_REASON = 200;
const LONGEST_SEARCH = 16_384;
const MOST_PARTS = 8;

/** The parameters that may accompany each request. */
const BESIDE: Readonly<Record<Query["of"], readonly string[]>> = {
  page: [],
  me: [],
  scan: [],
  asset: [],
  feed: ["match", "sort", "only"],
  snapshot: ["match", "sort", "only"],
  lock: [],
  free: ["reason"],
  release: ["reason"],
};

/**
 * Reads the query of a URL, the part behind its `?`.
 * @returns undefined for an unknown resource
 * @throws MalformedQuery
 */
export function readQuery(search: string): Query | undefined {
  const parts = partsOf(search);
  if (parts.size === 0) return { of: "page" };
  const of = [...parts.keys()].find(isAsked);
  if (of === undefined) return undefined;
  const unknown = [...parts.keys()].find((name) => name !== of && !BESIDE[of].includes(name));
  if (unknown !== undefined) throw new MalformedQuery(`"${unknown}" cannot be combined with "${of}"`);
  const value = parts.get(of) ?? "";
  switch (of) {
    case "me":
    case "scan":
      if (value !== "") throw new MalformedQuery(`"${of}" has no value`);
      return { of };
    case "asset":
      return { of, name: value };
    case "feed":
    case "snapshot":
      if (value !== "") throw new MalformedQuery(`"${of}" has no value`);
      return { of, wanted: wantedOf(parts) };
    case "lock":
      return { of, key: keyOf(value) };
    case "free":
    case "release":
      return { of, key: keyOf(value), reason: reasonOf(parts.get("reason") ?? "") };
    default:
      return of satisfies never;
  }
}

function isAsked(name: string): name is Exclude<Query["of"], "page"> {
  return name !== "page" && Object.hasOwn(BESIDE, name);
}

/** Not URLSearchParams, which replaces bytes that are not UTF-8. */
function partsOf(search: string): ReadonlyMap<string, string> {
  if (search.length > LONGEST_SEARCH) throw new MalformedQuery("the query is too long");
  const parts = new Map<string, string>();
  for (const part of search.replace(/^\?/, "").split("&")) {
    if (part === "") continue;
    const [name = "", ...value] = part.split("=").map(decoded);
    if (parts.has(name)) throw new MalformedQuery(`"${name}" is given twice`);
    if (parts.size === MOST_PARTS) throw new MalformedQuery("the query has too many parts");
    parts.set(name, value.join("="));
  }
  return parts;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new MalformedQuery("a % is not followed by two hexadecimal digits of UTF-8");
  }
}

function keyOf(key: string): string {
  if (key === "") throw new MalformedQuery("the key of a lock is missing");
  if (Buffer.byteLength(key) > LONGEST_KEY_BYTES) throw new MalformedQuery("the key is too long");
  return key;
}

function reasonOf(reason: string): string {
  if (reason.length > LONGEST_REASON)
    throw new MalformedQuery(`a reason must have at most ${LONGEST_REASON} characters`);
  return reason;
}

function wantedOf(parts: ReadonlyMap<string, string>): WantedRows {
  const match = parts.get("match") || null;
  const sort = parts.get("sort") || "waiting";
  const only = [...new Set((parts.get("only") ?? "").split(",").filter((text) => text !== ""))].sort();
  if (match !== null && match.length > LONGEST_MATCH)
    throw new MalformedQuery(`match must have at most ${LONGEST_MATCH} characters`);
  if (sort !== "waiting" && sort !== "age" && sort !== "name")
    throw new MalformedQuery("sort must be waiting, age or name");
  if (!only.every((one) => one === "waited" || one === "stale" || one === "jvm"))
    throw new MalformedQuery("only must be waited, stale, jvm, or several of them separated by commas");
  return { match, sort, only };
}
