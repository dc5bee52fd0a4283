import type { LockChange } from "../watch/index.js";
import type { LockDetail } from "./format.js";
import { tellHolders } from "./told.js";

type ToldChange = LockDetail["changes"][number];

const MOST_LOCKS = 1_000;
const MOST_CHANGES = 10;

interface Kept {
  readonly name: string;
  /** The newest first. */
  readonly changes: readonly ToldChange[];
}

/** The latest changes of the most recently changed locks. */
export class KeptChanges {
  readonly #locks = new Map<string, Kept>();

  of(key: string): readonly ToldChange[] {
    return this.#locks.get(key)?.changes ?? [];
  }

  /** The name of a lock that was listed before. */
  nameOf(key: string): string | undefined {
    return this.#locks.get(key)?.name;
  }

  add(change: LockChange, atMs: number): void {
    this.tell(change.key, change.name, { atMs, type: change.type, text: textOf(change) });
  }

  tell(key: string, name: string, told: ToldChange): void {
    const changes = [told, ...this.of(key)].slice(0, MOST_CHANGES);
    this.#locks.delete(key);
    this.#locks.set(key, { name, changes });
    const [oldest] = this.#locks.keys();
    if (this.#locks.size > MOST_LOCKS && oldest !== undefined) this.#locks.delete(oldest);
  }
}

function textOf({ type, holders, before, waiting, reason, client }: LockChange): string {
  switch (type) {
    case "taken":
      return `taken by ${tellHolders(holders)}`;
    case "freed":
      return `freed by ${tellHolders(before)}`;
    case "handed-over":
      return `passed from ${tellHolders(before)} to ${tellHolders(holders)}`;
    case "queue":
      return waiting === 1 ? "1 call waits" : `${waiting} calls wait`;
    case "lost":
      return `lost by ${client}: ${reason}`;
    case "stale":
      return `stale: ${tellHolders(holders)} is gone`;
    default:
      return type satisfies never;
  }
}
