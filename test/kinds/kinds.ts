import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import type { Chapter, Need } from "./behaviours/behaviour.js";
import { character } from "./behaviours/character.js";
import { exclusion } from "./behaviours/exclusion.js";
import { lifetime } from "./behaviours/lifetime.js";
import { ownership } from "./behaviours/ownership.js";

/** A kind of lock as users get it. */
export interface Kind {
  readonly name: string;
  of(client: Holdfast, name: string): Lock;
  /** What keeps it out. Default: itself. */
  obstacle?(client: Holdfast, name: string): Lock;
  /** One of the locks that it is made of. Default: itself. */
  member?(client: Holdfast, name: string): Lock;
  /** What it does not have, and why. */
  readonly lacks: Lacks;
  /** What the keys that it leaves behind on purpose begin with. */
  readonly leavesBehind?: string;
}

type Lacks = Partial<Readonly<Record<Need, string>>>;

const noReentry: Lacks = { "re-entry": "it refuses even its own holder: that is its purpose" };
const shared: Lacks = { exclusion: "readers share it, and exclude only writers" };
const told: Lacks = { polling: "its waiters are woken by messages" };
const noOrder: Lacks = { order: "chance decides between clients; only the fair kinds have an order" };
const noTokens: Lacks = { tokens: "only fenced locks have tokens" };
const single: Lacks = { "all of several": "it is a single lock", "a majority": "it is a single lock" };

export const kinds: readonly Kind[] = [
  {
    name: "lock",
    of: (client, name) => client.getLock(name),
    lacks: { ...told, ...noOrder, ...noTokens, ...single },
  },
  {
    name: "non-reentrant",
    of: (client, name) => client.getNonReentrantLock(name),
    lacks: { ...noReentry, ...told, ...noOrder, ...noTokens, ...single },
  },
  {
    name: "fair",
    of: (client, name) => client.getFairLock(name),
    lacks: { ...told, ...noTokens, ...single },
  },
  {
    name: "non-reentrant fair",
    of: (client, name) => client.getNonReentrantFairLock(name),
    lacks: { ...noReentry, ...told, ...noTokens, ...single },
  },
  {
    name: "spin",
    of: (client, name) => client.getSpinLock(name),
    lacks: { ...noOrder, ...noTokens, ...single },
  },
  {
    name: "fenced",
    of: (client, name) => client.getFencedLock(name),
    lacks: { ...told, ...noOrder, ...single },
    leavesBehind: "redisson_lock_token:",
  },
  {
    name: "read",
    of: (client, name) => client.getReadWriteLock(name).readLock(),
    obstacle: (client, name) => client.getReadWriteLock(name).writeLock(),
    lacks: { ...shared, ...told, ...noOrder, ...noTokens, ...single },
  },
  {
    name: "write",
    of: (client, name) => client.getReadWriteLock(name).writeLock(),
    obstacle: (client, name) => client.getReadWriteLock(name).readLock(),
    lacks: {
      "a turn": "new readers join the current readers; with `fair: true` they give way to a waiting writer",
      ...told,
      ...noOrder,
      ...noTokens,
      ...single,
    },
  },
  {
    name: "read, `fair: true`",
    of: (client, name) => client.getReadWriteLock(name, { fair: true }).readLock(),
    obstacle: (client, name) => client.getReadWriteLock(name, { fair: true }).writeLock(),
    lacks: { ...shared, ...told, ...noOrder, ...noTokens, ...single },
  },
  {
    name: "write, `fair: true`",
    of: (client, name) => client.getReadWriteLock(name, { fair: true }).writeLock(),
    obstacle: (client, name) => client.getReadWriteLock(name, { fair: true }).readLock(),
    lacks: { ...told, ...noOrder, ...noTokens, ...single },
  },
  {
    name: "multi",
    of: (client, name) => client.getMultiLock(client.getLock(`${name}:1`), client.getFairLock(`${name}:2`)),
    member: (client, name) => client.getFairLock(`${name}:2`),
    lacks: { ...told, ...noOrder, ...noTokens, "a majority": "it needs all of its locks" },
  },
  {
    name: "red",
    of: (client, name) => client.getRedLock(...[1, 2, 3].map((at) => client.getLock(`${name}:${at}`))),
    member: (client, name) => client.getLock(`${name}:2`),
    lacks: { ...told, ...noOrder, ...noTokens, "all of several": "a majority of its locks is enough" },
  },
];

export const chapters: readonly Chapter[] = [character, exclusion, ownership, lifetime];
