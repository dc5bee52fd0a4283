import { since } from "../support/jvm/interop.js";
import type { RedissonLockName } from "../support/jvm/redisson.js";

/** A kind of lock that both sides have. */
export interface InteropKind {
  readonly name: string;
  /** The lock of this kind and name. */
  of(name: string): RedissonLockName;
  /** What one takes who is to be kept out. Default: the same. */
  rival?(name: string): RedissonLockName;
  /** The first release of Redisson that has it. Default: all that are tested. */
  readonly since?: string;
  readonly reentrant: boolean;
  /** Redisson answers questions about it. */
  readonly questions: boolean;
  /** Who waits is told by a message. */
  readonly tells: boolean;
  /** A JVM that releases what it does not hold any more hears nothing of that. */
  readonly silent?: boolean;
  /** A JVM that waits behind a holder who is kept alive wakes by message only. */
  readonly sleeps?: boolean;
}

const single = (kind: RedissonLockName["kind"]) => (name: string) => ({ kind, name });
const plain = { reentrant: true, questions: true, tells: true };

/** Before 3.44, who releases a read or write lock that is gone is told nothing. */
const readWrite = { ...plain, silent: !since("3.44.0") };

const all: readonly InteropKind[] = [
  { ...plain, name: "lock", of: single("lock") },
  { ...plain, name: "non-reentrant", of: single("non-reentrant"), reentrant: false, since: "4.4.0" },
  { ...plain, name: "fair", of: single("fair"), silent: true, sleeps: !since("3.32.0") },
  {
    ...plain,
    name: "non-reentrant fair",
    of: single("non-reentrant fair"),
    reentrant: false,
    since: "4.4.0",
    silent: true,
  },
  { ...plain, name: "spin", of: single("spin"), tells: false },
  { ...plain, name: "fenced", of: single("fenced") },
  { ...readWrite, name: "read", of: single("read"), rival: single("write") },
  { ...readWrite, name: "write", of: single("write") },
  { ...readWrite, name: "write, kept from readers", of: single("write"), rival: single("read") },
  {
    ...plain,
    name: "multi",
    of: (name) => ({
      kind: "multi",
      name,
      members: [single("lock")(`${name}:1`), single("fair")(`${name}:2`)],
    }),
    questions: false,
  },
  {
    ...plain,
    name: "red",
    of: (name) => ({ kind: "red", name, members: [1, 2, 3].map((at) => single("lock")(`${name}:${at}`)) }),
    questions: false,
  },
];

/** Those that the release under test has. */
export const interopKinds: readonly InteropKind[] = all.filter(({ since: first }) => since(first ?? "0"));
