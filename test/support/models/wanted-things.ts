import { QuorumError, UnavailableError, WaitTimeoutError } from "../../../src/errors.js";
import type { Holdfast } from "../../../src/holdfast.js";
import type { Lock } from "../../../src/locks/lock.js";
import type { LockOptions, WaitOptions } from "../../../src/options.js";
import { kinds } from "../../kinds/kinds.js";

/** One call that wants something, by one of the methods that can be refused. */
interface Way {
  readonly method: string;
  call(client: Holdfast, name: string, options: WaitOptions): Promise<unknown>;
}

/** A lock of some kind, a semaphore or a latch, and all ways to want it. */
export interface WantedThing {
  readonly name: string;
  readonly ways: readonly Way[];
  /** Takes it for good, so that calls are refused. */
  take(client: Holdfast, name: string): Promise<unknown>;
  /** Makes so much of it that calls are not refused; undefined where there is nothing to make, or where calls only look at it. */
  readonly stock?: (client: Holdfast, name: string) => Promise<unknown>;
  /** Whether a call that is granted it writes nothing. */
  readonly onlyReads?: boolean;
  /** Whether a hold of the call's own client tells it that others have it: permits and counts belong to no client. */
  readonly isHeld: boolean;
}

const HOUR_MS = 3_600_000;
const PLENTY = 1_000_000;

function waysOf(
  of: (client: Holdfast, name: string) => Lock,
  as: { readonly threadId?: number } = {},
): readonly Way[] {
  const ways: { readonly [method: string]: (lock: Lock, options: LockOptions) => Promise<unknown> } = {
    tryLock: (lock, options) => lock.tryLock(options),
    lock: (lock, options) => lock.lock(options),
    tryUsing: (lock, options) => lock.tryUsing(options, forEver),
    using: (lock, options) => lock.using(options, forEver),
  };
  return Object.entries(ways).map(([method, way]) => ({
    method,
    call: (client, name, options) => way(of(client, name), { ...options, ...as }),
  }));
}

/** What is taken stays taken until its client is closed. */
function forEver(): Promise<void> {
  return new Promise(() => undefined);
}

const locks: readonly WantedThing[] = kinds.map((kind) => ({
  name: kind.name,
  isHeld: true,
  ways: waysOf(kind.of),
  take: (client, name) => (kind.obstacle ?? kind.of)(client, name).lock({ leaseMs: HOUR_MS }),
}));

/** Of calls under one id only one asks, and the others wait for their turn behind it. */
const underOneId: readonly WantedThing[] = [
  { what: "lock", of: (client: Holdfast, name: string) => client.getLock(name) },
  { what: "fair lock", of: (client: Holdfast, name: string) => client.getFairLock(name) },
].map(({ what, of }) => ({
  name: `${what} under one id`,
  isHeld: true,
  ways: waysOf(of, { threadId: 7 }),
  take: (client, name) => of(client, name).lock({ leaseMs: HOUR_MS }),
}));

const counts: readonly WantedThing[] = [
  {
    name: "semaphore",
    isHeld: false,
    ways: [
      {
        method: "tryAcquire",
        call: (client, name, options) => client.getSemaphore(name).tryAcquire(options),
      },
      { method: "acquire", call: (client, name, options) => client.getSemaphore(name).acquire(options) },
      {
        method: "tryUsing",
        call: (client, name, options) => client.getSemaphore(name).tryUsing(options, forEver),
      },
      { method: "using", call: (client, name, options) => client.getSemaphore(name).using(options, forEver) },
      {
        method: "acquire of two",
        call: (client, name, options) => client.getSemaphore(name).acquire(2, options),
      },
    ],
    take: (client, name) => client.getSemaphore(name).trySetPermits(0),
    stock: (client, name) => client.getSemaphore(name).trySetPermits(PLENTY),
  },
  {
    name: "leased permits",
    isHeld: false,
    ways: (["tryAcquire", "acquire", "tryUsing", "using"] as const).map((method) => ({
      method,
      call: (client, name, options) => {
        const semaphore = client.getPermitExpirableSemaphore(name);
        const leased = { ...options, leaseMs: HOUR_MS };
        if (method === "using") return semaphore.using(leased, forEver);
        return method === "tryUsing" ? semaphore.tryUsing(leased, forEver) : semaphore[method](leased);
      },
    })),
    take: (client, name) => client.getPermitExpirableSemaphore(name).trySetPermits(0),
    stock: (client, name) => client.getPermitExpirableSemaphore(name).trySetPermits(PLENTY),
  },
  {
    name: "latch",
    isHeld: false,
    ways: [
      { method: "await", call: (client, name, options) => client.getCountDownLatch(name).await(options) },
    ],
    take: (client, name) => client.getCountDownLatch(name).trySetCount(1),
    onlyReads: true,
  },
];

/** One of each way to wait: of these 200 calls stand in one line. */
export const CROWDED: ReadonlySet<string> = new Set(["lock", "fair", "spin", "read", "semaphore", "latch"]);

export const wantedThings: readonly WantedThing[] = [...locks, ...underOneId, ...counts];

/**
 * What a call has come to. `refused`: it was told that others have what it wants; `away`: that Redis has told it nothing.
 */
export type Verdict = "pending" | "refused" | "away" | "taken" | `other: ${string}`;

export function verdictOf(outcome: { value: unknown } | { error: unknown } | undefined): Verdict {
  if (outcome === undefined) return "pending";
  if ("error" in outcome) {
    const { error } = outcome;
    if (error instanceof WaitTimeoutError) return "refused";
    if (error instanceof UnavailableError || error instanceof QuorumError) return "away";
    return `other: ${String(error)}`;
  }
  const { value } = outcome;
  const isRefused = value === null || value === false || JSON.stringify(value) === '{"ran":false}';
  return isRefused ? "refused" : "taken";
}
