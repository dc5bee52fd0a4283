import {
  channel,
  type TracingChannel,
  type TracingChannelSubscribers,
  tracingChannel,
} from "node:diagnostics_channel";
import type { LossReason } from "./errors.js";

/** The fields of every event: the client that published it. */
export interface AboutClient {
  /** The first part of every holder of the client. */
  readonly clientId: string;
  /** The server as the driver names it, without credentials: `redis://127.0.0.1:6379/0`. */
  readonly server: string;
}

/** The fields of every event about a lock or a semaphore. */
interface AboutLock extends AboutClient {
  /** The name that the program uses. */
  readonly name: string;
  /** The kind, as the factory calls it: `lock`, `semaphore`. */
  readonly kind: string;
}

interface AboutHold extends AboutLock {
  /** The holder as stored in Redis; for leased permits their ids, with commas between; "" for a plain semaphore, whose permits have no owner. */
  readonly holder: string;
}

/**
 * The reason why a call was let in.
 * - `free`: the call asked, and the lock was free at once.
 * - `message`: a message reported a release, and the call asked.
 * - `grant`: a message gave a fair lock to the call, which did not have to ask.
 * - `hand-off`: another call of the same client handed the lock on to this call.
 * - `release`: another call of the same client released the lock, gave this call its turn to ask, or shared its answer with this call.
 * - `timer`: it asked again when the lease that it had seen, the safety period, or a pause was over. If the lock was released before that,
 *   a message was lost.
 * - `reconnect`: messages began to arrive, for the first time or again, and it asked because it might have missed one.
 * - `re-entry`: the call's thread already had the lock, or now reads while it has the write lock.
 */
export type WaitEnd =
  | "free"
  | "message"
  | "grant"
  | "hand-off"
  | "release"
  | "timer"
  | "reconnect"
  | "re-entry";

/** The context of the tracing channel `holdfast:lock:acquire`, from start to asyncEnd. */
export interface AcquireEvent extends AboutLock {
  /**
   * The lease that the call asks for, in milliseconds; Infinity for permits that never return by themselves. If the watchdog renews
   * other holds of the thread with a longer lease, a re-entered hold gets that lease.
   */
  readonly leaseMs: number;
  /** Whether the watchdog renews the lease. */
  readonly renewed: boolean;
  /** How long the call may wait, in milliseconds: 0 if it does not wait, Infinity if it waits for ever. */
  readonly waitMs: number;
  /** The note of the call. */
  readonly note?: string;
  /**
   * Set at the end. `refused`: it was taken, and the call does not wait. `timeout`: `waitMs` ran out. `cancelled`: the caller's
   * signal aborted, or the client was closed. `failed`: the call rejects for any other reason.
   */
  outcome?: "acquired" | "refused" | "timeout" | "cancelled" | "failed";
  /** Milliseconds from the call to its end; set at the end. */
  waitedMs?: number;
  /** How often Redis was asked; set at the end. */
  attempts?: number;
  /** Set if a lock or permits were acquired: the reason why the wait ended. */
  via?: WaitEnd;
  /** Set when a lock or leased permits were acquired. */
  holder?: string;
  /** Set when a lock was acquired: 1 for the outermost hold. */
  holdCount?: number;
  /** Set when a fenced lock was acquired. */
  token?: bigint;
  /** Set when permits were acquired: how many. */
  permits?: number;
  /** Set at the end if `holdfast:lock:contended` was published for this call: its first event. */
  contended?: ContendedEvent;
}

/** The context of the tracing channel `holdfast:latch:await`, from start to asyncEnd. */
export interface LatchAwaitEvent extends AboutLock {
  /** How long the call may wait, in milliseconds. */
  readonly waitMs: number;
  /** Set at the end, like the outcome of an acquisition. `opened`: the latch is open, or was deleted. */
  outcome?: "opened" | "refused" | "timeout" | "cancelled" | "failed";
  /** Milliseconds from the call to its end; set at the end. */
  waitedMs?: number;
  /** Set if the latch is open: the reason why the wait ended. */
  via?: WaitEnd;
}

/**
 * `holdfast:lock:contended`: a call has to wait or is refused, because its first command found the lock or the permits taken, or because
 * other calls of its client wait already. Published once for each call.
 */
