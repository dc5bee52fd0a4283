import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import type { Chapter, Need } from "./behaviours/behaviour.js";
import { exclusion } from "./behaviours/exclusion.js";
import { lifetime } from "./behaviours/lifetime.js";
import { ownership } from "./behaviours/ownership.js";

/** A kind of lock as users get it. */
export interface Kind {
  readonly name: string;
  of(client: Holdfast, name: string): Lock;
  /** What keeps it out. Default: itself. */
  obstacle?(client: Holdfast, name: string): Lock;
  /** What it does not have, and why. */
  readonly lacks: Partial<Readonly<Record<Need, string>>>;
  /** What the keys that it leaves behind on purpose begin with. */
  readonly leavesBehind?: string;
}

const noReentry = { "re-entry": "refuses its own holder, by its nature" };

export const kinds: readonly Kind[] = [
  { name: "lock", of: (client, name) => client.getLock(name), lacks: {} },
  { name: "non-reentrant", of: (client, name) => client.getNonReentrantLock(name), lacks: noReentry },
  { name: "fair", of: (client, name) => client.getFairLock(name), lacks: {} },
  {
    name: "non-reentrant fair",
    of: (client, name) => client.getNonReentrantFairLock(name),
    lacks: noReentry,
  },
  { name: "spin", of: (client, name) => client.getSpinLock(name), lacks: {} },
  {
    name: "fenced",
    of: (client, name) => client.getFencedLock(name),
    lacks: {},
    leavesBehind: "redisson_lock_token:",
  },
  {
    name: "read",
    of: (client, name) => client.getReadWriteLock(name).readLock(),
    obstacle: (client, name) => client.getReadWriteLock(name).writeLock(),
    lacks: { exclusion: "readers share it; writers are excluded" },
  },
  { name: "write", of: (client, name) => client.getReadWriteLock(name).writeLock(), lacks: {} },
  {
    name: "multi",
    of: (client, name) => client.getMultiLock(client.getLock(`${name}:1`), client.getFairLock(`${name}:2`)),
    lacks: {},
  },
  {
    name: "red",
    of: (client, name) => client.getRedLock(...[1, 2, 3].map((at) => client.getLock(`${name}:${at}`))),
    lacks: {},
  },
];

export const chapters: readonly Chapter[] = [exclusion, ownership, lifetime];
