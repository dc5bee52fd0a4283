import type { Lease } from "../../../src/lease.js";
import type { Lock } from "../../../src/locks/lock.js";
import type { LockOptions } from "../../../src/options.js";
import { type Watched, watched } from "../run/watched.js";
import type { FakeTime, FakeTimeClient, fakeTime } from "./fake-time.js";

type Open = ReturnType<typeof fakeTime>;

export const KEY = "order:7";
export const HOUR_MS = 3_600_000;
/** No waiter helps itself in a test, and neither does the watchdog. */
export const PATIENT = { safetyPeriodMs: HOUR_MS, watchdogMs: HOUR_MS };

/** A holder, and those of the same client who wait for its lock, in order. */
export interface Scene {
  readonly time: FakeTime;
  readonly lock: Lock;
  readonly holder: Lease;
  readonly waiting: readonly Watched<Lease>[];
}

/** @param open makes the server and the client of a scene */
export function scenes(open: Open) {
  /** @param wants what each waiter asks for */
  return async (
    wants: readonly LockOptions[] = [{}],
    options: Parameters<Open>[0] = {},
    held: LockOptions = {},
  ): Promise<Scene> => {
    const time = open({ ...PATIENT, ...options });
    const lock = time.holdfast.getLock(KEY);
    const holder = await arrived(time, watched(lock.lock(held)));
    const waiting = wants.map((want) => watched(lock.lock(want)));
    // They listen, and have asked once more.
    await time.clock.advance(0);
    time.driver.sent.length = 0;
    return { time, lock, holder, waiting };
  };
}

/** What has come without any time passing. */
export function got<T>({ outcome }: Watched<T> = { outcome: undefined }): T {
  if (outcome === undefined || !("value" in outcome))
    throw new Error(`did not come: ${String(outcome?.error)}`);
  return outcome.value;
}

export async function arrived<T>({ clock }: Pick<FakeTime, "clock">, call: Watched<T>): Promise<T> {
  await clock.advance(0);
  return got(call);
}

/** More than there are awaits between a release and the caller who enters. */
export async function microtasks(): Promise<void> {
  for (let i = 0; i < 40; i += 1) await undefined;
}

export function scripts({ driver }: Pick<FakeTimeClient, "driver">): readonly string[] {
  return driver.sent.map(({ script }) => script);
}
