import type { MemoryCommand, MemoryCommands } from "./command.js";
import { hashCommands } from "./hash-commands.js";
import { keyCommands } from "./key-commands.js";
import { listCommands } from "./list-commands.js";
import { serverCommands } from "./server-commands.js";
import { sortedSetCommands } from "./sorted-set-commands.js";
import { stringCommands } from "./string-commands.js";

const all: MemoryCommands = {
  ...keyCommands,
  ...stringCommands,
  ...hashCommands,
  ...listCommands,
  ...sortedSetCommands,
  ...serverCommands,
};

const byName = new Map(Object.entries(all));

export function findCommand(name: string): MemoryCommand | undefined {
  return byName.get(name) ?? byName.get(name.toUpperCase());
}

/** Whether a command takes this many arguments, including its name. */
export function takes({ arity }: MemoryCommand, count: number): boolean {
  return arity < 0 ? count >= -arity : count === arity;
}
