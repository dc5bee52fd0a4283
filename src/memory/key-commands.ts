import { glob } from "../glob.js";
import { type CommandServer, type MemoryCommand, type MemoryCommands, parseInteger } from "./command.js";
import type { Keyspace } from "./keyspace.js";
import { CommandError, Status } from "./reply.js";

const MAX_INT64 = 2 ** 63;

export const keyCommands: MemoryCommands = {
  DEL: onEachKey("writes", ({ keyspace }, key) => keyspace.delete(key)),
  EXISTS: onEachKey("none", ({ keyspace }, key) => keyspace.typeOf(key) !== "none"),
  TYPE: {
    arity: 2,
    effect: "none",
    run: ({ keyspace }, key) => new Status(keyspace.typeOf(key)),
  },
  PTTL: {
    arity: 2,
    effect: "none",
    run: ({ keyspace }, key) => keyspace.ttlMs(key),
  },
  SCAN: {
    arity: -2,
    effect: "none",
    run({ keyspace }, cursor, ...options) {
      if (!/^\d{1,15}$/.test(cursor ?? "")) throw new CommandError("ERR invalid cursor");
      const { count, isWanted } = scanOptions(keyspace, options);
      const { keys, next } = keyspace.step(Number(cursor), count);
      return [String(next), keys.filter(isWanted)];
    },
  },
  PEXPIRE: {
    arity: 3,
    effect: "writes",
    run({ keyspace }, key, ttlMs) {
      const atMs = timeAfter(keyspace, parseInteger(ttlMs), "pexpire");
      if (keyspace.typeOf(key) === "none") return 0;
      keyspace.expireAt(key, atMs);
      return 1;
    },
  },
  PERSIST: {
    arity: 2,
    effect: "writes",
    run({ keyspace }, key) {
      if (keyspace.ttlMs(key) < 0) return 0;
      keyspace.expireAt(key, Number.POSITIVE_INFINITY);
      return 1;
    },
  },
};

/** How many keys Redis scans in one step without COUNT. */
const USUAL_COUNT = 10;

function scanOptions(
  keyspace: Keyspace,
  options: readonly string[],
): { readonly count: number; readonly isWanted: (key: string) => boolean } {
  let count = USUAL_COUNT;
  let isOfType = (_key: string) => true;
  let matches = (_key: string) => true;
  for (let at = 0; at < options.length; at += 2) {
    const [option = "", value] = options.slice(at, at + 2);
    if (value === undefined) throw new CommandError("ERR syntax error");
    switch (option.toUpperCase()) {
      case "COUNT":
        count = parseInteger(value);
        if (count < 1) throw new CommandError("ERR syntax error");
        break;
      case "MATCH":
        matches = glob(value);
        break;
      case "TYPE":
        isOfType = (key) => keyspace.typeOf(key) === value.toLowerCase();
        break;
      default:
        throw new CommandError("ERR syntax error");
    }
  }
  return { count, isWanted: (key) => isOfType(key) && matches(key) };
}

/** The time at which a key with this TTL expires. */
export function timeAfter({ timeMs }: Keyspace, ttlMs: number, command: string): number {
  const atMs = timeMs + ttlMs;
  if (Math.abs(atMs) >= MAX_INT64) throw invalidExpireTime(command);
  return atMs;
}

export function invalidExpireTime(command: string): CommandError {
  return new CommandError(`ERR invalid expire time in '${command}' command`);
}

/** Returns the number of keys for which `act` returned true. */
function onEachKey(
  effect: MemoryCommand["effect"],
  act: (server: CommandServer, key: string) => boolean,
): MemoryCommand {
  return {
    arity: -2,
    effect,
    run: (server, ...keys) => keys.filter((key) => act(server, key)).length,
  };
}