export interface ContendedEvent extends AboutLock {
  /** The holder as stored in Redis, or as last seen; "" if none was seen yet, and for permits. */
  readonly holder: string;
  /** Remaining milliseconds of the holder's lease; -1 without a TTL, and if `holder` is "". */
  readonly ttlMs: number;
  /** True if a thread of this client holds the lock: the caller may be waiting for itself. */
  readonly own: boolean;
  /** How many calls of this client queued before this call; 0 if this call asked Redis itself. */
  readonly behind: number;
}

/** `holdfast:lock:release`: a hold or leased permits were released, or their release has failed. */
export interface ReleaseEvent extends AboutHold {
  readonly heldMs: number;
  /** Why the release failed: Redis may keep the hold until its lease ends. Missing if Redis answered that it was released. */
  readonly error?: unknown;
  /** The number of the thread's holds of the lock, including this one: 1 for its last hold. For permits always 1. */
  readonly holdCount: number;
}

/** `holdfast:lock:forced`: this client has freed a lock by force. */
export interface ForcedEvent extends AboutLock {
  readonly key: string;
  /** The holders that were freed, as stored in Redis. */
  readonly holders: readonly string[];
  /** Whether one of the holders is a hold of this client. */
  readonly own: boolean;
}

/** `holdfast:lease:lost`: a lease ended before it was released, even if the program let it run out on purpose. */
export interface LeaseLostEvent extends AboutHold {
  readonly reason: LossReason;
  /** Milliseconds from the acquisition to the end of the lease, however late that was noticed. */
  readonly heldMs: number;
  /** The number of the thread's holds of the lock, including this one: 1 for its last hold. For permits always 1. */
  readonly holdCount: number;
}

/** `holdfast:lease:release-failed`: a release by `using` or `await using` failed. */
export interface ReleaseFailedEvent extends AboutHold {
  readonly error: unknown;
}

/** `holdfast:lease:abandoned`: the program dropped a lease without releasing it; its lock ends by its TTL. */
export interface LeaseAbandonedEvent extends AboutHold {
  /** Milliseconds from the acquisition to the moment when this was noticed. */
  readonly heldMs: number;
}

/** `holdfast:renewal:done`: the server has answered a renewal. */
export interface RenewalDoneEvent extends AboutClient {
  /** How many locks the command was to renew. */
  readonly locks: number;
  /** How many milliseconds too late the watchdog sent the command. */
  readonly lateMs: number;
  /** Milliseconds from sending the command to its answer. */
  readonly durationMs: number;
  /** For how many milliseconds the shortest of the leases was still trusted when the command was sent; Infinity if only fixed leases were written again. */
  readonly leastRemainingMs: number;
}

/** `holdfast:renewal:failed`: a renewal has an unknown outcome, and is retried. */
export interface RenewalFailedEvent extends AboutClient {
  /** How many locks the call was to renew. */
  readonly locks: number;
  readonly error: unknown;
}

/** The context of the tracing channel `holdfast:command`, from start to asyncEnd. */
export interface CommandEvent extends AboutClient {
  /** The script, as in the documents. */
  readonly script: string;
  /** How many locks, permits or latches the command concerned when it was last sent; set at the end, 0 if it was not sent. */
  locks?: number;
  /** How often the command was sent; set at the end. */
  tries?: number;
  /**
   * Set at the end. `refused`: nothing was carried out, as far as is known. `unknown`: no answer, and it may have been carried out.
   * `closed`: the client was closed before the answer.
   */
  outcome?: "answered" | "refused" | "unknown" | "closed";
  /** Milliseconds from the first try to the end, with all pauses; set at the end. */
  durationMs?: number;
}

/** `holdfast:client:open`, `holdfast:client:close`: a client was made, or has been closed. */
export interface ClientEvent extends AboutClient {}

/** `holdfast:subscription:failed`: waiters get no messages until the next try succeeds; meanwhile they poll. */
export interface SubscriptionFailedEvent extends AboutClient {
  readonly channel: string;
  readonly error: unknown;
}

/** `holdfast:replicas:short`: too few replicas acknowledged a write in time. */
export interface ReplicasShortEvent extends AboutClient {
  /** The script, as in the documents. */
  readonly script: string;
  readonly acknowledged: number;
  readonly wanted: number;
  /** Set if replicas are no longer asked, as the server refuses `WAIT`. Published once. */
  readonly error?: unknown;
}

/**
 * `holdfast:server:unsuited`: locks should not be entrusted to a server. Published once for each client, server and fault, when the client
 * first uses the server, pings it, or gets an answer again after a lost connection.
 */
