import { ask } from "./ask.js";
import type { RedisServer } from "./redis-server.js";

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

/** All of them but those of replicas, of masters, and of nodes of the same cluster. */
export async function connectionsOf(server: RedisServer): Promise<readonly ListedConnection[]> {
  const list = String(await ask(server, "CLIENT", "LIST"));
  const lines = list.trimEnd().split("\n").map(fieldsOf);
  return lines.filter((fields) => !/[SM]/.test(fields.get("flags") ?? "")).map(listed);
}

/** Names and values: "id=3 addr=127.0.0.1:52555 laddr=127.0.0.1:6379 …". */
function fieldsOf(line: string): ReadonlyMap<string, string> {
  return new Map(
    line.split(" ").map((field) => {
      const at = field.indexOf("=");
      return [field.slice(0, at), field.slice(at + 1)];
    }),
  );
}

function listed(fields: ReadonlyMap<string, string>): ListedConnection {
  const number = (name: string) => Number(fields.get(name) ?? 0);
  const resp = fields.get("resp");
  return {
    id: number("id"),
    user: fields.get("user") ?? "",
    db: number("db"),
    resp: resp === undefined ? undefined : Number(resp),
    reached: fields.get("laddr") ?? "",
    listens: number("sub") + number("ssub") > 0,
    command: fields.get("cmd") ?? "",
  };
}
