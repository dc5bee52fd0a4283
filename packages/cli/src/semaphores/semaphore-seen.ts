import type { Holdfast, ListedHolder, LockState } from "holdfast";
import { exitCodes } from "../exit-codes.js";
import { Failure } from "../failure.js";
import { plain } from "../text/plain.js";
import { lookAt, type Seen } from "../unlock/seen.js";

/** The semaphore of a name, as it is shown before a change. @throws Failure for any other object */
export async function semaphoreSeen(
  holdfast: Pick<Holdfast, "fleet" | "inspect">,
  name: string,
  group: string,
): Promise<Seen> {
  const seen = await lookAt(holdfast, name, group);
  const { state, lock } = seen;
  const isLatch = lock.kind === "count-down-latch";
  if (state.available === undefined || isLatch) {
    const what = isLatch
      ? "a latch"
      : state.kind === "none"
        ? "not there"
        : `a ${state.kind.replaceAll("-", " ")}`;
    throw new Failure(exitCodes.wrongType, `"${plain(name)}" is not a semaphore: it is ${what}`);
  }
  return seen;
}

/** The client that reports a permit as its own; undefined if no client does. */
export function ownerOf(holders: readonly ListedHolder[], id: string): ListedHolder | undefined {
  return holders.find(({ permitIds = [] }) => permitIds.includes(id));
}

/** How many permits there are, as far as Redis stores this. */
export function totalOf({
  available = 0,
  takenCount = 0,
}: Pick<LockState, "available" | "takenCount">): number {
  return available + takenCount;
}
