import { integer, list, text, unexpected } from "./replies.js";
import type { RawReply } from "./script-call.js";

/** What every kind of lock is asked, and what it answers; each kind's scripts send and read as much of it as they need. */
export interface AcquireItem {
  readonly key: string;
  /** The field that stands for the caller. */
  readonly holder: string;
  readonly leaseMs: number;
  /** The holder's hold count before this acquisition. */
  readonly heldCount: number;
  /** Another field of the caller in this lock: the reader may enter beside the writer while it is there. "" for none. */
  readonly kin: string;
  /** Whether a caller that is refused stays: in the queue of a fair lock, or as a writer that readers give way to. */
  readonly waits: boolean;
  /** Whether each acquisition draws a fencing token. */
  readonly fenced: boolean;
  /** The channel of the waiters. */
  readonly channel: string;
  /**
   * Set for a client that waits in the lock's queue: whether it waits on also when it gets the lock, and whether it asks again and again,
   * and hears of no turn.
   */
  readonly queued?: { readonly waitsOn: boolean; readonly polls: boolean } | undefined;
}

/** Where a client stands in the queue of a lock. */
export interface WaitingPlace {
  /** Whether it stands there: then its next release of the lock looks there. */
  readonly stands: boolean;
  /** Whether it waits there: it may have the lock, and stand there for that only. */
  readonly waits: boolean;
  /** How many others wait before it, 2 at most. */
  readonly ahead: number;
  /** Whether the holder's release looks into the queue. */
  readonly isTold: boolean;
}

export type AcquireAnswer =
  | {
      readonly status: "held";
      /** The fencing token, of a fenced lock. */
      readonly token?: bigint | undefined;
      /** Of a client that waited in the queue: whether it stands there, and whether it waits on. */
      readonly place?: Pick<WaitingPlace, "stands" | "waits">;
    }
  | { readonly status: "late" | "lost" }
  /** It could be had, but another lock of an all-or-nothing call could not. */
  | { readonly status: "free" }
  | {
      readonly status: "busy";
      /** -1 without a TTL. */
      readonly ttlMs: number;
      readonly holder: string;
      /** Of a client that waits in the queue. */
      readonly waiting?: WaitingPlace;
    }
  | {
      readonly status: "queued";
      /** -1 without a TTL, -2 when the lock is free. */
      readonly ttlMs: number;
      /** The holder; "" when the lock is free. */
      readonly holder: string;
      /** True for the next in line. */
      readonly isHead: boolean;
      /** True when a JVM has the lock or stands in the queue, so that a JVM may free it. */
      readonly meetsJvm: boolean;
      /** True when this very call put the caller's field into the queue: before it, the field did not stand there. */
      readonly pushed: boolean;
    }
  | { readonly status: "wrong-type"; readonly type: string }
  | { readonly status: "miscounted"; readonly holdCount: string }
  | { readonly status: "refused"; readonly message: string };

export interface AcquireCall {
  /** On the server's clock, in milliseconds since the Unix epoch: later the call changes nothing. */
  readonly notAfterMs: number;
  /** All or nothing. Default: each lock by itself. */
  readonly together?: boolean;
  readonly locks: readonly AcquireItem[];
}

/** The most frequent answers, made once. */
export const HELD: { readonly status: "held" } = { status: "held" };
const UNHEARD: ReleaseAnswer = { status: "released", heard: 0 };
const RENEWED: RenewAnswer = { status: "renewed" };

/** An answer without details is a text; one with details, a list that begins with it. */
function detailed(raw: RawReply | undefined): readonly RawReply[] {
  return typeof raw === "string" ? [raw] : list(raw);
}

/** @param stands 1: a client stands in the queue; 2: it waits there */
function placeOf(stands: RawReply | undefined): Pick<WaitingPlace, "stands" | "waits"> {
  return { stands: stands === 1 || stands === 2, waits: stands === 2 };
}

export function acquireAnswer(raw: RawReply): AcquireAnswer {
  if (raw === "held") return HELD;
  const [status, first, second, third, fourth, fifth] = detailed(raw);
  switch (status) {
    case "held":
      if (first === undefined) return { status };
      if (second === undefined) return { status, token: BigInt(text(first)) };
      return { status, token: first === "" ? undefined : BigInt(text(first)), place: placeOf(second) };
    case "late":
    case "lost":
    case "free":
      return { status };
    case "busy": {
      const busy = { status, ttlMs: integer(first), holder: text(second) } as const;
      if (third === undefined) return busy;
      return { ...busy, waiting: { ...placeOf(third), ahead: integer(fourth), isTold: fifth === 1 } };
    }
    case "queued":
      return {
        status,
        ttlMs: integer(first),
        holder: text(second),
        isHead: integer(third) === 1,
        meetsJvm: integer(fourth) === 1,
        pushed: integer(fifth) === 1,
      };
    case "wrong-type":
      return { status, type: text(first) };
    case "miscounted":
      return { status, holdCount: text(first) };
    case "refused":
      return { status, message: text(first) };
    default:
      throw unexpected("an acquire answer", raw);
  }
}

