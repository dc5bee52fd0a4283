import { ask } from "../servers/ask.js";
import type { RedisServer } from "../servers/redis-server.js";
import type { ConnectionSettings, Place } from "./configured-clients.js";

/** A connection, as its server tells of it. */
export interface ListedConnection {
  readonly id: number;
  readonly user: string;
  readonly db: number;
  /** Undefined before Redis 7, which does not tell. */
  readonly resp: number | undefined;
  /** Where the server was reached: "127.0.0.1:6379", "[::1]:6379", or that of a unix socket, "/run/redis.sock:0". */
  readonly reached: string;
  /** Whether it is subscribed to a channel. */
  readonly listens: boolean;
  /** The latest command, with its subcommand. */
  readonly command: string;
}

/**
 * Notes the connections that there are.
 * @returns what tells of those that were made since
 */
export async function noteConnections(
  servers: readonly RedisServer[],
): Promise<() => Promise<readonly ListedConnection[]>> {
  const known = await Promise.all(
    servers.map(async (server) => ({
      server,
      ids: new Set((await connectionsOf(server)).map(({ id }) => id)),
    })),
  );
  return async () => {
    const lists = known.map(async ({ server, ids }) =>
      (await connectionsOf(server)).filter(({ id }) => !ids.has(id)),
    );
    return (await Promise.all(lists)).flat();
  };
}

/** All of them but those of replicas, of masters, of Sentinels, and the one that asks. */
async function connectionsOf(server: RedisServer): Promise<readonly ListedConnection[]> {
  const own = await ask(server, "CLIENT", "ID");
  const list = String(await ask(server, "CLIENT", "LIST"));
  const lines = list.trimEnd().split("\n").map(fieldsOf);
  const others = ({ get }: Fields) => /[SM]/.test(get("flags")) || get("name").startsWith("sentinel-");
  return lines
    .filter((fields) => !others(fields))
    .map(listed)
    .filter(({ id }) => id !== own);
}

/** What a server says of a connection that was made in this way. */
export function traitsOf(
  { host = "", port, path }: Place,
  { username = "default", db = 0 }: ConnectionSettings,
): Pick<ListedConnection, "user" | "db" | "reached"> {
  const address = path ?? (host.includes(":") ? `[${host}]` : host);
  return { user: username, db, reached: `${address}:${path === undefined ? port : 0}` };
}

interface Fields {
  get(name: string): string;
}

/** Names and values: "id=3 addr=127.0.0.1:52555 laddr=127.0.0.1:6379 …". */
function fieldsOf(line: string): Fields {
  const fields = new Map(
    line.split(" ").map((field) => {
      const at = field.indexOf("=");
      return [field.slice(0, at), field.slice(at + 1)];
    }),
  );
  return { get: (name) => fields.get(name) ?? "" };
}

function listed({ get }: Fields): ListedConnection {
  const number = (name: string) => Number(get(name));
  const resp = get("resp");
  return {
    id: number("id"),
    user: get("user"),
    db: number("db"),
    resp: resp === "" ? undefined : Number(resp),
    reached: get("laddr"),
    listens: number("sub") + number("ssub") > 0,
    command: get("cmd"),
  };
}
