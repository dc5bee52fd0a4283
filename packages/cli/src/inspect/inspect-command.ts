import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Command, Option } from "commander";
import { type Act, type CommonOptions, type Context, command } from "../command.js";
import { connectInTime, hangUp } from "../connection/connect.js";
import { connectionSettings } from "../connection/settings.js";
import { exitCodes } from "../exit-codes.js";
import { mistake } from "../failure.js";
import { untilInterrupted } from "../interruption.js";
import type { Output } from "../output.js";
import { AllowedHosts, inUrl, isAnywhere, isLoopback } from "./hosts.js";
import { openPage } from "./open-page.js";
import { makePageServer } from "./page-server.js";
import { newToken, readToken } from "./token.js";

interface InspectOptions extends CommonOptions {
  readonly port?: string;
  readonly host?: string;
  readonly allowHost?: readonly string[];
  readonly allowUnlock?: boolean;
  readonly tokenFile?: string;
  readonly open?: boolean;
}

const HOST = "127.0.0.1";
const LAST_PORT = 65_535;

/** `holdfast inspect`: serves a page of the locks to browsers, until Ctrl-C. */
export function inspectCommand(act: Act): Command {
  const made = command("inspect", "serve a page that shows the locks, on this machine, until Ctrl-C");
  for (const option of [
    new Option("--port <number>", "the port of the page (any free port)"),
    new Option("--host <host>", `the address it listens on (${HOST}); other machines need --token-file`),
    new Option(
      "--allow-host <name...>",
      "further host names that browsers may use (localhost, 127.0.0.1, [::1])",
    ),
    new Option("--allow-unlock", "let the page free locks; otherwise it only shows them"),
    new Option("--token-file <file>", "the file with the token that opens the page (a new one each time)"),
    new Option("--open", "open the page in a browser (BROWSER)"),
  ])
    made.addOption(option.helpGroup("Page:"));
  return made.action(act(inspect));
}

async function inspect({ env, output }: Context, options: InspectOptions): Promise<number> {
  const { host = HOST, tokenFile, allowUnlock: mayFree = false, allowHost = [], open = false } = options;
  const port = readPort(options.port);
  if (!isLoopback(host) && tokenFile === undefined) {
    throw mistake(
      `--host ${host} can be reached from other machines: set the token that opens the page with --token-file`,
    );
  }
  const token = tokenFile === undefined ? newToken() : readToken(tokenFile);
  const hosts = new AllowedHosts(host, allowHost);
  const settings = connectionSettings(options, env);
  for (const warning of [...settings.warnings, ...(token.warning === undefined ? [] : [token.warning])])
    output.say(warning);
  const connection = connectInTime(settings);
  const page = makePageServer(connection.holdfast, {
    hosts,
    token,
    mayFree,
    group: settings.group,
    log: (line) => output.record(line),
  });
  let forget: () => void = () => undefined;
  try {
    await listen(page.server, host, port);
    const [shown = isAnywhere(host) ? "localhost" : host] = allowHost;
    const address = `http://${inUrl(shown)}:${(page.server.address() as AddressInfo).port}/`;
    const url = `${address}#token=${encodeURIComponent(token.text)}`;
    // The content of a secret file must not appear in the log of a service.
    tellUrl(output, tokenFile === undefined ? url : `${address}#token=`);
    tellRest(output, { place: connection.place, mayFree, tokenFile });
    if (open) forget = openPage(url, env, (why) => output.complain(`no browser could be opened: ${why}`));
    await untilInterrupted(interrupted);
    return exitCodes.ok;
  } finally {
    forget();
    page.close();
    await hangUp(connection);
  }
}

function tellUrl(output: Output, url: string): void {
  if (output.isJson) output.json({ url });
  else output.line(url);
}

function tellRest(
  output: Output,
  { place, mayFree, tokenFile }: { place: string; mayFree: boolean; tokenFile: string | undefined },
): void {
  output.say(`a page of the locks of ${place}, until Ctrl-C`);
  if (tokenFile !== undefined) output.say(`after #token= append the content of ${tokenFile}`);
  output.say(
    mayFree
      ? "the page may free locks; each freed lock is reported here"
      : "the page only shows locks; with --allow-unlock it can also free them",
  );
}

function readPort(text = "0"): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= LAST_PORT)) throw mistake(`--port must be a number from 0 to ${LAST_PORT}, got "${text}"`);
  return port;
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw mistake(`the page can not listen at ${inUrl(host)}:${port}: ${why}`);
  }
}

function interrupted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
