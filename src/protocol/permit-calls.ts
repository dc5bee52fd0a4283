import type { Decision, RepeatableRequest } from "./count-scripts.js";
import type { LookIntoQueue } from "./lock-calls.js";

export interface ToSemaphore {
  readonly count: string;
  readonly request: RepeatableRequest;
  readonly channel: string;
}

/** What gives permits back, and may look into the queue of the clients that wait for them. */
export interface Looking extends ToSemaphore {
  /** Set where it looks. */
  readonly looks?: Pick<LookIntoQueue, "countsAll"> | undefined;
}

/** How a line of the queue asks: see permit-question.lua. */
export interface AskingLine {
  /** "<client id>:<permits>". */
  readonly line: string;
  readonly way: "asks" | "stands" | "stays";
  /** As that of {@link LookIntoQueue}. */
  readonly countsAll: boolean;
}

/** The permits that a call asks for. */
export interface Lot {
  readonly permits: number;
  /** Of leased permits: 32 hexadecimal digits for each. */
  readonly ids: readonly string[];
  /** Of leased permits; 0: they are permanent. */
  readonly leaseMs: number;
}

/** A request for permits to either kind of semaphore; each sends as much of it as it needs. */
export interface PermitWish extends ToSemaphore, Lot {
  /** "<client id>:<number>" of the asking call, under which permits are saved up. */
  readonly owner: string;
  /** For how long permits are to be saved up for the owner; 0: not at all. */
  readonly saveMs: number;
  /** Set for a client that knows of others that wait. */
  readonly queued?: AskingLine | undefined;
}

/** What becomes of a wish for permits. */
export type PermitDecision = Granted | Short | CancelledRequest | Gone;

export interface Granted extends Decision {
  readonly status: "granted";
  /** How many are available still. */
  readonly available: number;
  /** Of leased permits: the TTL of the semaphore; -1 without. */
  readonly ttlMs?: number;
  /** Of leased permits: after so long the next lease ends; -1: never. */
  readonly moreMs?: number;
  /** Of leased permits that a repeat has found: what is left of their lease; -1: all. */
  readonly leftMs?: number;
}

export interface Short extends Decision {
  readonly status: "short";
  readonly available: number;
  /** After so long there may be more; -1: that is unknown. */
  readonly moreMs: number;
  /** 1: they are saved up; 0: they are not. */
  readonly saving: number;
  /** 0: there is no semaphore. */
  readonly exists: number;
}

export interface CancelledRequest extends Decision {
  readonly status: "cancelled";
}

/** A repeat has found that they were granted, but that their lease has ended. */
interface Gone extends Decision {
  readonly status: "gone";
}

export interface Addition extends Looking {
  /** May be negative. */
  readonly permits: number;
  readonly mustExist: boolean;
  /** How many there may be. */
  readonly most: number;
}

export type Added =
  | { readonly status: "added" | "absent" }
  | {
      readonly status: "too-many";
      /** How many there are. */
      readonly available: number;
    };
