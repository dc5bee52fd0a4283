import { Command, Option } from "commander";
import { addConnectionOptions, type ConnectionOptions } from "./connection/settings.js";
import type { Output, OutputOptions } from "./output.js";

/** What a command gets besides its own arguments. */
export interface Context {
  readonly env: NodeJS.ProcessEnv;
  readonly output: Output;
  /** What holdfast reads while it waits for a key or a typed line; undefined if there is no terminal. */
  readonly input: Input | undefined;
}

/** stdin of the process. */
export interface Input {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
  on(event: "data", listener: (keys: Buffer | string) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  off(event: "data", listener: (keys: Buffer | string) => void): unknown;
  off(event: "end", listener: () => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/** The options that all commands share. */
export interface CommonOptions extends ConnectionOptions, OutputOptions {}

/**
 * Makes a command, and adds the options for the connection and the output.
 * @param own its own options, which help lists first
 */
export function command(name: string, summary: string, own: readonly Option[] = []): Command {
  const made = new Command(name).summary(summary).description(summary);
  for (const option of own) made.addOption(option);
  addConnectionOptions(made);
  for (const option of [
    new Option("--json", "one JSON object per line instead of text"),
    new Option("--no-color", "no colours (NO_COLOR)"),
    new Option("-q, --quiet", "print only the results and errors"),
  ])
    made.addOption(option.helpGroup("Output:"));
  return made;
}

/** The work of a command. @returns the exit code @throws Failure, or an error of holdfast */
export type Action<O> = (context: Context, options: O, ...args: string[]) => Promise<number>;

/** Turns an action into the callback that commander calls. */
export type Act = <O extends CommonOptions>(action: Action<O>) => (...given: unknown[]) => Promise<void>;
