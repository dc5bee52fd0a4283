import type { Decision, RepeatableRequest } from "./count-scripts.js";
import type { LookIntoQueue } from "./lock-calls.js";

export interface ToSemaphore {
  readonly count: string;
  readonly request: RepeatableRequest;
  readonly channel: string;
}

/** A call that gives permits back, and may look into the queue of clients that wait for permits. */
export interface Looking extends ToSemaphore {
  /** Set if the call looks into the queue. */
  readonly looks?: Pick<LookIntoQueue, "countsAll"> | undefined;
}

/** How a line of the queue asks; see permit-question.lua. A line is the calls of one client for one number of permits. */
export interface AskingLine {
  /** "<client id>:<permits>". */
  readonly line: string;
  readonly way: "asks" | "stands" | "stays";
  /** As in {@link LookIntoQueue}. */
  readonly countsAll: boolean;
}

/** The permits that a call asks for. */
export interface Lot {
  readonly permits: number;
  /** For leased permits: 32 hexadecimal digits for each. */
  readonly ids: readonly string[];
  /** For leased permits: their lease; 0: they are permanent. */
  readonly leaseMs: number;
}

/** A request for permits to either kind of semaphore; each kind sends the fields that it needs. */
export interface PermitWish extends ToSemaphore, Lot {
  /** "<client id>:<number>" of the asking call, under which permits are saved up. */
  readonly owner: string;
  /** How long to save permits up for the owner; 0: not at all. */
  readonly saveMs: number;
  /** Set if the client knows of other waiting clients. */
  readonly queued?: AskingLine | undefined;
}

/** The outcome of a request for permits. */
export type PermitDecision = Granted | Short | CancelledRequest | Gone;

export interface Granted extends Decision {
  readonly status: "granted";
  /** How many permits are still available. */
  readonly available: number;
  /** For leased permits: the TTL of the semaphore; -1 without one. */
  readonly ttlMs?: number;
  /** For leased permits: milliseconds until the next lease ends; -1: never. */
  readonly moreMs?: number;
  /** For leased permits: the time left of their lease if an earlier copy of the call has taken them; -1: the whole lease. */
  readonly leftMs?: number;
}

export interface Short extends Decision {
  readonly status: "short";
  readonly available: number;
  /** Milliseconds until there may be more permits; -1: unknown. */
  readonly moreMs: number;
  /** 1: permits are saved up; 0: they are not. */
  readonly saving: number;
  /** 0: the semaphore does not exist. */
  readonly exists: number;
}

export interface CancelledRequest extends Decision {
  readonly status: "cancelled";
}

/** A repeated request has found that the permits were granted, but that their lease has ended. */
interface Gone extends Decision {
  readonly status: "gone";
}

export interface Addition extends Looking {
  /** May be negative. */
  readonly permits: number;
  readonly mustExist: boolean;
  /** The most permits that there may be. */
  readonly most: number;
}

export type Added =
  | { readonly status: "added" | "absent" }
  | {
      readonly status: "too-many";
      /** How many permits are available. */
      readonly available: number;
    };
