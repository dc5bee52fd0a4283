import type { PermitOptions } from "../options.js";
import type { Lot } from "../protocol/permit-calls.js";
import { permitAcquire, permitCancel } from "../protocol/semaphore-scripts.js";
import { later } from "../runtime/instant.js";
import type { PermitHold } from "../threads/permit-holds.js";
import { makeTerms, marginMs, type Since, type Terms } from "../threads/terms.js";
import type { Count } from "./count.js";
import type { PermitSource } from "./permit-command.js";
import { newIds } from "./permit-ids.js";

/** How a permit-expirable semaphore grants permits to one call. */
export function leasedPermits(
  count: Count,
  permits: number,
  options: PermitOptions,
  giveBack: (hold: PermitHold) => Promise<void>,
): PermitSource<PermitHold> {
  const terms = termsOf(count, options);
  const { leaseMs } = terms;
  return {
    count,
    terms,
    acquire: permitAcquire,
    cancel: permitCancel,
    lot: () => ({
      permits,
      ids: newIds(permits),
      leaseMs: leaseMs === Number.POSITIVE_INFINITY ? 0 : leaseMs,
    }),
    enter({ ids }: Lot, { ttlMs = -1, leftMs = -1, sentAt }) {
      // Permits end at the latest with their semaphore's TTL. If a repeat finds an earlier grant, the lease began before the repeat was
      // sent.
      const since: Since = {
        takenAt: sentAt,
        ...(ttlMs < 0 ? {} : { ttlMs }),
        ...(leftMs < 0 ? {} : { until: later(sentAt, leftMs - marginMs(leftMs, terms)) }),
      };
      return count.client.permits.add(count, ids, terms, since);
    },
    giveBack,
    describe: (hold) => hold.about.holder,
  };
}

function termsOf({ client }: Count, { leaseMs, watchdog = false, maxHoldMs, note }: PermitOptions): Terms {
  const { watchdogMs, clockSkewMs } = client.settings;
  const permanent = Number.POSITIVE_INFINITY;
  return makeTerms({
    leaseMs: leaseMs ?? (watchdog ? watchdogMs : permanent),
    renewed: watchdog,
    maxHoldMs,
    clockSkewMs,
    note,
  });
}
