import { type CountAnswer, countAnswer, type Request, requestArgs } from "./count-scripts.js";
import { defineScript, type Script } from "./define-script.js";
import { type Confirmation, type RenewAnswer, type Renewal, renewAnswer } from "./lock-calls.js";
import { permitLeasesKey, savedPermitsKey } from "./names.js";
import { sources } from "./scripts.js";

interface ToSemaphore {
  readonly count: string;
  readonly request: Request;
  readonly channel: string;
}

/** The permits that somebody wants. */
export interface Lot {
  readonly permits: number;
  /** Of leased permits: 32 hexadecimal digits for each. */
  readonly ids: readonly string[];
  /** Of leased permits; 0: they are permanent. */
  readonly leaseMs: number;
}

/** What both kinds of semaphores are asked by one who wants permits; each sends as much of it as it needs. */
export interface PermitWish extends ToSemaphore, Lot {
  /** Who asks. */
  readonly owner: string;
  /** For how long permits are to be saved up for the owner; 0: not at all. */
  readonly saveMs: number;
}

/**
 * `granted`: how many are left; of leased permits also the TTL of the semaphore, after how many milliseconds the next lease
 * ends, and what is left of these ones, if a repeat found them. `short`: how many are available, after how many
 * milliseconds there may be more, 1 if they are saved up, and 0 if there is no semaphore. -1 stands for none and unknown.
 */
export type PermitStatus = "granted" | "short" | "cancelled" | "gone";

/** Takes permits; see semaphore-acquire.lua. */
export const semaphoreAcquire: Script<PermitWish, CountAnswer<PermitStatus>> = defineScript({
  source: sources["semaphore-acquire"],
  replicated: true,
  keys: ({ count, request }) => [count, request.requests, savedPermitsKey(count)],
  args: ({ request, channel, owner, permits, saveMs }) => [
    ...requestArgs(request),
    channel,
    owner,
    permits,
    saveMs,
  ],
  reply: countAnswer("granted", "short", "cancelled"),
});

/** What is taken back is so however late. */
function cancelArgs({ id, memoryMs, settled }: Request): (string | number)[] {
  return [id, memoryMs, settled.join(",")];
}

/** Takes a wish for permits back; see semaphore-cancel.lua. */
export const semaphoreCancel: Script<PermitWish, CountAnswer<"cancelled">> = defineScript({
  source: sources["semaphore-cancel"],
  replicated: "if possible",
  keys: ({ count, request }) => [count, request.requests, savedPermitsKey(count)],
  args: ({ request, channel, owner, permits }) => [...cancelArgs(request), channel, owner, permits],
  reply: countAnswer("cancelled"),
});

interface Addition extends ToSemaphore {
  /** May be negative. */
  readonly permits: number;
  readonly mustExist: boolean;
  /** How many there may be. */
  readonly most: number;
}

/** Gives permits back, or changes their number; answers how many are available. See semaphore-add.lua. */
export const semaphoreAdd: Script<Addition, CountAnswer<"added" | "absent" | "too-many">> = defineScript({
  source: sources["semaphore-add"],
  replicated: "if possible",
  keys: ({ count, request }) => [count, request.requests],
  args: ({ request, channel, permits, mustExist, most }) => [
    ...requestArgs(request),
    channel,
    permits,
    mustExist ? 1 : 0,
    most,
  ],
  reply: countAnswer("added", "absent", "too-many"),
});

/** Takes all permits that are available; answers how many. See semaphore-drain.lua. */
export const semaphoreDrain: Script<Omit<ToSemaphore, "channel">, CountAnswer<"drained">> = defineScript({
  source: sources["semaphore-drain"],
  replicated: true,
  keys: ({ count, request }) => [count, request.requests],
  args: ({ request }) => requestArgs(request),
  reply: countAnswer("drained"),
});

interface WithIds extends Pick<Lot, "ids"> {}

