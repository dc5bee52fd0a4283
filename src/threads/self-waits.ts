import { environment } from "../environment.js";
import type { OwnObstacle, Waiter } from "../runtime/waiter.js";
import type { Hold } from "./stay.js";
import type { Threads } from "./threads.js";

interface SelfWaitServices {
  readonly threads: Threads;
  /** All waiting calls of the client. */
  waiting(): Iterable<Waiter>;
  after(delayMs: number, work: () => void): void;
}

/** Far longer than a lock should be held, and short enough for a developer who watches a hanging process. */
const LONG_MS = 10_000;
/** Warned once: one warning is enough to find the mistake, and a busy process would repeat it for ever. */
const CODE = "HOLDFAST_WAITS_FOR_ITSELF";

/**
 * Warns of a call that may wait for itself: a call without a time limit that waits for a lease of its own client, which the watchdog renews
 * without a limit. It is unknown which code has the lease, so this is not an error. There is no warning for a lock that passes from call to
 * call, because none of its leases lasts that long. Costs one check of all waiters every ten seconds, and nothing while no call waits for
 * its own client.
 */
export class SelfWaits {
  readonly #services: SelfWaitServices;
  #looks = false;

  constructor(services: SelfWaitServices) {
    this.#services = services;
  }

  /** A call has found that a holder of its own client has the lock. */
  suspect(waiter: Waiter, obstacle: OwnObstacle): void {
    if (environment.warned.has(CODE) || !waiter.isEndless) return;
    waiter.standsBehind(obstacle);
    this.#lookIn(LONG_MS);
  }

  #lookIn(ms: number): void {
    if (this.#looks) return;
    this.#looks = true;
    this.#services.after(ms, () => {
      this.#looks = false;
      if (!environment.warned.has(CODE)) this.#look();
    });
  }

  #look(): void {
    const suspects = [...this.#services.waiting()].filter(({ behind }) => behind !== undefined);
    const holds = this.#endlessHolds(new Set(suspects.map(({ behind }) => behind?.holder)));
    let leastMs = Number.POSITIVE_INFINITY;
    for (const { behind, waitedMs, cancelled } of suspects) {
      const hold = behind && holds.get(behind.holder);
      if (behind === undefined || hold === undefined || cancelled) continue;
      const leftMs = LONG_MS - Math.min(waitedMs, hold.heldMs);
      if (leftMs <= 0) {
        warn(behind);
        return;
      }
      leastMs = Math.min(leastMs, leftMs);
    }
    if (leastMs < LONG_MS) this.#lookIn(leastMs);
  }

  /** The holders that have a hold without a time limit, each with the outermost such hold. */
  #endlessHolds(holders: ReadonlySet<string | undefined>): ReadonlyMap<string, Hold> {
    const holds = new Map<string, Hold>();
    if (holders.size === 0) return holds;
    for (const stay of [...this.#services.threads.stays()]) {
      const { field } = stay;
      if (!holders.has(field)) continue;
      const hold = stay.live.find(({ isRenewed, terms }) => isRenewed && terms.maxHoldMs === undefined);
      if (hold !== undefined) holds.set(field, hold);
    }
    return holds;
  }
}

function warn({ name, holder }: OwnObstacle): void {
  environment.warned.add(CODE);
  environment.warn(
    `a call has waited for ${LONG_MS / 1_000} s for lock "${name}", which a lease of this very client holds (${holder}). If that lease is ` +
      "the caller's own, it waits for ever: call inside lease.run() or using(), or pass { threadId: lease.threadId }. Reported once per " +
      "process",
    { type: "HoldfastWarning", code: CODE },
  );
}
