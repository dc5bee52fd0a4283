import type { ForceRace } from "./force-races.js";

interface RacedKind extends Pick<ForceRace, "lockOf" | "handsOver"> {
  readonly kind: string;
}

/** All that is stored as a lock of one server. */
export const forceRaces: readonly RacedKind[] = [
  { kind: "lock", lockOf: (client) => client.getLock("a"), handsOver: true },
  { kind: "non-reentrant lock", lockOf: (client) => client.getNonReentrantLock("a"), handsOver: true },
  { kind: "fair lock", lockOf: (client) => client.getFairLock("a"), handsOver: false },
  { kind: "spin lock", lockOf: (client) => client.getSpinLock("a"), handsOver: false },
  { kind: "fenced lock", lockOf: (client) => client.getFencedLock("a"), handsOver: false },
  {
    kind: "read-write lock",
    lockOf(client, random) {
      const pair = client.getReadWriteLock("a");
      return random.below(3) === 0 ? pair.writeLock() : pair.readLock();
    },
    handsOver: false,
  },
];
