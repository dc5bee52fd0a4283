import {
  addInt64,
  type CommandServer,
  type MemoryCommands,
  MIN_INT64,
  parseInt64,
  parseInteger,
} from "./command.js";
import { invalidExpireTime, timeAfter } from "./key-commands.js";
import type { Keyspace } from "./keyspace.js";
import { CommandError, OK, type Reply } from "./reply.js";

export const stringCommands: MemoryCommands = {
  GET: {
    arity: 2,
    effect: "none",
    run: ({ keyspace }, key) => keyspace.get(key, "string") ?? null,
  },
  STRLEN: {
    arity: 2,
    effect: "none",
    run: ({ keyspace }, key) => keyspace.get(key, "string")?.length ?? 0,
  },
  SET: {
    arity: -3,
    effect: "may-grow",
    run: (server, key, value, ...options) => set(server, key, value, setOptions(options)),
  },
  INCR: {
    arity: 2,
    effect: "may-grow",
    run: (server, key) => add(server, key, 1n),
  },
  INCRBY: {
    arity: 3,
    effect: "may-grow",
    run: (server, key, increment) => add(server, key, parseInt64(increment)),
  },
  DECR: {
    arity: 2,
    effect: "may-grow",
    run: (server, key) => add(server, key, -1n),
  },
  DECRBY: {
    arity: 3,
    effect: "may-grow",
    run: (server, key, decrement) => add(server, key, negated(parseInt64(decrement))),
  },
};

interface SetOptions {
  onlyIf?: "NX" | "XX";
  ttlMs?: string;
}

function setOptions(words: readonly string[]): SetOptions {
  const options: SetOptions = {};
  for (let i = 0; i < words.length; i++) {
    const word = words[i]?.toUpperCase();
    if ((word === "NX" || word === "XX") && options.onlyIf === undefined) options.onlyIf = word;
    else if (word === "PX" && options.ttlMs === undefined && i + 1 < words.length)
      options.ttlMs = words[++i] ?? "";
    else throw new CommandError("ERR syntax error");
  }
  return options;
}

function set({ keyspace }: CommandServer, key: string, value: string, { onlyIf, ttlMs }: SetOptions): Reply {
  const endsAtMs = ttlMs === undefined ? Number.POSITIVE_INFINITY : endOf(keyspace, ttlMs);
  const exists = keyspace.typeOf(key) !== "none";
  if (onlyIf !== undefined && exists !== (onlyIf === "XX")) return null;
  keyspace.set(key, "string", value);
  keyspace.expireAt(key, endsAtMs);
  return OK;
}

function endOf(keyspace: Keyspace, text: string): number {
  const ttlMs = parseInteger(text);
  if (ttlMs <= 0) throw invalidExpireTime("set");
  return timeAfter(keyspace, ttlMs, "set");
}

function add({ keyspace }: CommandServer, key: string, increment: bigint): number {
  const sum = addInt64(parseInt64(keyspace.get(key, "string") ?? "0"), increment);
  keyspace.replace(key, String(sum));
  return Number(sum);
}

function negated(decrement: bigint): bigint {
  if (decrement === MIN_INT64) throw new CommandError("ERR decrement would overflow");
  return -decrement;
}
