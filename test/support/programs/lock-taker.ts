import { Holdfast, type Lease, type LockOptions, type PresenceOptions } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { type KindOfLock, lockOfKind } from "./kind-of-lock.js";
import { type Answer, describe, obey, settings, tell } from "./orders.js";

/**
 * A process that only holds a lock, to be killed, stopped and asked. Says "ready" when it has connected and "lost" when
 * the signal of a lease aborts; everything else it says is an answer.
 */
export interface LockTakerSettings {
  readonly port: number;
  readonly lock: string;
  /** Default: a plain lock. */
  readonly kind?: KindOfLock;
  readonly watchdogMs?: number;
  readonly commandTimeoutMs?: number;
  readonly presence?: PresenceOptions;
}

const { port, lock: name, kind = "lock", ...options } = settings<LockTakerSettings>();
const redis = new Redis({ host: "127.0.0.1", port, retryStrategy: () => 20 });
redis.on("error", (error: Error) => tell("connection-error", { error: describe(error) }));
// A red lock's server that is slow, since the machine is busy, is not away.
const holdfast = new Holdfast(ioredisDriver(redis), { redMemberTimeoutMs: 3_000, ...options });
const lock = lockOfKind(holdfast, kind, name);
/** The newest last. */
const leases: Lease[] = [];

function held(lease: Lease | null): Answer {
  if (lease === null) return { event: "busy" };
  leases.push(lease);
  lease.signal.addEventListener("abort", () => tell("lost", { error: describe(lease.signal.reason) }));
  const { holder, threadId, holdCount } = lease;
  return { event: "held", holder, threadId, holdCount, remainingMs: lease.remainingMs() };
}

/** Looks at the lease at once; anything that has to wait for the event loop would be later. */
function state(): Answer {
  const lease = leases.at(-1);
  if (lease === undefined) return { event: "state", state: "none" };
  return {
    event: "state",
    state: lease.state,
    aborted: lease.signal.aborted,
    remainingMs: lease.remainingMs(),
  };
}

const stopListening = obey({
  /** `name`: another lock of the same kind. */
  lock: async ({ name: other, ...lockOptions }: LockOptions & { readonly name?: string }) =>
    held(await (other === undefined ? lock : lockOfKind(holdfast, kind, other)).lock(lockOptions)),
  tryLock: async (lockOptions: LockOptions) => held(await lock.tryLock(lockOptions)),
  unlock: async () => {
    await leases.pop()?.unlock();
    return { event: "released" };
  },
  state,
  /** Does not return to the event loop for so long, then looks at the lease. */
  block: ({ ms = 0 }: { ms?: number }) => {
    const endMs = performance.now() + ms;
    while (performance.now() < endMs);
    return state();
  },
  /** Does not return to the event loop until it was stopped (SIGSTOP) for so long, then looks at the lease. */
  awaitStop: ({ ms = 100 }: { ms?: number }) => {
    // A stop may follow at once: what comes before the message is in time for it.
    let lastMs = performance.now();
    tell("awaiting-stop");
    for (let nowMs = lastMs; nowMs - lastMs < ms; nowMs = performance.now()) lastMs = nowMs;
    return state();
  },
  /** Forgets its leases and lets go of everything that keeps it alive; then ends when holdfast lets it. */
  forget: () => {
    leases.length = 0;
    stopListening();
    redis.disconnect();
    return { event: "forgotten" };
  },
  /** Closes everything; then ends. */
  exit: async (closeOptions: object) => {
    await holdfast.close(closeOptions);
    stopListening();
    redis.disconnect();
    return { event: "closed" };
  },
});

await redis.ping();
tell("ready", { clientId: holdfast.clientId });
