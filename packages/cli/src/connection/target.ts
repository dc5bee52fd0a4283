import { mistake } from "../failure.js";

export interface TargetAddress {
  readonly host: string;
  readonly port: number;
}

interface Login {
  readonly username?: string;
  readonly password?: string;
}

/** What a Redis URL addresses. */
export type Target = { readonly login: Login; readonly tls: boolean } & (
  | { readonly kind: "server"; readonly address: TargetAddress; readonly db: number }
  | { readonly kind: "socket"; readonly path: string; readonly db: number }
  | {
      readonly kind: "sentinel";
      readonly sentinels: readonly TargetAddress[];
      readonly master: string;
      readonly db: number;
    }
  | { readonly kind: "cluster"; readonly nodes: readonly TargetAddress[] }
);

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;
const FORMS = `redis://[user:password@]host[:port][/db], rediss://… for TLS, unix:///path?db=1,
redis+sentinel://host:26379,host/master[/db] and redis+cluster://host:7000,host (rediss+… for TLS)`;

/** The forms of a URL that {@link readTarget} accepts, as help prints them. */
export const urlForms = FORMS;

/**
 * Reads a URL by hand: URLs of Sentinels and clusters name several hosts, which Node's URL refuses.
 * @throws Failure, whose message contains no password
 */
export function readTarget(url: string): Target {
  const [, typed = "", rest] = /^([a-z][a-z+]*):\/\/(.*)$/i.exec(url) ?? [];
  if (rest === undefined) throw wrong("it is not a URL");
  const scheme = typed.toLowerCase();
  const at = rest.lastIndexOf("@");
  const login = readLogin(at < 0 ? "" : rest.slice(0, at));
  const [place = "", query = ""] = rest.slice(at + 1).split("?", 2);
  const tls = scheme.startsWith("rediss");
  switch (scheme) {
    case "redis":
    case "rediss":
      return server(place, query, { login, tls });
    case "unix":
      return socket(place, query, { login, tls: false });
    case "redis+sentinel":
    case "rediss+sentinel":
      return sentinel(place, query, { login, tls });
    case "redis+cluster":
    case "rediss+cluster":
      return cluster(place, query, { login, tls });
    default:
      throw wrong(`the scheme "${typed}://" is unknown"`);
  }
}

/** The target as text for people, without its login. */
export function tellTarget(target: Target): string {
  const list = (addresses: readonly TargetAddress[]) => addresses.map(tellAddress).join(",");
  switch (target.kind) {
    case "server":
      return tellAddress(target.address);
    case "socket":
      return target.path;
    case "sentinel":
      return `the master "${target.master}" of the Sentinels ${list(target.sentinels)}`;
    case "cluster":
      return `the cluster of ${list(target.nodes)}`;
    default:
      return target satisfies never;
  }
}

export function tellAddress({ host, port }: TargetAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

type TargetAccess = Pick<Target, "login" | "tls">;

function server(place: string, query: string, way: TargetAccess): Target {
  noQuery(query);
  const [hosts = "", db = "", ...more] = place.split("/");
  const [address, ...others] = readAddresses(hosts, REDIS_PORT);
  if (address === undefined) throw wrong("it names no host");
  if (others.length > 0) throw wrong("only redis+sentinel:// and redis+cluster:// take several hosts");
  if (more.length > 0) throw wrong("only the number of a database may follow the host");
  return { ...way, kind: "server", address, db: readDb(db) };
}

function socket(place: string, query: string, way: TargetAccess): Target {
  if (!place.startsWith("/")) throw wrong("the path of a socket must begin with /");
  const { db = "", ...more } = Object.fromEntries(new URLSearchParams(query));
  if (Object.keys(more).length > 0) throw wrong("only ?db= may follow the path");
  return { ...way, kind: "socket", path: unescaped(place), db: readDb(db) };
}

function sentinel(place: string, query: string, way: TargetAccess): Target {
  noQuery(query);
  const [hosts = "", master = "", db = "", ...more] = place.split("/");
  if (master === "") throw wrong("it names no master: redis+sentinel://host:26379/mymaster");
  if (more.length > 0) throw wrong("only the number of a database may follow the master");
  const sentinels = readAddresses(hosts, SENTINEL_PORT);
  if (sentinels.length === 0) throw wrong("it names no Sentinel");
  return { ...way, kind: "sentinel", sentinels, master: unescaped(master), db: readDb(db) };
}

function cluster(place: string, query: string, way: TargetAccess): Target {
  noQuery(query);
  const [hosts = "", ...more] = place.split("/");
  if (more.some((part) => part !== ""))
    throw wrong("a cluster has no databases: nothing may follow the hosts");
  const nodes = readAddresses(hosts, REDIS_PORT);
  if (nodes.length === 0) throw wrong("it names no host");
  return { ...way, kind: "cluster", nodes };
}

function readLogin(text: string): Login {
  if (text === "") return {};
  const colon = text.indexOf(":");
  const username = unescaped(colon < 0 ? text : text.slice(0, colon));
  const password = colon < 0 ? "" : unescaped(text.slice(colon + 1));
  return { ...(username === "" ? {} : { username }), ...(password === "" ? {} : { password }) };
}

function readAddresses(text: string, usualPort: number): readonly TargetAddress[] {
  return text
    .split(",")
    .filter((part) => part !== "")
    .map((part) => {
      const [, six, four = "", port = ""] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(part) ?? [];
      const host = six ?? four;
      if (host === "") throw wrong(`"${part}" is not a host`);
      const number = port === "" ? usualPort : Number(port);
      if (number < 1 || number > 65_535) throw wrong(`"${port}" is not a port`);
      return { host, port: number };
    });
}

function readDb(text: string): number {
  if (text === "") return 0;
  if (!/^\d{1,4}$/.test(text)) throw wrong(`"${text}" is not the number of a database`);
  return Number(text);
}

function noQuery(query: string): void {
  if (query !== "") throw wrong("this URL takes no ?");
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong("a % in it is not followed by two hexadecimal digits: write %25 for a %");
  }
}

function wrong(why: string): Error {
  return mistake(`the URL of Redis is wrong: ${why}\nForms: ${FORMS}`);
}
