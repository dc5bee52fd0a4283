import type { Keyspace } from "./keyspace.js";
import { CommandError, type Reply } from "./reply.js";

/** One Redis command. Commands of one type are in one file; command-table.ts collects them all. */
export interface MemoryCommand {
  /** The number of arguments, including the command's name. A negative number is a minimum. */
  readonly arity: number;
  /** A full server refuses a command that may grow its memory. It refuses nothing to a script that has already written. */
  readonly effect: "none" | "writes" | "may-grow";
  /** Gets as many arguments as `arity` says. Reports an error by throwing a {@link CommandError}. */
  run(server: CommandServer, ...args: string[]): Reply;
}

/** The part of the server that commands need. */
export interface CommandServer {
  readonly keyspace: Keyspace;
  /** Returns the number of listeners. */
  publish(channel: string, message: string): number;
  listeners(channel: string): number;
  /** The channels with listeners. */
  channels(): Iterable<string>;
}

export type MemoryCommands = Readonly<Record<string, MemoryCommand>>;

const MAX_INT64 = 2n ** 63n - 1n;
export const MIN_INT64: bigint = -(2n ** 63n);

export function parseInt64(text: string, complaint = "ERR value is not an integer or out of range"): bigint {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) throw new CommandError(complaint);
  const integer = BigInt(text);
  if (integer > MAX_INT64 || integer < MIN_INT64) throw new CommandError(complaint);
  return integer;
}

export function parseInteger(text: string): number {
  return Number(parseInt64(text));
}

export function addInt64(left: bigint, right: bigint): bigint {
  const sum = left + right;
  if (sum > MAX_INT64 || sum < MIN_INT64) {
    throw new CommandError("ERR increment or decrement would overflow");
  }
  return sum;
}

/** Takes the part from `start` to `stop`, inclusive; negative indexes count from the end. */
export function parseRange(start: string, stop: string): <T>(items: readonly T[]) => T[] {
  const [first, last] = [parseInteger(start), parseInteger(stop)];
  return (items) => {
    const fromStart = (at: number, least: number) => Math.max(at < 0 ? at + items.length : at, least);
    return items.slice(fromStart(first, 0), fromStart(last, -1) + 1);
  };
}