export interface ServerUnsuitedEvent {
  /** The client that found the fault. */
  readonly clientId: string;
  /** The server concerned, without credentials, or all servers if the Redis client does not report which. */
  readonly server: string;
  /**
   * `evicts`: the server's `maxmemory-policy` is not `noeviction`, so it may remove a lock that is held. `is-replica`: it is not a master,
   * and refuses writes.
   */
  readonly what: "evicts" | "is-replica";
  /** The setting or role that the server reported: `maxmemory-policy allkeys-lru, maxmemory 1073741824`, `role slave`. */
  readonly found: string;
}

/** `holdfast:presence:failed`: a client could not report. Its locks are not affected. */
export interface PresenceFailedEvent extends AboutClient {
  readonly group: string;
  readonly error: unknown;
  /** True if the Redis user lacks the right: the client sends no more reports. */
  readonly final: boolean;
}

/** A channel of `node:diagnostics_channel` whose payload has a type. */
export interface EventChannel<Event> {
  readonly name: string | symbol;
  readonly hasSubscribers: boolean;
  publish(event: Event): void;
  subscribe(listener: (event: Event, name: string | symbol) => void): void;
  unsubscribe(listener: (event: Event, name: string | symbol) => void): void;
}

/** A tracing channel. Unlike Node's type, this type takes a subscriber with only some of the handlers. */
export interface TraceChannel<Event extends object>
  extends Omit<TracingChannel<Event, Event>, "subscribe" | "unsubscribe"> {
  subscribe(handlers: Partial<TracingChannelSubscribers<Event>>): void;
  unsubscribe(handlers: Partial<TracingChannelSubscribers<Event>>): void;
}

/* @__NO_SIDE_EFFECTS__ */
function typed<Event>(name: string): EventChannel<Event> {
  return channel(name) as EventChannel<Event>;
}

/* @__NO_SIDE_EFFECTS__ */
function tracing<Event extends object>(name: string): TraceChannel<Event> {
  return tracingChannel<unknown, Event>(name) as TraceChannel<Event>;
}

/** The `node:diagnostics_channel` channels of holdfast. Payloads are only made for channels with subscribers. */
export const events: {
  readonly acquire: TraceChannel<AcquireEvent>;
  readonly contended: EventChannel<ContendedEvent>;
  readonly release: EventChannel<ReleaseEvent>;
  readonly forced: EventChannel<ForcedEvent>;
  readonly latchAwait: TraceChannel<LatchAwaitEvent>;
  readonly leaseLost: EventChannel<LeaseLostEvent>;
  readonly releaseFailed: EventChannel<ReleaseFailedEvent>;
  readonly leaseAbandoned: EventChannel<LeaseAbandonedEvent>;
  readonly renewalDone: EventChannel<RenewalDoneEvent>;
  readonly renewalFailed: EventChannel<RenewalFailedEvent>;
  readonly command: TraceChannel<CommandEvent>;
  readonly subscriptionFailed: EventChannel<SubscriptionFailedEvent>;
  readonly replicasShort: EventChannel<ReplicasShortEvent>;
  readonly serverUnsuited: EventChannel<ServerUnsuitedEvent>;
  readonly clientOpen: EventChannel<ClientEvent>;
  readonly clientClose: EventChannel<ClientEvent>;
  readonly presenceFailed: EventChannel<PresenceFailedEvent>;
} = {
  acquire: tracing("holdfast:lock:acquire"),
  contended: typed("holdfast:lock:contended"),
  release: typed("holdfast:lock:release"),
  forced: typed("holdfast:lock:forced"),
  latchAwait: tracing("holdfast:latch:await"),
  leaseLost: typed("holdfast:lease:lost"),
  releaseFailed: typed("holdfast:lease:release-failed"),
  leaseAbandoned: typed("holdfast:lease:abandoned"),
  renewalDone: typed("holdfast:renewal:done"),
  renewalFailed: typed("holdfast:renewal:failed"),
  command: tracing("holdfast:command"),
  subscriptionFailed: typed("holdfast:subscription:failed"),
  replicasShort: typed("holdfast:replicas:short"),
  serverUnsuited: typed("holdfast:server:unsuited"),
  clientOpen: typed("holdfast:client:open"),
  clientClose: typed("holdfast:client:close"),
  presenceFailed: typed("holdfast:presence:failed"),
};
