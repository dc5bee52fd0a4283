import {
  channel,
  type TracingChannel,
  type TracingChannelSubscribers,
  tracingChannel,
} from "node:diagnostics_channel";
import type { LossReason } from "./errors.js";

/** What every event about a lock or a semaphore says. */
interface AboutLock {
  /** The name that the program uses. */
  readonly name: string;
  /** The kind, as the factory calls it: `lock`, `semaphore`. */
  readonly kind: string;
}

interface AboutHold extends AboutLock {
  /** The holder as stored in Redis; of leased permits their ids, with commas between; "" of a plain semaphore, whose permits have no owner. */
  readonly holder: string;
}

/** The context of the tracing channel `holdfast:lock:acquire`, from start to asyncEnd. */
export interface AcquireEvent extends AboutLock {
  /**
   * Set at the end. `refused`: it was not free, and the call does not wait. `timeout`: `waitMs` ran out. `cancelled`: the caller's
   * signal aborted, or the client was closed. `failed`: the call rejects for any other reason.
   */
  outcome?: "acquired" | "refused" | "timeout" | "cancelled" | "failed";
  /** Milliseconds from the call to its end; set at the end. */
  waitedMs?: number;
  /** How often Redis was asked; set at the end. */
  attempts?: number;
  /** Set when a lock or leased permits were acquired. */
  holder?: string;
  /** Set when a lock was acquired: 1 for the outermost hold. */
  holdCount?: number;
  /** Set when permits were acquired: how many. */
  permits?: number;
}

/** `holdfast:lock:contended`: the first attempt of an acquisition found the lock held. Locks only. */
export interface ContendedEvent extends AboutLock {
  /** The holder as stored in Redis. */
  readonly holder: string;
  /** Milliseconds its lease has left, -1 without a TTL. */
  readonly ttlMs: number;
  /** True when this client holds the lock: the caller may be waiting for itself. */
  readonly own: boolean;
}

/** `holdfast:lock:release`: a hold or leased permits were released. */
export interface ReleaseEvent extends AboutHold {
  readonly heldMs: number;
}

/** `holdfast:lease:lost`: a lease ended before it was released, be it one that was to be kept until then. */
export interface LeaseLostEvent extends AboutHold {
  readonly reason: LossReason;
  /** Milliseconds from the acquisition to the end of the lease, however late that was noticed. */
  readonly heldMs: number;
}

/** `holdfast:lease:release-failed`: a release behind `using` or `await using` failed. */
export interface ReleaseFailedEvent extends AboutHold {
  readonly error: unknown;
}

/** `holdfast:lease:abandoned`: a lease was forgotten without a release; its lock falls by its TTL. */
export interface LeaseAbandonedEvent extends AboutHold {}

/** `holdfast:renewal:failed`: a renewal has an unknown outcome and is tried again. */
export interface RenewalFailedEvent {
  /** How many locks the call was to renew. */
  readonly locks: number;
  readonly error: unknown;
}

/** `holdfast:subscription:failed`: waiters live without messages for a while and ask now and then. */
export interface SubscriptionFailedEvent {
  readonly channel: string;
  readonly error: unknown;
}

/** `holdfast:replicas:short`: fewer replicas than wanted had in time what a command wrote. */
export interface ReplicasShortEvent {
  /** The server in question, without credentials. */
  readonly server: string;
  /** The script, as in the documents. */
  readonly command: string;
  readonly acknowledged: number;
  readonly wanted: number;
  /** Why replicas are not asked any more: the server refuses `WAIT`. Published once. */
  readonly error?: unknown;
}

/** `holdfast:presence:failed`: a client could not tell its group that it is there. Its locks are not concerned. */
export interface PresenceFailedEvent {
  readonly clientId: string;
  /** The server in question, without credentials. */
  readonly server: string;
  readonly group: string;
  readonly error: unknown;
  /** True when the user of the server has not the right to it: the client tells nothing from now on. */
  readonly isFinal: boolean;
}

/** A channel of `node:diagnostics_channel` whose payload has a type. */
export interface EventChannel<Event> {
  readonly name: string | symbol;
  readonly hasSubscribers: boolean;
  publish(event: Event): void;
  subscribe(listener: (event: Event, name: string | symbol) => void): void;
  unsubscribe(listener: (event: Event, name: string | symbol) => void): void;
}

type AcquireHandlers = TracingChannelSubscribers<AcquireEvent>;

/** The tracing channel of acquisitions. Unlike Node's type, it takes a subscriber with only some of the handlers. */
export interface AcquireChannel
  extends Omit<TracingChannel<unknown, AcquireEvent>, "subscribe" | "unsubscribe"> {
  subscribe(handlers: Partial<AcquireHandlers>): void;
  unsubscribe(handlers: Partial<AcquireHandlers>): void;
}

function typed<Event>(name: string): EventChannel<Event> {
  return channel(name) as EventChannel<Event>;
}

/** The `node:diagnostics_channel` channels of holdfast. Payloads are only made for channels with subscribers. */
export const events: {
  readonly acquire: AcquireChannel;
  readonly contended: EventChannel<ContendedEvent>;
  readonly release: EventChannel<ReleaseEvent>;
  readonly leaseLost: EventChannel<LeaseLostEvent>;
  readonly releaseFailed: EventChannel<ReleaseFailedEvent>;
  readonly leaseAbandoned: EventChannel<LeaseAbandonedEvent>;
  readonly renewalFailed: EventChannel<RenewalFailedEvent>;
  readonly subscriptionFailed: EventChannel<SubscriptionFailedEvent>;
  readonly replicasShort: EventChannel<ReplicasShortEvent>;
  readonly presenceFailed: EventChannel<PresenceFailedEvent>;
} = {
  acquire: tracingChannel<unknown, AcquireEvent>("holdfast:lock:acquire") as AcquireChannel,
  contended: typed("holdfast:lock:contended"),
  release: typed("holdfast:lock:release"),
  leaseLost: typed("holdfast:lease:lost"),
  releaseFailed: typed("holdfast:lease:release-failed"),
  leaseAbandoned: typed("holdfast:lease:abandoned"),
  renewalFailed: typed("holdfast:renewal:failed"),
  subscriptionFailed: typed("holdfast:subscription:failed"),
  replicasShort: typed("holdfast:replicas:short"),
  presenceFailed: typed("holdfast:presence:failed"),
};
