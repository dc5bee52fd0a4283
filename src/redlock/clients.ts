import { shown } from "../checks.js";
import type { Driver } from "../driver/driver.js";
import { type IoredisClient, type IoredisCluster, ioredisDriver } from "../driver/ioredis/index.js";
import { type NodeRedisCluster, type NodeRedisServer, nodeRedisDriver } from "../driver/node-redis/index.js";
import { Holdfast } from "../index.js";
import type { Held } from "./holds.js";

/** One server, or cluster, or its Sentinels: a client of ioredis or node-redis, a driver, or a Holdfast. */
export type RedlockClient =
  | IoredisClient
  | IoredisCluster
  | NodeRedisServer
  | NodeRedisCluster
  | Driver
  | Holdfast;

/** What ends a connection. */
interface Ending {
  quit?(): Promise<unknown>;
  close?(): Promise<unknown>;
}

/** A client, with the Holdfast that has its locks. */
export interface Member {
  readonly client: RedlockClient;
  readonly holdfast: Holdfast;
  /** As errors name the server; undefined of a Holdfast. */
  readonly server: string | undefined;
  /** What the Redlocks have acquired that begin with this client: by the value of the lock. */
  readonly held: Map<string, Held>;
  /** Closes what was opened here, and ends the connection of the program as redlock does. */
  quit(): Promise<void>;
}

/**
 * How long each of several servers is waited for: redlock waits for as long as its clients do, and a server that is away delays each
 * acquisition by so much.
 */
const MEMBER_TIMEOUT_MS = 200;

/** A program may make a Redlock for each call: those of one client share its Holdfast, and so its connection for messages. */
const members = new WeakMap<RedlockClient, Member>();

/** @throws TypeError for what is none of them */
export function memberOf(client: RedlockClient): Member {
  const known = members.get(client) ?? newMember(client);
  members.set(client, known);
  return known;
}

function newMember(client: RedlockClient): Member {
  const held = new Map<string, Held>();
  if (client instanceof Holdfast)
    return { client, holdfast: client, server: undefined, held, quit: () => client.close() };
  const driver = driverOf(client);
  // Redlock knows no calls that enter a lock once more: the second one waits for the first.
  const holdfast = new Holdfast(driver, { reentry: "explicit", redMemberTimeoutMs: MEMBER_TIMEOUT_MS });
  const connection = client === driver ? undefined : (client as unknown as Ending);
  return {
    client,
    holdfast,
    server: driver.traits.server,
    held,
    async quit() {
      members.delete(client);
      await holdfast.close();
      await (connection?.quit ?? connection?.close)?.call(connection);
    },
  };
}

function driverOf(client: Exclude<RedlockClient, Holdfast>): Driver {
  const like = client as unknown as { readonly [name: string]: unknown } | null | undefined;
  if (typeof like?.["run"] === "function" && typeof like["subscribe"] === "function" && "traits" in like)
    return client as Driver;
  if (typeof like?.["duplicate"] === "function" && "isOpen" in like)
    return nodeRedisDriver(client as NodeRedisServer);
  if (typeof like === "object") return ioredisDriver(client as IoredisClient);
  throw new TypeError(
    `a client of redlock must be one of ioredis or node-redis, a driver or a Holdfast, got ${shown(client)}`,
  );
}