/** Takes leased permits, one for each id; see permit-acquire.lua. */
export const permitAcquire: Script<PermitWish, CountAnswer<PermitStatus>> = defineScript({
  source: sources["permit-acquire"],
  replicated: true,
  keys: ({ count, request }) => [count, request.requests, savedPermitsKey(count), permitLeasesKey(count)],
  args: ({ request, channel, owner, ids, saveMs, leaseMs }) => [
    ...requestArgs(request),
    channel,
    owner,
    ids.join(""),
    saveMs,
    leaseMs,
  ],
  reply: countAnswer("granted", "short", "cancelled", "gone"),
});

/** Takes a wish for leased permits back; see permit-cancel.lua. */
export const permitCancel: Script<PermitWish, CountAnswer<"cancelled">> = defineScript({
  source: sources["permit-cancel"],
  replicated: "if possible",
  keys: ({ count, request }) => [count, request.requests, savedPermitsKey(count), permitLeasesKey(count)],
  args: ({ request, channel, owner, ids }) => [...cancelArgs(request), channel, owner, ids.join("")],
  reply: countAnswer("cancelled"),
});

/** Gives leased permits back, all or none; answers how many are available, or absent. See permit-release.lua. */
export const permitRelease: Script<ToSemaphore & WithIds, CountAnswer<"released" | "absent">> = defineScript({
  source: sources["permit-release"],
  replicated: "if possible",
  keys: ({ count, request }) => [count, request.requests, permitLeasesKey(count)],
  args: ({ request, channel, ids }) => [...requestArgs(request), channel, ids.join("")],
  reply: countAnswer("released", "absent"),
});

/** Changes when leases end, all or none; answers how many are absent. See permit-set-lease.lua. */
export const permitSetLease: Script<
  ToSemaphore & WithIds & { readonly leaseMs: number },
  CountAnswer<"updated" | "absent">
> = defineScript({
  source: sources["permit-set-lease"],
  replicated: true,
  keys: ({ count, request }) => [count, request.requests, permitLeasesKey(count)],
  args: ({ request, channel, ids, leaseMs }) => [...requestArgs(request), channel, ids.join(""), leaseMs],
  reply: countAnswer("updated", "absent"),
});

/** Changes how many permits there are, in and out; answers how many are available. See permit-set-total.lua. */
export const permitSetTotal: Script<
  ToSemaphore & { readonly total: number },
  CountAnswer<"set">
> = defineScript({
  source: sources["permit-set-total"],
  replicated: true,
  keys: ({ count, request }) => [count, request.requests, permitLeasesKey(count)],
  args: ({ request, channel, total }) => [...requestArgs(request), channel, total],
  reply: countAnswer("set"),
});

interface PermitLook {
  readonly count: string;
  readonly channel: string;
  /** "": none. */
  readonly id: string;
}

/**
 * Reads whether there is a semaphore (1 or 0), how many permits are available and out, and the milliseconds that are left
 * of the lease of one, -1 of a permanent permit, -2 of none; see permit-look.lua.
 */
export const permitLook: Script<PermitLook, CountAnswer<"permits">> = defineScript({
  source: sources["permit-look"],
  keys: ({ count }) => [count, permitLeasesKey(count)],
  args: ({ channel, id }) => [channel, id],
  reply: countAnswer("permits"),
});

/** Asks whether leased permits are out still, and writes; see permit-confirm.lua. */
export const permitConfirm: Script<readonly Confirmation[], readonly RenewAnswer[]> = defineScript({
  source: sources["permit-confirm"],
  replicated: true,
  keys: (permits) => permits.map(({ key }) => permitLeasesKey(key)),
  args: (permits) => permits.map(({ holders }) => holders.join("")),
  reply: (answers) => answers.map(renewAnswer),
});

/** Prolongs leases; the holder of a renewal is the ids, one after the other. See permit-renew.lua. */
export const permitRenew: Script<readonly Renewal[], readonly RenewAnswer[]> = defineScript({
  source: sources["permit-renew"],
  replicated: true,
  keys: (permits) => permits.map(({ key }) => permitLeasesKey(key)),
  args: (permits) => permits.flatMap(({ holder, leaseMs }) => [holder, leaseMs]),
  reply: (answers) => answers.map(renewAnswer),
});
