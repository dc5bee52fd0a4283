import { NEXT_ENDING, waitingKey } from "../../../src/protocol/names.js";
import type { SimServer } from "../world/sim-server.js";
import { clientOf } from "./fields.js";

/** The member that says that the latest release has given the lock away. */
const GIVEN = "given";

/** A lock and its queue, as its server has them. */
export interface Found {
  readonly holders: readonly string[];
  /** The clients that wait, and their places, the first first. */
  readonly places: ReadonlyMap<string, number>;
  /** Whether the latest release has given the lock away. */
  readonly wasGiven: boolean;
}

/** What a command has done, and the clients that waited before it, but for that of its sender. */
export interface Change {
  readonly before: Found;
  readonly after: Found;
  readonly others: readonly string[];
}

/** Looks at a lock with a queue, and changes nothing. */
export function lookAt(server: SimServer, name: string): Found {
  const [holders, members] = [
    server.command("HKEYS", name),
    server.command("ZRANGE", waitingKey(name), 0, -1, "WITHSCORES"),
  ] as [readonly unknown[], readonly unknown[]];
  const places = new Map<string, number>();
  let wasGiven = false;
  for (let at = 0; at < members.length; at += 2) {
    if (String(members[at]) === GIVEN) wasGiven = true;
    else if (Number(members[at + 1]) > 0) places.set(String(members[at]), Number(members[at + 1]));
  }
  return { holders: holders.map(String), places, wasGiven };
}

/** Whether a lock is given to a client that has not taken it yet. */
export function isGivenTo(client: string, { holders }: Found): boolean {
  return holders.some((field) => field.endsWith(NEXT_ENDING) && clientOf(field) === client);
}
