import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { clientsCommand } from "./clients/clients-command.js";
import type { Act, Action, CommonOptions, Context, Input } from "./command.js";
import { urlsHelp } from "./connection/settings.js";
import { doctorCommand } from "./doctor/doctor-command.js";
import { execCommand } from "./exec/exec-command.js";
import { exitCodes, exitCodesHelp } from "./exit-codes.js";
import { Failure, mistake } from "./failure.js";
import { failureOf } from "./failure-of.js";
import { inspectCommand } from "./inspect/inspect-command.js";
import { listCommand } from "./ls/list-command.js";
import { Output, type OutputOptions, type Stream } from "./output.js";
import { releaseCommand } from "./semaphores/release-command.js";
import { semaphoreCommand } from "./semaphores/semaphore-command.js";
import { showCommand } from "./show/show-command.js";
import { plain } from "./text/plain.js";
import { unlockCommand } from "./unlock/unlock-command.js";
import { watchCommand } from "./watch/watch-command.js";

/** The parts of the process that a command line uses. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly out: Stream;
  readonly err: Stream;
  readonly input?: Input | undefined;
}

const topics: Readonly<Record<string, string>> = { "exit-codes": exitCodesHelp, urls: urlsHelp };

/** Runs one command line. @returns the exit code; never rejects */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const act: Act =
    <O extends CommonOptions>(action: Action<O>) =>
    async (...given) => {
      // commander passes the arguments, the options and the command.
      const options = given.at(-2) as O;
      const context: Context = {
        env: surroundings.env,
        output: new Output(surroundings, options),
        // A command that does not use stdin leaves it unread, so that the programs that it starts can read it.
        get input() {
          return surroundings.input;
        },
      };
      exitCode = await action(context, options, ...(given.slice(0, -2) as string[]));
    };
  const program = makeProgram(act, surroundings);
  try {
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    return complain(error, surroundings, { json: args.includes("--json") });
  }
}

function makeProgram(act: Act, { out, err }: Surroundings): Command {
  const program = new Command("holdfast")
    .description(
      "Shows and frees distributed locks on Redis, those of holdfast and of Redisson, and runs commands under them.",
    )
    .version(version(), "-V, --version", "the version")
    .enablePositionalOptions()
    .showHelpAfterError(false)
    .showSuggestionAfterError(true)
    .addHelpText(
      "after",
      `\nMore: ${Object.keys(topics)
        .map((topic) => `holdfast help ${topic}`)
        .join(", ")}`,
    )
    .addHelpCommand(false);
  program
    .command("help [topic]")
    .summary("print the help of a command or a topic")
    .action((topic?: string) => tellAbout(program, topic, out));
  for (const made of [
    execCommand(act),
    listCommand(act),
    showCommand(act),
    watchCommand(act),
    clientsCommand(act),
    unlockCommand(act),
    releaseCommand(act),
    semaphoreCommand(act),
    doctorCommand(act),
    inspectCommand(act),
  ])
    program.addCommand(made);
  for (const each of [program, ...program.commands]) {
    each.exitOverride().configureOutput({
      writeOut: (text) => void out.write(text),
      writeErr: (text) => void err.write(text),
      outputError: (text, write) => write(plainLines(text.replace(/^error: /, "holdfast: "))),
    });
  }
  return program;
}

function tellAbout(program: Command, topic: string | undefined, out: Stream): void {
  const text = topic === undefined ? undefined : topics[topic];
  const command = program.commands.find((each) => each.name() === topic);
  if (text !== undefined) out.write(text);
  else if (topic === undefined || command !== undefined) (command ?? program).outputHelp();
  else throw mistake(`there is no help for "${topic}": holdfast help lists the topics`);
}

function complain(error: unknown, surroundings: Surroundings, options: OutputOptions): number {
  const output = new Output(surroundings, options);
  // commander has already printed the error. commander's code for help and the version is 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  const failure = error instanceof Failure ? error : failureOf(error);
  output.complain(failure.message);
  return failure.exitCode;
}

/** Errors quote the typed argument, which may contain control characters. */
function plainLines(text: string): string {
  return text.split("\n").map(plain).join("\n");
}

function version(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}
