import { readableBytes } from "./byte-strings.js";
import type { Keyspace, ValueType } from "./keyspace.js";

/** Everything that is stored, by key. Bytes that are not UTF-8 are shown as hexadecimal digits after `0x`. */
export type Snapshot = Readonly<Record<string, KeySnapshot>>;

/** One key; `ttlMs` is -1 without a TTL. */
export type KeySnapshot = { readonly ttlMs: number } & (
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "hash"; readonly value: Readonly<Record<string, string>> }
  | { readonly type: "list"; readonly value: readonly string[] }
  | { readonly type: "zset"; readonly value: Readonly<Record<string, number>> }
);

export function snapshotOf(keyspace: Keyspace): Snapshot {
  return Object.fromEntries(keyspace.keys().map((key) => [readableBytes(key), keySnapshot(keyspace, key)]));
}

function keySnapshot(keyspace: Keyspace, key: string): KeySnapshot {
  const type = keyspace.typeOf(key) as ValueType;
  const ttlMs = keyspace.ttlMs(key);
  switch (type) {
    case "string":
      return { type, ttlMs, value: readableBytes(keyspace.get(key, type) ?? "") };
    case "hash":
      return { type, ttlMs, value: record(keyspace.get(key, type), readableBytes) };
    case "list":
      return { type, ttlMs, value: (keyspace.get(key, type) ?? []).map(readableBytes) };
    case "zset":
      return { type, ttlMs, value: record(keyspace.get(key, type), (score) => score) };
    default:
      return type satisfies never;
  }
}

function record<In, Out>(
  map: ReadonlyMap<string, In> = new Map(),
  read: (value: In) => Out,
): Record<string, Out> {
  return Object.fromEntries([...map].map(([name, value]) => [readableBytes(name), read(value)]));
}
