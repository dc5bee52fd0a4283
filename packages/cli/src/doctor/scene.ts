import { randomUUID } from "node:crypto";
import type { Holdfast } from "holdfast";
import type { Cluster, Redis } from "ioredis";
import type { Connection } from "../connection/connect.js";
import type { ConnectionSettings } from "../connection/settings.js";
import { type Target, tellAddress, tellTarget } from "../connection/target.js";
import { within } from "../within.js";
import type { Finding } from "./check.js";

/** A server that accepts writes: the named server, the master of the Sentinels, or a master of a cluster. */
export interface WritableServer {
  readonly address: string;
  readonly redis: Redis;
}

/** The fields of a server's `INFO`, by name. */
export type InfoFacts = ReadonlyMap<string, string>;

/** The settings of the programs that use the locks. */
export interface Expectations {
  readonly watchdogMs: number;
  readonly commandTimeoutMs: number;
  /** The lock that the user asks about, if any. */
  readonly name: string | undefined;
}

/** The Redis user may not run a command. */
export class NotAllowed extends Error {
  /** @param right in the notation of ACLs: `config|get` */
  constructor(readonly right: string) {
    super(`no right to ${right.replace("|", " ").toUpperCase()}`);
  }
}

/** The server does not have the command: a proxy, or a managed service, hides it. */
export class NotKnown extends Error {
  constructor(command: string) {
    super(`the server does not know ${command}, as proxies and managed services do not`);
  }
}

/** How long a server may take to answer one command. */
const ANSWER_WITHIN_MS = 5_000;

/** The servers and the settings that the checks look at. */
export class Scene implements Expectations {
  readonly holdfast: Holdfast;
  readonly redis: Redis | Cluster;
  /** The servers that answer. */
  readonly servers: readonly WritableServer[];
  /** The addresses of the servers that do not answer. */
  readonly silent: readonly string[];
  readonly target: Target;
  readonly settings: ConnectionSettings;
  readonly watchdogMs: number;
  readonly commandTimeoutMs: number;
  readonly name: string | undefined;
  /** The prefix of the names of all locks that a check creates, and the prefix of their keys. */
  readonly trial: string;
  readonly trialKey: string;
  readonly #facts = new Map<WritableServer, Promise<InfoFacts>>();

  private constructor(
    { holdfast, redis }: Connection,
    settings: ConnectionSettings,
    expected: Expectations,
    { servers, silent }: Pick<Scene, "servers" | "silent">,
  ) {
    this.holdfast = holdfast;
    this.redis = redis;
    this.settings = settings;
    this.servers = servers;
    this.silent = silent;
    this.target = settings.target;
    this.watchdogMs = expected.watchdogMs;
    this.commandTimeoutMs = expected.commandTimeoutMs;
    this.name = expected.name;
    // With --name, the names begin with that name: the Redis user may have no rights to other names.
    this.trial = `${expected.name === undefined ? "" : `${expected.name}:`}holdfast-doctor:${randomUUID()}`;
    this.trialKey = settings.prefix + this.trial;
  }

  /** Sends a PING to each server, because a cluster may have lost some. */
  static async open(
    connection: Connection,
    settings: ConnectionSettings,
    expected: Expectations,
  ): Promise<Scene> {
    const all = serversOf(connection.redis, settings.target);
    const answers = await Promise.all(
      all.map((server) =>
        ask(server, "PING").then(
          () => true,
          (error) => error instanceof NotAllowed,
        ),
      ),
    );
    return new Scene(connection, settings, expected, {
      servers: all.filter((_, at) => answers[at]),
      silent: all.flatMap(({ address }, at) => (answers[at] ? [] : [address])),
    });
  }

  /** Whether the URL names a cluster. */
  get isCluster(): boolean {
    return this.target.kind === "cluster";
  }

  /** One of the servers, for questions that all of them answer in the same way. */
  get anyServer(): WritableServer {
    const [server] = this.servers;
    if (server === undefined) throw new Error("no server answers");
    return server;
  }

  /** Asks each server only once. */
  facts(server: WritableServer): Promise<InfoFacts> {
    const known = this.#facts.get(server) ?? ask(server, "INFO", "all").then(readInfo);
    this.#facts.set(server, known);
    return known;
  }
}

function serversOf(redis: Redis | Cluster, target: Target): readonly WritableServer[] {
  if (!("nodes" in redis)) return [{ address: tellTarget(target), redis }];
  return redis.nodes("master").map((node) => {
    const { host = "", port = 0 } = node.options;
    return { address: tellAddress({ host, port }), redis: node };
  });
}

/** @throws NotAllowed, NotKnown; the server's error; an error if the answer does not come in time */
export async function ask({ redis }: WritableServer, command: string, ...args: string[]): Promise<unknown> {
  try {
    return await within(ANSWER_WITHIN_MS, redis.call(command, ...args));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (message.startsWith("NOPERM")) throw new NotAllowed(rightOf(command, args));
    if (/^ERR unknown (?:sub)?command/i.test(message)) throw new NotKnown(command);
    throw error;
  }
}

/** A setting of a server; undefined if it has no setting of this name. @throws NotAllowed, NotKnown */
export async function setting(server: WritableServer, name: string): Promise<string | undefined> {
  const reply = await ask(server, "CONFIG", "GET", name);
  return Array.isArray(reply) ? String(reply[1] ?? "") || undefined : undefined;
}

const CONTAINERS = new Set(["CONFIG", "CLUSTER", "SLOWLOG", "ACL", "CLIENT", "PUBSUB", "SENTINEL"]);

function rightOf(command: string, [first = ""]: readonly string[]): string {
  return (CONTAINERS.has(command) ? `${command}|${first}` : command).toLowerCase();
}

function readInfo(reply: unknown): ReadonlyMap<string, string> {
  const lines = String(reply).split("\r\n");
  return new Map(
    lines.flatMap((line) => {
      const colon = line.indexOf(":");
      return colon < 1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const];
    }),
  );
}

/** If more than this many healthy servers differ in their reports, only one report is shown, as an example. */
const MOST_WELL = 3;

/** Judges each server, and combines equal findings of several servers. */
export async function ofEach(
  { servers }: Pick<Scene, "servers">,
  judge: (server: WritableServer) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const judged = await Promise.all(
    servers.map(async (server) => ({ server, findings: await judge(server) })),
  );
  const byText = new Map<string, { readonly finding: Finding; readonly at: string[] }>();
  for (const { server, findings } of judged) {
    for (const finding of findings) {
      const text = JSON.stringify(finding);
      const group = byText.get(text) ?? { finding, at: [] };
      group.at.push(server.address);
      byText.set(text, group);
    }
  }
  const groups = [...byText.values()];
  if (servers.length === 1) return groups.map(({ finding }) => finding);
  const well = groups.filter(({ finding }) => finding.level === "ok");
  const isMuch = well.length > MOST_WELL;
  return groups
    .filter((group) => !isMuch || group.finding.level !== "ok" || group === well[0])
    .map(({ finding, at }) => {
      const isExample = isMuch && finding.level === "ok";
      const where = at.length === servers.length ? `${at.length} masters` : at.join(", ");
      const example = `${well.flatMap((group) => group.at).length} masters, such as ${at[0]}`;
      return { ...finding, found: `${isExample ? example : where}: ${finding.found}` };
    });
}
