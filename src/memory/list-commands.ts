import { type CommandServer, type MemoryCommands, parseInteger, parseRange } from "./command.js";
import { OK, type Reply } from "./reply.js";

export const listCommands: MemoryCommands = {
  LLEN: {
    arity: 2,
    effect: "none",
    run: ({ keyspace }, key) => keyspace.get(key, "list")?.length ?? 0,
  },
  LRANGE: {
    arity: 4,
    effect: "none",
    run({ keyspace }, key, start, stop) {
      const take = parseRange(start, stop);
      return take(keyspace.get(key, "list") ?? []);
    },
  },
  LINDEX: {
    arity: 3,
    effect: "none",
    run({ keyspace }, key, index) {
      const place = parseInteger(index);
      return (keyspace.get(key, "list") ?? []).at(place) ?? null;
    },
  },
  LPOS: {
    arity: 3,
    effect: "none",
    run({ keyspace }, key, item) {
      const place = (keyspace.get(key, "list") ?? []).indexOf(item);
      return place < 0 ? null : place;
    },
  },
  RPUSH: {
    arity: -3,
    effect: "may-grow",
    run: rpush,
  },
  LPOP: {
    arity: 2,
    effect: "writes",
    run: lpop,
  },
  LREM: {
    arity: 4,
    effect: "writes",
    run: lrem,
  },
  LTRIM: {
    arity: 4,
    effect: "writes",
    run: ltrim,
  },
};

function rpush({ keyspace }: CommandServer, key: string, ...items: string[]): Reply {
  const list = keyspace.get(key, "list");
  if (list === undefined) keyspace.set(key, "list", items);
  else list.push(...items);
  return keyspace.get(key, "list")?.length ?? 0;
}

function lpop({ keyspace }: CommandServer, key: string): Reply {
  const list = keyspace.get(key, "list");
  const first = list?.shift();
  if (list?.length === 0) keyspace.delete(key);
  return first ?? null;
}

/** Keeps the part from `start` to `stop`, inclusive. */
function ltrim({ keyspace }: CommandServer, key: string, start: string, stop: string): Reply {
  const take = parseRange(start, stop);
  const list = keyspace.get(key, "list");
  if (list === undefined) return OK;
  list.splice(0, list.length, ...take(list));
  if (list.length === 0) keyspace.delete(key);
  return OK;
}

/** Removes the first `count` occurrences; the last ones if `count` is negative, all if it is 0. */
function lrem({ keyspace }: CommandServer, key: string, count: string, item: string): Reply {
  const wanted = parseInteger(count);
  const list = keyspace.get(key, "list");
  if (list === undefined) return 0;
  const places = list.flatMap((other, at) => (other === item ? [at] : []));
  const removed = new Set(wanted < 0 ? places.slice(wanted) : places.slice(0, wanted || places.length));
  const kept = list.filter((_, at) => !removed.has(at));
  list.splice(0, list.length, ...kept);
  if (list.length === 0) keyspace.delete(key);
  return removed.size;
}
