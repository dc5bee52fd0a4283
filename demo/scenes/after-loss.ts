import { setTimeout as sleep } from "node:timers/promises";
import { machineMs } from "../machine-time.js";
import type { LockName } from "../names.js";
import type { Job } from "../stage/job.js";
import type { Stage } from "../stage/stage.js";
import type { Screen } from "../terminal/screen.js";
import { exactSeconds, seconds, span } from "../terminal/units.js";
import type { Check } from "./scene.js";
import { TtlGauge } from "./ttl-gauge.js";

const SAMPLE_MS = 400;
/** TTLs are whole milliseconds. */
const ROUNDING_MS = 2;
/** Generous, for a busy machine. */
const LATEST_MS = 5_000;

/** A lock whose holder cannot renew it any more. */
export interface Loss {
  readonly lock: LockName;
  /** The TTL that a renewal sets. */
  readonly fullMs: number;
  /** The holder's field in Redis. */
  readonly holder: string;
  /** When the last renewal was past, on the machine's clock. */
  readonly goneMs: number;
  /** What happened to the holder, as in "A is killed". */
  readonly told: string;
  /** The job of B, which waits for the lock. */
  readonly next: Pick<Job<unknown>, "next">;
}

export interface Passed {
  /** When B entered, on the machine's clock. */
  readonly enteredMs: number;
  readonly checks: readonly Check[];
  readonly measured: string;
}

/** Shows how the TTL runs out and B enters, and checks that B entered then: not earlier and soon after. */
export async function watchLockPass(
  stage: Stage,
  screen: Screen,
  { lock, fullMs, holder, goneMs, told, next }: Loss,
): Promise<Passed> {
  const { ttlMs, holders } = await stage.observer.inspect(lock);
  const gauge = new TtlGauge(screen, fullMs);
  const entered = next.next("entered");
  let isIn = false;
  const enteredInTime = entered.then(() => {
    isIn = true;
  });
  // Told by the race below; until that is reached again, it is not unhandled.
  enteredInTime.catch(() => undefined);
  while (!isIn) {
    const look = await stage.observer.inspect(lock);
    if (!isIn) gauge.show(machineMs() - goneMs, look.ttlMs);
    await Promise.race([sleep(SAMPLE_MS), enteredInTime]);
  }
  const { atMs: enteredMs } = await entered;
  const tookMs = enteredMs - goneMs;
  gauge.remark("B", `enters, ${seconds(tookMs)} after ${told}`);
  return {
    enteredMs,
    checks: [
      {
        says: `the lock outlived its holder: still held by A, with ${seconds(ttlMs)} to go`,
        holds: holders[0] === holder && ttlMs > 0,
      },
      {
        says: `B did not enter before the TTL was over: after ${exactSeconds(tookMs)} of ${exactSeconds(ttlMs)}`,
        holds: tookMs >= ttlMs - ROUNDING_MS,
      },
      {
        says: `B entered soon after, woken by its own timer: ${span(tookMs - ttlMs)} later`,
        holds: tookMs < ttlMs + LATEST_MS,
      },
    ],
    measured: `next entered after ${exactSeconds(tookMs)}, TTL was ${exactSeconds(ttlMs)}`,
  };
}
