import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { readDuration } from "../duration.js";
import { mistake } from "../failure.js";
import { readTarget, type Target, urlForms } from "./target.js";

/** How to reach Redis, read from the command line and the environment. */
export interface ConnectionSettings {
  readonly target: Target;
  readonly tls: TlsFiles;
  /** The prefix of each lock's name; "" for none. */
  readonly prefix: string;
  /** The group of presence. */
  readonly group: string;
  readonly connectTimeoutMs: number;
  /** Whether the command also works on a failed cluster, where slots are not served and masters may not answer. Default: false. */
  readonly takesFailedCluster?: boolean;
  /** Warnings to print before anything else happens. */
  readonly warnings: readonly string[];
}

export interface TlsFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
  readonly isUnverified: boolean;
}

/** The options as commander reads them. Each option has an environment variable. The command line has priority over the variable. */
export interface ConnectionOptions {
  readonly url?: string;
  readonly user?: string;
  readonly passwordFile?: string;
  readonly tlsCa?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsServerName?: string;
  readonly tlsNoVerify?: boolean;
  readonly prefix?: string;
  readonly group?: string;
  readonly connectTimeout?: string;
}

const GROUP = "Connection:";

export function addConnectionOptions(command: Command): Command {
  const options = [
    new Option(
      "--url <url>",
      "the address of Redis (HOLDFAST_URL, REDIS_URL; redis://127.0.0.1:6379); see holdfast help urls",
    ),
    new Option("--user <name>", "the user of Redis' ACL (HOLDFAST_USER)"),
    new Option(
      "--password-file <file>",
      "a file whose first line is the password (or the variable HOLDFAST_PASSWORD)",
    ),
    new Option("--tls-ca <file>", "CA certificates, PEM (HOLDFAST_TLS_CA; default: the system's)"),
    new Option("--tls-cert <file>", "certificate of this client, PEM (HOLDFAST_TLS_CERT)"),
    new Option("--tls-key <file>", "its key, PEM (HOLDFAST_TLS_KEY)"),
    new Option(
      "--tls-server-name <name>",
      "the name that the server's certificate must have (HOLDFAST_TLS_SERVER_NAME)",
    ),
    new Option("--tls-no-verify", "accept any certificate (HOLDFAST_TLS_NO_VERIFY=1); warns each time"),
    new Option(
      "--prefix <text>",
      "the prefix that the program's nameMapper puts before each lock name (HOLDFAST_PREFIX)",
    ),
    new Option("--group <name>", "the presence group of the clients (HOLDFAST_GROUP; default)"),
    new Option("--connect-timeout <duration>", "how long to try to connect (HOLDFAST_CONNECT_TIMEOUT; 5s)"),
  ];
  for (const option of options) command.addOption(option.helpGroup(GROUP));
  return command;
}

/** Timers of Node that are set for 25 days or more fire at once. */
const LONGEST_CONNECT_MS = 24 * 3_600_000;
const DEFAULT_URL = "redis://127.0.0.1:6379";

/** @throws Failure for invalid settings, before anything is sent */
export function connectionSettings(options: ConnectionOptions, env: NodeJS.ProcessEnv): ConnectionSettings {
  const url = options.url ?? (env["HOLDFAST_URL"] || env["REDIS_URL"] || DEFAULT_URL);
  const target = readTarget(url);
  const username = options.user ?? (env["HOLDFAST_USER"] || target.login.username);
  const password =
    options.passwordFile === undefined
      ? env["HOLDFAST_PASSWORD"] || target.login.password
      : (readFile("--password-file", options.passwordFile).split(/\r?\n/, 1)[0] ?? "");
  const isUnverified = options.tlsNoVerify === true || env["HOLDFAST_TLS_NO_VERIFY"] === "1";
  const login = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
  };
  const warnings = [];
  if (options.url !== undefined && target.login.password !== undefined) {
    warnings.push(
      "--url contains a password, and `ps` shows it to every user: use --password-file or HOLDFAST_PASSWORD",
    );
  }
  if (isUnverified && target.tls)
    warnings.push(
      "the server's certificate is not verified: any machine in between can read and change everything",
    );
  return {
    target: { ...target, login },
    tls: tlsFiles(options, env, isUnverified),
    prefix: options.prefix ?? env["HOLDFAST_PREFIX"] ?? "",
    group: checked(options.group ?? (env["HOLDFAST_GROUP"] || "default")),
    connectTimeoutMs: readDuration(
      "--connect-timeout",
      options.connectTimeout ?? (env["HOLDFAST_CONNECT_TIMEOUT"] || "5s"),
      { atLeastMs: 1, atMostMs: LONGEST_CONNECT_MS },
    ),
    warnings,
  };
}

function checked(group: string): string {
  if (/^[\w.-]{1,64}$/.test(group)) return group;
  throw mistake(`--group must be 1 to 64 letters, digits, "_", "." or "-", got ${JSON.stringify(group)}`);
}

function tlsFiles(options: ConnectionOptions, env: NodeJS.ProcessEnv, isUnverified: boolean): TlsFiles {
  const read = (option: string, file: string | undefined) => (file ? readFile(option, file) : undefined);
  const ca = read("--tls-ca", options.tlsCa ?? env["HOLDFAST_TLS_CA"]);
  const cert = read("--tls-cert", options.tlsCert ?? env["HOLDFAST_TLS_CERT"]);
  const key = read("--tls-key", options.tlsKey ?? env["HOLDFAST_TLS_KEY"]);
  const serverName = options.tlsServerName ?? env["HOLDFAST_TLS_SERVER_NAME"];
  if ((cert === undefined) !== (key === undefined)) throw mistake("--tls-cert and --tls-key need each other");
  return {
    isUnverified,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName ? { serverName } : {}),
  };
}

function readFile(option: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw mistake(`${option}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export const urlsHelp = `Where Redis is (--url, HOLDFAST_URL, REDIS_URL)

${urlForms}

In a user name, a password or a path write %25 for %, %40 for @, %2F for /.
Every user who can run ps sees a password in --url: use --password-file or HOLDFAST_PASSWORD.
`;
