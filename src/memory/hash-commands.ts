import { addInt64, type CommandServer, type MemoryCommands, parseInt64, parseInteger } from "./command.js";
import { CommandError, type Reply } from "./reply.js";

export const hashCommands: MemoryCommands = {
  HGET: {
    arity: 3,
    effect: "none",
    run: ({ keyspace }, key, field) => keyspace.get(key, "hash")?.get(field) ?? null,
  },
  HEXISTS: {
    arity: 3,
    effect: "none",
    run: ({ keyspace }, key, field) => (keyspace.get(key, "hash")?.has(field) ? 1 : 0),
  },
  HSTRLEN: {
    arity: 3,
    effect: "none",
    run: ({ keyspace }, key, field) => keyspace.get(key, "hash")?.get(field)?.length ?? 0,
  },
  HLEN: {
    arity: 2,
    effect: "none",
    run: ({ keyspace }, key) => keyspace.get(key, "hash")?.size ?? 0,
  },
  HKEYS: {
    arity: 2,
    effect: "none",
    run: ({ keyspace }, key) => [...(keyspace.get(key, "hash")?.keys() ?? [])],
  },
  HRANDFIELD: {
    arity: -2,
    effect: "none",
    run: hrandfield,
  },
  HGETALL: {
    arity: 2,
    effect: "none",
    run: ({ keyspace }, key) => [...(keyspace.get(key, "hash")?.entries() ?? [])].flat(),
  },
  HSET: {
    arity: -4,
    effect: "may-grow",
    run: hset,
  },
  HINCRBY: {
    arity: 4,
    effect: "may-grow",
    run: hincrby,
  },
  HDEL: {
    arity: -3,
    effect: "writes",
    run: hdel,
  },
};

/** Returns the first fields, which a random choice could return too. */
function hrandfield({ keyspace }: CommandServer, key: string, count?: string, ...words: string[]): Reply {
  const wanted = count === undefined ? 1 : parseInteger(count);
  const withValues = words[0]?.toUpperCase() === "WITHVALUES";
  if (words.length > (withValues ? 1 : 0)) throw new CommandError("ERR syntax error");
  const hash = keyspace.get(key, "hash") ?? new Map<string, string>();
  const fields = [...hash.keys()];
  if (count === undefined) return fields[0] ?? null;
  const repeated = fields.length === 0 ? 0 : -wanted;
  const chosen =
    wanted >= 0
      ? fields.slice(0, wanted)
      : Array.from({ length: repeated }, (_, at) => fields[at % fields.length] ?? "");
  return withValues ? chosen.flatMap((field) => [field, hash.get(field) ?? ""]) : chosen;
}

function hset(server: CommandServer, key: string, ...pairs: string[]): Reply {
  if (pairs.length % 2 !== 0) throw new CommandError("ERR wrong number of arguments for 'hset' command");
  const hash = hashToWrite(server, key);
  const sizeBefore = hash.size;
  for (let i = 0; i < pairs.length; i += 2) hash.set(pairs[i] ?? "", pairs[i + 1] ?? "");
  return hash.size - sizeBefore;
}

function hincrby(server: CommandServer, key: string, field: string, increment: string): Reply {
  const by = parseInt64(increment);
  const before = server.keyspace.get(key, "hash")?.get(field) ?? "0";
  const sum = addInt64(parseInt64(before, "ERR hash value is not an integer"), by);
  hashToWrite(server, key).set(field, String(sum));
  return Number(sum);
}

function hdel({ keyspace }: CommandServer, key: string, ...fields: string[]): Reply {
  const hash = keyspace.get(key, "hash");
  if (hash === undefined) return 0;
  const deleted = fields.filter((field) => hash.delete(field)).length;
  if (hash.size === 0) keyspace.delete(key);
  return deleted;
}

function hashToWrite({ keyspace }: CommandServer, key: string): Map<string, string> {
  const found = keyspace.get(key, "hash");
  if (found !== undefined) return found;
  const hash = new Map<string, string>();
  keyspace.set(key, "hash", hash);
  return hash;
}
