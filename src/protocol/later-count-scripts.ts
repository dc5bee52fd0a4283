import { type CountAnswer, countAnswer, type RepeatableRequest, requestArgs } from "./count-scripts.js";
import { defineScript, type Script } from "./define-script.js";
import * as scripts from "./later-scripts.js";
import { permitLeasesKey, savedPermitsKey, waitingKey } from "./names.js";
import type { AskingLine, ToSemaphore } from "./permit-calls.js";
import type { WithIds } from "./semaphore-scripts.js";

interface Leaving extends Omit<AskingLine, "way"> {
  readonly count: string;
  readonly channel: string;
}

/** Removes one client's calls for one number of permits from the queue; see permit-leave.lua. */
export const permitLeave: Script<Leaving, CountAnswer<{ readonly status: "left" }>> = defineScript({
  source: scripts.permitLeave,
  keys: ({ count }) => [count, waitingKey(count), savedPermitsKey(count)],
  args: ({ channel, line, countsAll }) => [channel, line, countsAll ? 1 : 0],
  reply: countAnswer({ left: [] }),
});

/** Changes the number of permits, including taken ones; see permit-set-total.lua. */
export const permitSetTotal: Script<
  ToSemaphore & { readonly total: number },
  CountAnswer<{ readonly status: "set" }>
> = defineScript({
  source: scripts.permitSetTotal,
  replicated: true,
  keys: ({ count, request }) => [count, request.requests, permitLeasesKey(count)],
  args: ({ request, channel, total }) => [...requestArgs(request), channel, total],
  reply: countAnswer({ set: [] }),
});

interface Resizing extends ToSemaphore {
  readonly seen: number;
  readonly total: number;
}

/**
 * Changes the number of permits of either kind of semaphore if it is still the number that the caller has seen; see semaphore-resize.lua.
 */
export const semaphoreResize: Script<
  Resizing,
  CountAnswer<{ readonly status: "set" | "absent" | "changed" }>
> = defineScript({
  source: scripts.semaphoreResize,
  replicated: "if possible",
  keys: ({ count, request }) => [count, request.requests, permitLeasesKey(count)],
  args: ({ request, channel, seen, total }) => [...requestArgs(request), channel, seen, total],
  reply: countAnswer({ set: [], absent: [], changed: [] }),
});

interface Drained {
  readonly status: "drained";
  readonly permits: number;
}

/** Takes all available permits; see semaphore-drain.lua. */
export const semaphoreDrain: Script<Omit<ToSemaphore, "channel">, CountAnswer<Drained>> = defineScript({
  source: scripts.semaphoreDrain,
  replicated: true,
  keys: ({ count, request }) => [count, request.requests],
  args: ({ request }) => requestArgs(request),
  reply: countAnswer<Drained>({ drained: ["permits"] }),
});

interface TrySet {
  readonly count: string;
  readonly request: RepeatableRequest;
  readonly value: number;
  /** 0: no TTL. */
  readonly ttlMs: number;
  readonly channel: string;
  /** "": no message. */
  readonly message: string;
}

/** Sets the permits of a semaphore or the count of a latch, unless it is set; see count-try-set.lua. */
export const countTrySet: Script<TrySet, CountAnswer<{ readonly status: "set" | "kept" }>> = defineScript({
  source: scripts.countTrySet,
  replicated: true,
  keys: ({ count, request }) => [count, request.requests],
  args: ({ request, value, ttlMs, channel, message }) => [
    ...requestArgs(request),
    value,
    ttlMs,
    channel,
    message,
  ],
  reply: countAnswer({ set: [], kept: [] }),
});

interface Deletion {
  readonly count: string;
  readonly request: RepeatableRequest;
  /** The other keys of the semaphore or latch. */
  readonly others: readonly string[];
  readonly channel: string;
  /** "": no message. */
  readonly message: string;
}

/** Deletes a semaphore or a latch; see count-delete.lua. */
export const countDelete: Script<
  Deletion,
  CountAnswer<{ readonly status: "deleted" | "absent" }>
> = defineScript({
  source: scripts.countDelete,
  replicated: "if possible",
  keys: ({ count, request, others }) => [count, request.requests, ...others],
  args: ({ request, channel, message }) => [...requestArgs(request), channel, message],
  reply: countAnswer({ deleted: [], absent: [] }),
});

/** Changes the ends of leases, all or none; see permit-set-lease.lua. */
export const permitSetLease: Script<
  ToSemaphore & WithIds & { readonly leaseMs: number },
  CountAnswer<{ readonly status: "updated" | "absent" }>
> = defineScript({
  source: scripts.permitSetLease,
  replicated: true,
  keys: ({ count, request }) => [count, request.requests, permitLeasesKey(count)],
  args: ({ request, channel, ids, leaseMs }) => [...requestArgs(request), channel, ids.join(""), leaseMs],
  reply: countAnswer({ updated: [], absent: [] }),
});

interface PermitLook {
  readonly count: string;
  readonly channel: string;
  /** "": none. */
  readonly id: string;
}

interface PermitFacts {
  readonly status: "permits";
  /** 1: the semaphore exists; 0: it does not. */
  readonly exists: number;
  readonly available: number;
  readonly acquired: number;
  /** The remaining lease of the permit with that id; -1: permanent, -2: no such permit. */
  readonly leftMs: number;
}

/** Reads the state of leased permits; see permit-look.lua. */
export const permitLook: Script<PermitLook, CountAnswer<PermitFacts>> = defineScript({
  source: scripts.permitLook,
  keys: ({ count }) => [count, permitLeasesKey(count)],
  args: ({ channel, id }) => [channel, id],
  reply: countAnswer<PermitFacts>({ permits: ["exists", "available", "acquired", "leftMs"] }),
});
