import type { ListedLock } from "../../../src/index.js";

/** All that a search lists. */
export async function listed(search: AsyncIterable<ListedLock>): Promise<ListedLock[]> {
  const locks: ListedLock[] = [];
  for await (const lock of search) locks.push(lock);
  return locks;
}

/** A holder of a JVM: its client id is a UUID of version 4. */
export const JVM = "2f1c9d1e-6f0a-4c6e-9d8e-0123456789ab";
