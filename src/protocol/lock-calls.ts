import { integer, list, text, unexpected } from "./replies.js";
import type { RawReply } from "./script-call.js";

/** A request to any kind of lock. The scripts of a kind send the fields that they need. */
export interface AcquireItem {
  readonly key: string;
  /** The caller's field. */
  readonly holder: string;
  readonly leaseMs: number;
  /** The holder's hold count before this acquisition. */
  readonly heldCount: number;
  /** For a read lock: the field of the write hold that the caller has; while it exists, the caller may also read. "" for none. */
  readonly kin: string;
  /** Whether a refused caller goes on waiting: in the queue of a fair lock, or as a writer that readers give way to. */
  readonly waits: boolean;
  /** Whether each acquisition takes a fencing token. */
  readonly fenced: boolean;
  /** The channel of the waiters. */
  readonly channel: string;
  /**
   * Set for a client that waits in the lock's queue: whether its other calls still wait when it gets the lock, and whether it polls and
   * so gets no message about its turn.
   */
  readonly queued?: { readonly waitsOn: boolean; readonly polls: boolean } | undefined;
}

/** The place of a client in the queue of a lock. */
export interface WaitingPlace {
  /** Whether the client is in the queue: then its next release of the lock looks into the queue. */
  readonly stands: boolean;
  /** Whether the client waits. If not, the client is in the queue only because it has the lock. */
  readonly waits: boolean;
  /** How many other clients wait before this client; at most 2. */
  readonly ahead: number;
  /** Whether the holder's release looks into the queue. */
  readonly isTold: boolean;
}

export type AcquireAnswer =
  | {
      readonly status: "held";
      /** The fencing token of a fenced lock. */
      readonly token?: bigint | undefined;
      /** For a client that waited in the queue: whether it stays in the queue, and whether it goes on waiting. */
      readonly place?: Pick<WaitingPlace, "stands" | "waits">;
    }
  | { readonly status: "late" | "lost" }
  /** The lock was free, but another lock of the same all-or-nothing call was not. */
  | { readonly status: "free" }
  | {
      readonly status: "busy";
      /** -1 without a TTL. */
      readonly ttlMs: number;
      readonly holder: string;
      /** For a client that waits in the queue. */
      readonly waiting?: WaitingPlace;
    }
  | {
      readonly status: "queued";
      /** -1 without a TTL, -2 when the lock is free. */
      readonly ttlMs: number;
      /** The holder; "" when the lock is free. */
      readonly holder: string;
      /** True for the next waiter in the queue. */
      readonly isHead: boolean;
      /** True if a JVM has the lock or is in the queue, so that a JVM may free it. */
      readonly meetsJvm: boolean;
      /** True if this call put the caller's field into the queue, which did not have it before. */
      readonly pushed: boolean;
    }
  | { readonly status: "wrong-type"; readonly type: string }
  | { readonly status: "miscounted"; readonly holdCount: string }
  | { readonly status: "refused"; readonly message: string };

export interface AcquireCall {
  /** On the server's clock, in milliseconds since the Unix epoch. After this time the call changes nothing. */
  readonly notAfterMs: number;
  /** All or nothing. Default: each lock separately. */
  readonly together?: boolean;
  readonly locks: readonly AcquireItem[];
}

/** The most frequent answers, created once. */
export const HELD: { readonly status: "held" } = { status: "held" };
const UNHEARD: ReleaseAnswer = { status: "released", heard: 0 };
const RENEWED: RenewAnswer = { status: "renewed" };

/** An answer without details is a string; with details, a list that begins with that string. */
function detailed(raw: RawReply | undefined): readonly RawReply[] {
  return typeof raw === "string" ? [raw] : list(raw);
}

/** @param stands 1: the client is in the queue; 2: it waits in the queue */
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
  /** The lock's TTL if holds are kept. */
  readonly ttlMs: number;
  /** The TTL of each kept hold, the outermost first. */
  readonly keptMs: readonly number[];
  /** How long the key stays if no holds are kept. Default: 0, the lock is freed. */
  readonly keepForMs?: number;
  readonly channel: string;
  /** Set if the release looks into the queue. */
  readonly looks?: LookIntoQueue | undefined;
}

/** How a release looks into the queue of the clients that wait for the lock. */
export interface LookIntoQueue {
  /**
   * "leaves": no call of this client waits for the lock; "stays": some calls wait; "calls": the lock is not freed, and the first waiting
   * client should ask.
   */
  readonly way: "leaves" | "stays" | "calls";
  /** Whether the server knows all listeners of a channel. */
  readonly countsAll: boolean;
  /** Identifies the latest report that other clients may wait: each report is a distinct object. Not sent. */
  readonly asOf: object;
}

/** The argument `way` of the release scripts. */
export function wayOf({ way, countsAll }: LookIntoQueue): string {
  return countsAll ? `${way} all` : way;
}

export type ReleaseAnswer =
  | {
      readonly status: "released";
      /**
       * How many subscribers at this server got the message that the lock is free; undefined if no message was sent, or if subscribers were
       * not counted.
       */
      readonly heard?: number;
      /** True if the lock was granted to another client that waits in the queue. */
      readonly given?: boolean;
      /** True if holds are kept and the lock now expires sooner than before the release. */
      readonly sooner?: boolean;
    }
  | {
      readonly status: "absent";
      /** True if the client has the lock through another of its holders, and therefore stays in the queue. */
      readonly stands?: boolean;
    }
  | { readonly status: "late" }
  | { readonly status: "wrong-type"; readonly type: string }
  | { readonly status: "miscounted"; readonly holdCount: string };

export interface ReleaseCall {
  /** As in {@link AcquireCall}; 0: no deadline. */
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
  /** The lock's new TTL. */
  readonly leaseMs: number;
  readonly successor: string;
  /** Fields of holders of the same client; exactly one of these fields is stored. */
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
      throw unexpected("an answer to lock-succeed", raw);
  }
}

export interface Renewal {
  readonly key: string;
  readonly holder: string;
  /** The least TTL of the lock. */
  readonly leaseMs: number;
  /** The least TTL of each hold, the outermost first; 0 for a hold that does not exist. */
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

/** The question to a key's new server: does it have this hold, or these leased permits? */
export interface Confirmation {
  readonly key: string;
  /** For a lock: fields, of which the server stores one. For leased permits: their ids. */
  readonly holders: readonly string[];
  /** The numbers of a reader's holds. */
  readonly slots: readonly number[];
}
