import {
  lockChannel,
  MODE_FIELD,
  rwChannel,
  WRITE_ENDING,
  waitingKey,
  writersQueueKey,
} from "../../../src/protocol/names.js";
import type { ScriptCall } from "../../../src/protocol/script-call.js";
import type { SimServer } from "../world/sim-server.js";
import { clientOf, isOfGiven } from "./fields.js";

/** The member that says that the latest release has given the lock away. */
const GIVEN = "given";
/** As in waiting.lua: the score of a client that polls and claims the lock, and from which downwards the scores of those that poll are. */
const CLAIMS = -3;
const POLLS = 10;

/** How clients wait in a queue for a kind of lock. */
export interface QueuedKind {
  /** The key of the queue of a lock. */
  queueOf(name: string): string;
  /** The channel that all hear. */
  channelOf(name: string): string;
  /** The scripts that take the lock and free it. */
  readonly acquire: string;
  readonly release: string;
  /** Whether a client asks for it that waits. */
  isQueued(call: ScriptCall): boolean;
  /** Whether a field of the lock stands for one whose release looks into the queue. */
  mayLook(field: string): boolean;
}

export const plainKind: QueuedKind = {
  queueOf: waitingKey,
  channelOf: lockChannel,
  acquire: "lock-acquire",
  release: "lock-release",
  isQueued: ({ script, args }) => script.name === "lock-acquire" && args[2] === "queued",
  mayLook: () => true,
};

/** The write lock of a pair: readers stand in no queue. */
export const writeKind: QueuedKind = {
  queueOf: writersQueueKey,
  channelOf: rwChannel,
  acquire: "write-acquire",
  release: "write-release",
  isQueued: ({ script, keys }) => script.name === "write-acquire" && keys.length === 3,
  mayLook: (field) => field.endsWith(WRITE_ENDING),
};

/** A lock and its queue, as its server has them. */
export interface Found {
  readonly holders: readonly string[];
  /** The clients that wait, and their places, the first first. */
  readonly places: ReadonlyMap<string, number>;
  /** The clients that poll, and their places among those that wait. */
  readonly polls: ReadonlyMap<string, number>;
  /** The clients that poll, and have waited for longer than all others that wait. */
  readonly claimants: readonly string[];
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
export function lookAt(server: SimServer, name: string, { queueOf }: QueuedKind): Found {
  const [holders, members] = [
    server.command("HKEYS", name),
    server.command("ZRANGE", queueOf(name), 0, -1, "WITHSCORES"),
  ] as [readonly unknown[], readonly unknown[]];
  const [places, polls, claimants] = [new Map<string, number>(), new Map<string, number>(), [] as string[]];
  let wasGiven = false;
  for (let at = 0; at < members.length; at += 2) {
    const [member, score] = [String(members[at]), Number(members[at + 1])];
    if (member === GIVEN) wasGiven = true;
    else if (score > 0) places.set(member, score);
    else if (score < -POLLS) polls.set(member, -score - POLLS);
    else if (score === CLAIMS) claimants.push(member);
  }
  const fields = holders.map(String).filter((field) => field !== MODE_FIELD);
  return { holders: fields, places, polls, claimants, wasGiven };
}

/** The client that claims a lock which a command of `own` has given to it; undefined: it was given to none. */
export function claimantGiven({ before, after }: Change, own: string | undefined): string | undefined {
  return before.claimants.find(
    (client) => client !== own && isGivenTo(client, after) && !isGivenTo(client, before),
  );
}

/** Whether a lock is given to a client that has not taken it yet. */
export function isGivenTo(client: string, { holders }: Found): boolean {
  return holders.some((field) => isOfGiven(field) && clientOf(field) === client);
}
