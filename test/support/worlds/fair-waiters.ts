import type { Lease } from "../../../src/lease.js";
import type { LockOptions } from "../../../src/options.js";
import { queueOf, type Raw } from "../models/fair-queue.js";
import { type Watched, watched } from "../run/watched.js";
import type { FakeTime, FakeTimeClient } from "./fake-time.js";

/** A client of its own that waits for the fair lock "a". */
export interface Waiting extends FakeTimeClient {
  readonly lock: Watched<Lease>;
  /** What it is in the queue; empty when it did not come to stand there. */
  readonly holder: string;
}

export function rawOf({ server }: FakeTime): Raw {
  return (command, ...args) => server.command(command, ...args);
}

/** One more comes to stand in the queue. */
export async function queued(
  time: FakeTime,
  options: LockOptions = {},
  client: FakeTimeClient = time.connect(),
): Promise<Waiting> {
  const lock = watched(client.holdfast.getFairLock("a").lock(options));
  await time.clock.advance(0);
  return { ...client, lock, holder: (await queueOf(rawOf(time))).at(-1) ?? "" };
}

/** @throws when it has not entered */
export function leaseOf({ lock: { outcome } }: Waiting): Lease {
  if (outcome === undefined || !("value" in outcome)) throw new Error("has not entered");
  return outcome.value;
}

/** Releases what it has entered, and lets the next one hear of it. */
export async function release(waiting: Waiting, { clock }: FakeTime): Promise<void> {
  await leaseOf(waiting).unlock();
  await clock.advance(0);
}

/** Those who believe to have the lock. */
export function inside(waiting: readonly Waiting[]): readonly Waiting[] {
  return waiting.filter(
    ({ lock: { outcome } }) => outcome !== undefined && "value" in outcome && outcome.value.state === "held",
  );
}
