import { type Command, Option } from "commander";
import { type Act, type CommonOptions, type Context, command } from "../command.js";
import { type Connection, withConnection } from "../connection/connect.js";
import type { ConnectionSettings } from "../connection/settings.js";
import { readDuration } from "../duration.js";
import { exitCodes } from "../exit-codes.js";
import { mistake } from "../failure.js";
import { hexOption, typedName } from "../hex-names.js";
import { allChecks } from "./checks/all-checks.js";
import { aclLine, UNKNOWN_TO_6 } from "./rights.js";
import { type Result, runChecks } from "./run-checks.js";
import { Scene } from "./scene.js";
import { jsonOf, tellResult, tellVerdict, verdictOf } from "./tell-checks.js";

interface DoctorOptions extends CommonOptions {
  readonly strict?: boolean;
  readonly acl?: string;
  readonly name?: string;
  readonly hex?: boolean;
  readonly watchdog: string;
  readonly commandTimeout: string;
}

/** `holdfast doctor`: whether a server is fit for locks. */
export function doctorCommand(act: Act): Command {
  const summary = "check whether the server, its settings and the rights suit locks";
  return command("doctor", summary, doctorOptions()).action(act(doctor));
}

function doctorOptions(): readonly Option[] {
  return [
    new Option(
      "--name <lock>",
      "also look at the lock of this name; the checks then write keys that begin with it",
    ),
    hexOption(),
    new Option("--strict", "exit with 1 for warnings too"),
    new Option("--acl <pattern>", "only print the ACL line for names that fit a pattern, such as 'order:*'"),
    new Option("--watchdog <duration>", "the watchdogMs of your programs").default("30s"),
    new Option("--command-timeout <duration>", "their commandTimeoutMs").default("3s"),
  ].map((option) => option.helpGroup("What is checked:"));
}

async function doctor(context: Context, options: DoctorOptions): Promise<number> {
  const { output } = context;
  if (options.acl !== undefined) return printAcl(context, options.acl);
  const expected = {
    watchdogMs: readDuration("--watchdog", options.watchdog, { atLeastMs: 100 }),
    commandTimeoutMs: readDuration("--command-timeout", options.commandTimeout, { atLeastMs: 1 }),
    name: options.name === undefined ? undefined : typedName(options.name, options),
  };
  if (options.name === "") throw mistake("--name must not be empty");
  const work = async (connection: Connection, settings: ConnectionSettings) => {
    const scene = await Scene.open(connection, settings, expected);
    const results: Result[] = [];
    for await (const result of runChecks(allChecks, scene)) {
      results.push(result);
      if (!output.isJson) tellResult(output, result);
    }
    if (output.isJson) output.json(jsonOf(connection.place, results));
    else tellVerdict(output, results);
    const { failed, warned } = verdictOf(results);
    return failed > 0 || (options.strict === true && warned > 0) ? exitCodes.no : exitCodes.ok;
  };
  return withConnection(context, options, work, { takesFailedCluster: true });
}

/** Sends nothing: the ACL line can be written before the server exists. */
function printAcl({ output }: Context, pattern: string): number {
  if (pattern === "" || /\s/.test(pattern))
    throw mistake(`--acl must be a pattern of keys without spaces, such as order:*, got "${pattern}"`);
  const lines = aclLine(pattern);
  if (output.isJson) output.json({ acl: lines.map((line) => line.trim()).join(" ") });
  else for (const line of lines) output.line(line);
  output.say(`Redis 6.2 refuses it: leave out ${UNKNOWN_TO_6.map((name) => `+${name}`).join(" ")} there`);
  return exitCodes.ok;
}