export interface Release {
  readonly key: string;
  readonly holder: string;
  /** The holder's hold count before this release. */
  readonly heldCount: number;
  /** The hold count to leave. */
  readonly keptCount: number;
  /** What the lock is to live on for, when holds are kept. */
  readonly ttlMs: number;
  /** What each of the kept holds is to live on for, the outermost first. */
  readonly keptMs: readonly number[];
  /** For how long the key is to stay when no holds are kept. Default: 0, it is freed. */
  readonly keepForMs?: number;
  readonly channel: string;
  /** Set where the queue is to be looked into. */
  readonly looks?: LookIntoQueue | undefined;
}

/** How a release looks into the queue of clients that wait for the lock. */
export interface LookIntoQueue {
  /** Whether no call of this client waits for the lock any more; "calls": nothing is freed, and the first that waits is to ask. */
  readonly way: "leaves" | "stays" | "calls";
  /** Whether the server knows all who listen to a channel. */
  readonly countsAll: boolean;
  /** What last told this client that others may wait: an object for each time. Not sent. */
  readonly asOf: object;
}

/** As release scripts are told. */
export function wayOf({ way, countsAll }: LookIntoQueue): string {
  return countsAll ? `${way} all` : way;
}

export type ReleaseAnswer =
  | {
      readonly status: "released";
      /** How many subscribers at this server got the message that the lock is free; undefined where none was sent, or it was not counted. */
      readonly heard?: number;
      /** True when it was given to another client that waits in the queue. */
      readonly given?: boolean;
      /** True when holds are kept and the lock falls sooner than before. */
      readonly sooner?: boolean;
    }
  | {
      readonly status: "absent";
      /** True when its client has the lock by another holder, and stands in the queue for that. */
      readonly stands?: boolean;
    }
  | { readonly status: "late" }
  | { readonly status: "wrong-type"; readonly type: string }
  | { readonly status: "miscounted"; readonly holdCount: string };

export interface ReleaseCall {
  /** As that of an {@link AcquireCall}; 0: no limit. */
  readonly notAfterMs: number;
  readonly locks: readonly Release[];
}

export function releaseAnswer(raw: RawReply): ReleaseAnswer {
  if (typeof raw === "number") return raw === 0 ? UNHEARD : { status: "released", heard: raw };
  const [status, detail] = detailed(raw);
  switch (status) {
    case "given":
      return { status: "released", heard: integer(detail), given: true };
    case "absent":
      return detail === undefined ? { status } : { status, stands: true };
    case "released":
      return detail === undefined ? { status } : { status, sooner: true };
    case "late":
      return { status };
    case "wrong-type":
      return { status, type: text(detail) };
    case "miscounted":
      return { status, holdCount: text(detail) };
    default:
      throw unexpected("a release answer", raw);
  }
}

export interface Succession {
  readonly notAfterMs: number;
  readonly key: string;
  /** What the lock is to live on for. */
  readonly leaseMs: number;
  readonly successor: string;
  /** Holder fields of the same client; exactly one of them is stored. */
  readonly predecessors: readonly string[];
}

export type SuccessionAnswer =
  | { readonly status: "held" | "late" | "lost" }
  | { readonly status: "wrong-type"; readonly type: string };

export function successionAnswer(raw: RawReply | undefined): SuccessionAnswer {
  const [status, type] = detailed(raw);
  switch (status) {
    case "held":
    case "late":
    case "lost":
      return { status };
    case "wrong-type":
      return { status, type: text(type) };
    default:
      throw unexpected("an answer to a succession", raw);
  }
}

export interface Renewal {
  readonly key: string;
  readonly holder: string;
  /** What the lock is to live on for at least. */
  readonly leaseMs: number;
  /** What each hold is to live on for at least, the outermost first; 0 where there is none. */
  readonly holdMs: readonly number[];
}

export type RenewAnswer =
  | { readonly status: "renewed" | "lost" }
  | { readonly status: "refused"; readonly message: string };

export function renewAnswer(raw: RawReply): RenewAnswer {
  if (raw === "renewed") return RENEWED;
  const [status, detail] = detailed(raw);
  switch (status) {
    case "renewed":
    case "lost":
      return { status };
    case "refused":
      return { status, message: text(detail) };
    default:
      throw unexpected("a renew answer", raw);
  }
}

/** The question to a new server of a key: does it have this hold, or these leased permits? */
export interface Confirmation {
  readonly key: string;
  /** Of a lock: fields, one of which is stored. Of leased permits: their ids. */
  readonly holders: readonly string[];
  /** The numbers of a reader's holds. */
  readonly slots: readonly number[];
}
