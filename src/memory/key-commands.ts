import { type Command, type CommandServer, type Commands, parseInteger } from "./command.js";
import type { Keyspace } from "./keyspace.js";
import { CommandError, Status } from "./reply.js";

const MAX_INT64 = 2 ** 63;

export const keyCommands: Commands = {
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

/** The point of time at which a key with this TTL ends. */
export function timeAfter({ timeMs }: Keyspace, ttlMs: number, command: string): number {
  const atMs = timeMs + ttlMs;
  if (Math.abs(atMs) >= MAX_INT64) throw invalidExpireTime(command);
  return atMs;
}

export function invalidExpireTime(command: string): CommandError {
  return new CommandError(`ERR invalid expire time in '${command}' command`);
}

/** Answers on how many keys `act` said yes. */
function onEachKey(effect: Command["effect"], act: (server: CommandServer, key: string) => boolean): Command {
  return {
    arity: -2,
    effect,
    run: (server, ...keys) => keys.filter((key) => act(server, key)).length,
  };
}
