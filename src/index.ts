export type { Backoff, ConstantBackoff, ExponentialBackoff } from "./backoff-options.js";
export type {
  Around,
  AroundHold,
  HandOffOptions,
  HoldfastOptions,
  PubSub,
  ReplicaOptions,
} from "./client-options.js";
export type { Clock, Timer } from "./clock.js";
export type { CloseOptions } from "./close-options.js";
export type {
  ChannelListener,
  Driver,
  DriverTraits,
  MasterReply,
  PubSubFamily,
  ReplicaDemand,
  ReplicatedReply,
  Ticket,
  Unsubscribe,
} from "./driver/driver.js";
export { DriverClosedError, ServerReplyError, WaitRefusedError } from "./driver/driver.js";
export {
  ClientClosedError,
  HoldfastError,
  InvalidNameError,
  LeaseLostError,
  type LossReason,
  NotHeldError,
  NotReplicatedError,
  type Obstacle,
  QuorumError,
  ReentryError,
  UnavailableError,
  UpgradeNotSupportedError,
  WaitTimeoutError,
  WrongTypeError,
} from "./errors.js";
export {
  type AboutClient,
  type AcquireEvent,
  type ClientEvent,
  type CommandEvent,
  type ContendedEvent,
  type EventChannel,
  events,
  type ForcedEvent,
  type LatchAwaitEvent,
  type LeaseAbandonedEvent,
  type LeaseLostEvent,
  type PresenceFailedEvent,
  type ReleaseEvent,
  type ReleaseFailedEvent,
  type RenewalDoneEvent,
  type RenewalFailedEvent,
  type ReplicasShortEvent,
  type ServerUnsuitedEvent,
  type SubscriptionFailedEvent,
  type TraceChannel,
  type WaitEnd,
} from "./events.js";
export type { LockSearch } from "./finding/find-locks.js";
export type { FindLocksOptions, LockSource } from "./finding/finding-options.js";
export type { ClientRef, ListedHolder, ListedLock, ListedWaiter } from "./finding/listed-lock.js";
export { Holdfast } from "./holdfast.js";
export type { FencedLease, Lease, Tried } from "./lease.js";
export type { FencedLock } from "./locks/fenced-lock.js";
export type { ForceUnlockOutcome } from "./locks/force-unlock.js";
export type { LockState, StoredLockKind, TakenPermit } from "./locks/inspect.js";
export type { Lock } from "./locks/lock.js";
export type { ReadWriteLock } from "./locks/read-write-lock.js";
export type {
  LockOptions,
  LockSettings,
  PermitOptions,
  ReadWriteLockSettings,
  Reentry,
  SemaphoreSettings,
  SpinLockSettings,
  UnlockOptions,
  WaitOptions,
} from "./options.js";
export type { PingOptions, Pong } from "./ping.js";
export type { PresentHold, PresentLoss, PresentStats, PresentWait } from "./presence/claims.js";
export type { ClientPresence, Fleet } from "./presence/fleet.js";
export type { FleetOptions, PresenceOptions } from "./presence/presence-options.js";
export type { RawReply, ScriptCall, ScriptSource } from "./protocol/script-call.js";
export type { CountDownLatch } from "./synchronizers/count-down-latch.js";
export type { PermitExpirableSemaphore } from "./synchronizers/permit-expirable-semaphore.js";
export type { Permits } from "./synchronizers/permits.js";
export type {
  ForceReleaseOptions,
  ForceReleaseOutcome,
  SetPermitsOutcome,
} from "./synchronizers/seen-semaphore.js";
export type { Semaphore } from "./synchronizers/semaphore.js";
export type { HoldState } from "./threads/held.js";
