import type { Command, Commands } from "./command.js";
import { hashCommands } from "./hash-commands.js";
import { keyCommands } from "./key-commands.js";
import { listCommands } from "./list-commands.js";
import { serverCommands } from "./server-commands.js";
import { sortedSetCommands } from "./sorted-set-commands.js";
import { stringCommands } from "./string-commands.js";

const all: Commands = {
  ...keyCommands,
  ...stringCommands,
  ...hashCommands,
  ...listCommands,
  ...sortedSetCommands,
  ...serverCommands,
};

const byName = new Map(Object.entries(all));

export function findCommand(name: string): Command | undefined {
  return byName.get(name) ?? byName.get(name.toUpperCase());
}

/** Whether a command takes so many arguments, its name counted. */
export function takes({ arity }: Command, count: number): boolean {
  return arity < 0 ? count >= -arity : count === arity;
}
