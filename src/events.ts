import {
  channel,
  type TracingChannel,
  type TracingChannelSubscribers,
  tracingChannel,
} from "node:diagnostics_channel";
import type { LossReason } from "./errors.js";

/** The client that tells: what every event says. */
export interface AboutClient {
  /** The first part of every holder of the client. */
  readonly clientId: string;
  /** As its driver names it, without credentials: `redis://127.0.0.1:6379/0`. */
  readonly server: string;
}

/** What every event about a lock or a semaphore says. */
interface AboutLock extends AboutClient {
  /** The name that the program uses. */
  readonly name: string;
  /** The kind, as the factory calls it: `lock`, `semaphore`. */
  readonly kind: string;
}

interface AboutHold extends AboutLock {
  /** The holder as stored in Redis; of leased permits their ids, with commas between; "" of a plain semaphore, whose permits have no owner. */
  readonly holder: string;
}

/**
 * What has let a call in.
 * - `free`: it asked, and the lock was free at once.
 * - `message`: a message told of a release, and it asked.
 * - `grant`: the message gave a fair lock to it, and it did not have to ask.
 * - `hand-off`: another call of the same client handed the lock on to it.
 * - `release`: another call of the same client released the lock, or left its turn to ask, or its answer, to this one.
 * - `timer`: it asked again by itself: the lease that it had seen was over, or the safety period, or a pause of its own. Behind a holder
 *   that released in time this means that a message was lost.
 * - `reconnect`: messages began to arrive, for the first time or again, and it asked as it could have missed one.
 * - `re-entry`: its own thread had the lock, and entered it once more, or reads beside its own write lock.
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
   * The lease that the call asks for, in milliseconds; Infinity of permits that never return by themselves. One more hold beside holds
   * that the watchdog renews for longer is given their lease.
   */
  readonly leaseMs: number;
  /** Whether the watchdog is to renew the lease. */
  readonly renewed: boolean;
  /** How long the call may wait, in milliseconds: 0 of one that does not wait, Infinity of one that waits for ever. */
  readonly waitMs: number;
  /** What the call has given as its note. */
  readonly note?: string;
  /**
   * Set at the end. `refused`: it was not free, and the call does not wait. `timeout`: `waitMs` ran out. `cancelled`: the caller's
   * signal aborted, or the client was closed. `failed`: the call rejects for any other reason.
   */
  outcome?: "acquired" | "refused" | "timeout" | "cancelled" | "failed";
  /** Milliseconds from the call to its end; set at the end. */
  waitedMs?: number;
  /** How often Redis was asked; set at the end. */
  attempts?: number;
  /** Set when a lock or permits were acquired: what has ended the wait. */
  via?: WaitEnd;
  /** Set when a lock or leased permits were acquired. */
  holder?: string;
  /** Set when a lock was acquired: 1 for the outermost hold. */
  holdCount?: number;
  /** Set when a fenced lock was acquired. */
  token?: bigint;
  /** Set when permits were acquired: how many. */
  permits?: number;
  /** Set at the end where `holdfast:lock:contended` had a subscriber and told it of this call: what it told first. */
  contended?: ContendedEvent;
}

/** The context of the tracing channel `holdfast:latch:await`, from start to asyncEnd. */
export interface LatchAwaitEvent extends AboutLock {
  /** How long the call may wait, in milliseconds. */
  readonly waitMs: number;
  /** Set at the end, as that of an acquisition. `opened`: the latch is open, or was deleted. */
  outcome?: "opened" | "refused" | "timeout" | "cancelled" | "failed";
  /** Milliseconds from the call to its end; set at the end. */
  waitedMs?: number;
  /** Set when it is open: what has ended the wait. */
  via?: WaitEnd;
}

/**
 * `holdfast:lock:contended`: a call for a lock or permits can not have them at once, as its own first question has shown, or as other calls
 * of its client wait before it. Once for each call.
 */
export interface ContendedEvent extends AboutLock {
  /** The holder as stored in Redis, or as it was seen last; "" when none was seen yet, and of permits. */
  readonly holder: string;
  /** Milliseconds its lease has left, -1 without a TTL, and where `holder` is "". */
  readonly ttlMs: number;
  /** True when a thread of this client holds the lock: the caller may be waiting for itself. */
  readonly own: boolean;
  /** How many calls of this client stood in line before it: 0 for one that has asked by itself. */
  readonly behind: number;
}

/** `holdfast:lock:release`: a hold or leased permits were released, or their release has failed. */
export interface ReleaseEvent extends AboutHold {
  readonly heldMs: number;
  /** Why the release failed: Redis may keep what was held until its lease ends. Missing where Redis has answered that it was released. */
  readonly error?: unknown;
  /** How many holds the thread had of the lock with this one: 1 when it has none any more. Of permits always 1. */
  readonly holdCount: number;
}

