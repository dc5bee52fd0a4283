import { type CountAnswer, countAnswer, type RepeatableRequest, requestArgs } from "./count-scripts.js";
import { defineScript, type Script } from "./define-script.js";
import {
  type Confirmation,
  type LookIntoQueue,
  type RenewAnswer,
  type Renewal,
  renewAnswer,
} from "./lock-calls.js";
import { permitLeasesKey, savedPermitsKey, waitingKey } from "./names.js";
import type {
  Added,
  Addition,
  AskingLine,
  CancelledRequest,
  Granted,
  Looking,
  Lot,
  PermitDecision,
  PermitWish,
  Short,
} from "./permit-calls.js";
import * as scripts from "./scripts.js";

const SHORT = ["available", "moreMs", "saving", "exists"] as const;

/** The additional arguments of a call that enters the queue of waiting clients. */
function askingArgs({ line, way, countsAll }: AskingLine): string[] {
  return [line, way, countsAll ? "1" : "0"];
}

/** The additional keys and arguments of a call that looks into the queue. */
const lookKeys = (count: string) => [waitingKey(count), savedPermitsKey(count)];
const lookArgs = ({ countsAll }: Pick<LookIntoQueue, "countsAll">) => [countsAll ? "1" : "0"];

/** Takes permits; see semaphore-acquire.lua. */
export const semaphoreAcquire: Script<PermitWish, CountAnswer<PermitDecision>> = defineScript({
  source: scripts.semaphoreAcquire,
  replicated: true,
  keys: ({ count, request, queued }) => [
    count,
    request.requests,
    savedPermitsKey(count),
    ...(queued ? [waitingKey(count)] : []),
  ],
  args: ({ request, channel, owner, permits, saveMs, queued }) => [
    ...requestArgs(request),
    channel,
    owner,
    permits,
    saveMs,
    ...(queued ? askingArgs(queued) : []),
  ],
  reply: countAnswer<Granted | Short | CancelledRequest>({
    granted: ["available"],
    short: SHORT,
    cancelled: [],
  }),
});

/** Without a deadline: a cancellation takes effect however late it arrives. */
function cancelArgs({ id, memoryMs, settled }: RepeatableRequest): (string | number)[] {
  return [id, memoryMs, settled.join(",")];
}

/** Takes back a request for permits; see semaphore-cancel.lua. */
export const semaphoreCancel: Script<PermitWish, CountAnswer<CancelledRequest>> = defineScript({
  source: scripts.semaphoreCancel,
  replicated: "if possible",
  keys: ({ count, request }) => [count, request.requests, savedPermitsKey(count)],
  args: ({ request, channel, owner, permits }) => [...cancelArgs(request), channel, owner, permits],
  reply: countAnswer<CancelledRequest>({ cancelled: [] }),
});

/** Gives permits back, or changes their number; see semaphore-add.lua. */
export const semaphoreAdd: Script<Addition, CountAnswer<Added>> = defineScript({
  source: scripts.semaphoreAdd,
  replicated: "if possible",
  keys: ({ count, request, looks }) => [count, request.requests, ...(looks ? lookKeys(count) : [])],
  args: ({ request, channel, permits, mustExist, most, looks }) => [
    ...requestArgs(request),
    channel,
    permits,
    mustExist ? 1 : 0,
    most,
    ...(looks ? lookArgs(looks) : []),
  ],
  reply: countAnswer<Added>({ added: [], absent: [], "too-many": ["available"] }),
});

export interface WithIds extends Pick<Lot, "ids"> {}

/** Takes leased permits, one for each id; see permit-acquire.lua. */
export const permitAcquire: Script<PermitWish, CountAnswer<PermitDecision>> = defineScript({
  source: scripts.permitAcquire,
  replicated: true,
  keys: ({ count, request, queued }) => [
    count,
    request.requests,
    savedPermitsKey(count),
    permitLeasesKey(count),
    ...(queued ? [waitingKey(count)] : []),
  ],
  args: ({ request, channel, owner, ids, saveMs, leaseMs, queued }) => [
    ...requestArgs(request),
    channel,
    owner,
    ids.join(""),
    saveMs,
    leaseMs,
    ...(queued ? askingArgs(queued) : []),
  ],
  reply: countAnswer<PermitDecision>({
    granted: ["available", "ttlMs", "moreMs", "leftMs"],
    short: SHORT,
    cancelled: [],
    gone: [],
  }),
});

/** Takes back a request for leased permits; see permit-cancel.lua. */
export const permitCancel: Script<PermitWish, CountAnswer<CancelledRequest>> = defineScript({
  source: scripts.permitCancel,
  replicated: "if possible",
  keys: ({ count, request }) => [count, request.requests, savedPermitsKey(count), permitLeasesKey(count)],
  args: ({ request, channel, owner, ids }) => [...cancelArgs(request), channel, owner, ids.join("")],
  reply: countAnswer<CancelledRequest>({ cancelled: [] }),
});

export type PermitRelease =
  | { readonly status: "released" }
  | {
      readonly status: "absent";
      /** This many permits are unknown, or their leases have ended. */
      readonly absent: number;
    };

/** Gives leased permits back, all or none; see permit-release.lua. */
export const permitRelease: Script<Looking & WithIds, CountAnswer<PermitRelease>> = defineScript({
  source: scripts.permitRelease,
  replicated: "if possible",
  keys: ({ count, request, looks }) => [
    count,
    request.requests,
    permitLeasesKey(count),
    ...(looks ? lookKeys(count) : []),
  ],
  args: ({ request, channel, ids, looks }) => [
    ...requestArgs(request),
    channel,
    ids.join(""),
    ...(looks ? lookArgs(looks) : []),
  ],
  reply: countAnswer<PermitRelease>({ released: [], absent: ["absent"] }),
});

/** Asks whether leased permits are still taken. Also writes, so that replicas can acknowledge; see permit-confirm.lua. */
export const permitConfirm: Script<readonly Confirmation[], readonly RenewAnswer[]> = defineScript({
  source: scripts.permitConfirm,
  replicated: true,
  keys: (permits) => permits.map(({ key }) => permitLeasesKey(key)),
  args: (permits) => permits.map(({ holders }) => holders.join("")),
  reply: (answers) => answers.map(renewAnswer),
});

/** Prolongs leases. The `holder` of each renewal is the concatenated ids of the permits. See permit-renew.lua. */
export const permitRenew: Script<readonly Renewal[], readonly RenewAnswer[]> = defineScript({
  source: scripts.permitRenew,
  replicated: true,
  keys: (permits) => permits.map(({ key }) => permitLeasesKey(key)),
  args: (permits) => permits.flatMap(({ holder, leaseMs }) => [holder, leaseMs]),
  reply: (answers) => answers.map(renewAnswer),
});
