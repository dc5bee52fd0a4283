import { isatty } from "node:tty";
import { Command, Option } from "commander";
import type { Act, Context } from "../command.js";
import { connectionAsTyped } from "../connection/as-typed.js";
import { addConnectionOptions, connectionSettings } from "../connection/settings.js";
import { doctorLine } from "../doctor/doctor-line.js";
import { mistake } from "../failure.js";
import { Output } from "../output.js";
import { canDieWithParent } from "./command-process.js";
import { DescriptorStream } from "./descriptor-stream.js";
import { refuseOwnLock } from "./environment.js";
import { execPromises } from "./exec-help.js";
import { type ExecOptions, execForm, execSettings, lockKinds, waysWhenBusy } from "./exec-options.js";
import { Execution } from "./execution.js";
import { processClock } from "./process-clock.js";
import { ReportFile } from "./report.js";

/** `holdfast exec NAME [options] -- COMMAND [ARG…]`: runs a command while a lock is held. */
export function execCommand(act: Act): Command {
  let command: readonly string[] = [];
  const made = new Command("exec")
    .summary("run a command under a lock")
    .description("Holds a lock while it runs a command, and exits with the command's exit code.")
    .usage("NAME [options] -- COMMAND [ARG…]")
    .argument("<name>", "of the lock")
    .showHelpAfterError(`Form: ${execForm}`)
    .addHelpText("after", execPromises)
    .action(
      act((context: Context, options: ExecOptions, name = "") => exec(context, options, name, command)),
    );
  for (const option of lockOptions()) made.addOption(option.helpGroup("The lock:"));
  for (const option of commandOptions()) made.addOption(option.helpGroup("The command:"));
  for (const option of tellingOptions()) made.addOption(option.helpGroup("What is told:"));
  addConnectionOptions(made);
  const parse = made.parseOptions.bind(made);
  // Words behind `--` are never options of holdfast, even if they look like options.
  made.parseOptions = (args) => {
    const end = args.indexOf("--");
    const own = end < 0 ? args : args.slice(0, end);
    if (end < 0 && !own.includes("--help") && !own.includes("-h")) throw mistake(missingEnd(own));
    command = args.slice(own.length + 1);
    return parse(own);
  };
  return made;
}

function lockOptions(): readonly Option[] {
  return [
    new Option("--wait <duration>", "how long to wait for the lock (forever)"),
    new Option("-n", "do not wait: --wait 0s"),
    new Option(
      "--on-busy <what>",
      "if the lock is taken: wait; skip, and exit with 0; or throw, like -n (wait)",
    ).choices(waysWhenBusy),
    new Option("--kind <kind>", "which kind of lock; fenced sets HOLDFAST_LOCK_TOKEN (lock)").choices(
      lockKinds,
    ),
    new Option("--ttl <duration>", "the lease, renewed whenever a third of it has passed; at least 5s (30s)"),
    new Option("--lease <duration>", "a fixed lease instead, never renewed"),
    new Option("--max-hold <duration>", "stop the command before this time is over"),
    new Option("--at-least <duration>", "keep the lock for at least this time, however fast the command is"),
    new Option("--nested", "run even inside the same lock (HOLDFAST_HELD)"),
  ];
}

function commandOptions(): readonly Option[] {
  const noGroup = new Option("--no-group", "run the command in holdfast's group, even without a terminal");
  // `--no-group` is not the opposite of --group, the group of presence.
  noGroup.negate = false;
  return [
    new Option("--kill-after <duration>", "the time from SIGTERM to SIGKILL; at most a third of --ttl (10s)"),
    new Option("--shell", "run the one argument after -- by sh -c"),
    noGroup,
    new Option(
      "--scrub-env",
      "remove HOLDFAST_* and REDIS_URL from the command's environment, except those that exec sets",
    ),
    new Option("--die-with-parent", "send the command SIGKILL if holdfast dies (Linux; needs setpriv)"),
    new Option("-E, --conflict-exit-code <code>", "exit code if the lock was not acquired in time (75)"),
    new Option("--lost-exit-code <code>", "exit code if the lock was lost and the command stopped (76)"),
  ];
}

function tellingOptions(): readonly Option[] {
  return [
    new Option("--note <text>", "the note that others see with the lock (the file name of the command)"),
    new Option("--report <file>", "write the outcome to a file, as one line of JSON"),
    new Option(
      "--report-every <duration>",
      "how often to say who has the lock (10s on a terminal, otherwise never; 0s: never)",
    ),
    new Option("-q, --quiet", "print only errors"),
  ];
}

/** @param args a command line without `--` */
function missingEnd(args: readonly string[]): string {
  const [name = "NAME", ...rest] = args;
  const isPlain = !name.startsWith("-") && rest.length > 0 && !rest[0]?.startsWith("-");
  const form = isPlain ? `holdfast exec ${name} -- ${rest.join(" ")}` : execForm;
  return `-- is missing before the command: ${form}`;
}

async function exec(
  { env }: Context,
  options: ExecOptions,
  name: string,
  command: readonly string[],
): Promise<number> {
  const settings = execSettings(name, command, options, { stdin: isatty(0), stderr: isatty(2) });
  const connection = connectionSettings(options, env);
  if (!settings.isNested) refuseOwnLock(connection.prefix + name, env);
  if (settings.diesWithParent && !canDieWithParent())
    throw mistake("--die-with-parent needs Linux and the setpriv of util-linux");
  const file = new ReportFile(settings.reportFile);
  const stderr = new DescriptorStream(2);
  const output = new Output({ out: stderr, err: stderr, env }, options);
  for (const warning of connection.warnings) output.say(warning);
  // Node would print warnings to a stream that the command may block.
  process.removeAllListeners("warning").on("warning", ({ message }) => output.say(message));
  const surroundings = {
    env,
    output,
    clock: processClock,
    doctorLine: doctorLine(name, connectionAsTyped(options)),
  };
  const report = await new Execution(settings, connection, surroundings).run();
  try {
    file.write(report);
  } catch (error) {
    output.complain(
      `--report could not be written: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  await stderr.drained();
  return report.exitCode;
}