/** `holdfast:lock:forced`: this client has freed a lock by force. */
export interface ForcedEvent extends AboutLock {
  readonly key: string;
  /** The holders that were freed, as stored in Redis. */
  readonly holders: readonly string[];
  /** Whether one of them is of this client. */
  readonly own: boolean;
}

/** `holdfast:lease:lost`: a lease ended before it was released, be it one that was to be kept until then. */
export interface LeaseLostEvent extends AboutHold {
  readonly reason: LossReason;
  /** Milliseconds from the acquisition to the end of the lease, however late that was noticed. */
  readonly heldMs: number;
  /** How many holds the thread had of the lock with this one: 1 when it has none any more. Of permits always 1. */
  readonly holdCount: number;
}

/** `holdfast:lease:release-failed`: a release behind `using` or `await using` failed. */
export interface ReleaseFailedEvent extends AboutHold {
  readonly error: unknown;
}

/** `holdfast:lease:abandoned`: a lease was forgotten without a release; its lock falls by its TTL. */
export interface LeaseAbandonedEvent extends AboutHold {
  /** Milliseconds from the acquisition to the moment in which it was found forgotten. */
  readonly heldMs: number;
}

/** `holdfast:renewal:done`: the server has answered a renewal. */
export interface RenewalDoneEvent extends AboutClient {
  /** How many locks the command was to renew. */
  readonly locks: number;
  /** How many milliseconds after its beat the command was sent. */
  readonly lateMs: number;
  /** Milliseconds from there to the answer. */
  readonly durationMs: number;
  /** For how many milliseconds the lease that was the shortest then was still trusted; Infinity where only fixed leases were written again. */
  readonly leastRemainingMs: number;
}

/** `holdfast:renewal:failed`: a renewal has an unknown outcome and is tried again. */
export interface RenewalFailedEvent extends AboutClient {
  /** How many locks the call was to renew. */
  readonly locks: number;
  readonly error: unknown;
}

/** The context of the tracing channel `holdfast:command`, from start to asyncEnd. */
export interface CommandEvent extends AboutClient {
  /** The script, as in the documents. */
  readonly script: string;
  /** How many locks, permits or other things it was about when it was sent last; set at the end, 0 where it was not sent. */
  locks?: number;
  /** How often it was sent; set at the end. */
  tries?: number;
  /**
   * Set at the end. `refused`: nothing was carried out, as far as is known. `unknown`: no answer, and it may have been carried out.
   * `closed`: the client was closed before the answer.
   */
  outcome?: "answered" | "refused" | "unknown" | "closed";
  /** Milliseconds from the first try to the end, with all pauses; set at the end. */
  durationMs?: number;
}

/** `holdfast:client:open`, `holdfast:client:close`: a client was made; it has been closed. */
export interface ClientEvent extends AboutClient {}

/** `holdfast:subscription:failed`: waiters live without messages for a while and ask now and then. */
export interface SubscriptionFailedEvent extends AboutClient {
  readonly channel: string;
  readonly error: unknown;
}

/** `holdfast:replicas:short`: fewer replicas than wanted had in time what a command wrote. */
export interface ReplicasShortEvent extends AboutClient {
  /** The script, as in the documents. */
  readonly script: string;
  readonly acknowledged: number;
  readonly wanted: number;
  /** Why replicas are not asked any more: the server refuses `WAIT`. Published once. */
  readonly error?: unknown;
}

/**
 * `holdfast:server:unsuited`: locks should not be entrusted to a server. Published once for each client, server and fault, when a client first
 * meets a server, when it is pinged, and when it answers again after a lost connection.
 */
export interface ServerUnsuitedEvent {
  /** The client that has met the server. */
  readonly clientId: string;
  /** The server in question, without credentials; of several, where the Redis client tells, which one. */
  readonly server: string;
  /**
   * `evicts`: its `maxmemory-policy` is another than `noeviction`, so that it may remove a lock that is held. `is-replica`: it is no master,
   * and refuses writes.
   */
  readonly what: "evicts" | "is-replica";
  /** What the server has told: `maxmemory-policy allkeys-lru, maxmemory 1073741824`, `role slave`. */
  readonly found: string;
}

/** `holdfast:presence:failed`: a client could not tell its group that it is there. Its locks are not concerned. */
export interface PresenceFailedEvent extends AboutClient {
  readonly group: string;
  readonly error: unknown;
  /** True when the user of the server has not the right to it: the client tells nothing from now on. */
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

/** A tracing channel. Unlike Node's type, it takes a subscriber with only some of the handlers. */
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
