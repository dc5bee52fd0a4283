import type { Holdfast, HoldState, Lease, Lock, LockOptions, LockSettings, LockState, Tried } from "holdfast";
import { expectTypeOf } from "vitest";

declare const holdfast: Holdfast;
declare const lock: Lock;
declare const lease: Lease;
declare const options: LockOptions;

// A lock is had by a name, and its calls answer with leases: `lock` always, `tryLock` only perhaps.
expectTypeOf(holdfast.getLock("a")).toEqualTypeOf<Lock>();
expectTypeOf(lock.name).toEqualTypeOf<string>();
expectTypeOf(await lock.lock()).toEqualTypeOf<Lease>();
expectTypeOf(await lock.tryLock()).toEqualTypeOf<Lease | null>();
expectTypeOf(await lock.tryLock({ waitMs: 5 })).toEqualTypeOf<Lease | null>();

// What `tryLock` answers can not be used before it is looked at.
const maybe = await lock.tryLock();
// @ts-expect-error it may be null
void maybe.unlock();
if (maybe !== null) expectTypeOf(maybe).toEqualTypeOf<Lease>();
else expectTypeOf(maybe).toEqualTypeOf<null>();

// `using` infers what the body returns, awaited, in both of its forms.
expectTypeOf(lock.using(() => 1)).toEqualTypeOf<Promise<number>>();
expectTypeOf(lock.using(async () => "a")).toEqualTypeOf<Promise<string>>();
expectTypeOf(lock.using({ waitMs: 5 }, () => 1)).toEqualTypeOf<Promise<number>>();
expectTypeOf(lock.using(options, async () => ({ a: 1 }))).toEqualTypeOf<Promise<{ a: number }>>();
expectTypeOf(lock.using(() => undefined)).toEqualTypeOf<Promise<undefined>>();
expectTypeOf(lock.using({ keepForMs: 5 }, () => 1)).toEqualTypeOf<Promise<number>>();
// @ts-expect-error nothing is released that could be kept
void lock.lock({ keepForMs: 5 });
expectTypeOf(lock.using((held) => held)).toEqualTypeOf<Promise<Lease>>();
expectTypeOf(lock.using(options, (held) => held.holder)).toEqualTypeOf<Promise<string>>();
// @ts-expect-error there must be something to run
void lock.using({ waitMs: 5 });
// @ts-expect-error the options come first
void lock.using(() => 1, { waitMs: 5 });

// `tryUsing` says whether the body was run, so that one that returns nothing can be told from a refusal.
expectTypeOf(lock.tryUsing(() => 1)).toEqualTypeOf<Promise<Tried<number>>>();
expectTypeOf(lock.tryUsing({ waitMs: 5 }, async (held) => held.name)).toEqualTypeOf<Promise<Tried<string>>>();
const tried = await lock.tryUsing(() => 1);
if (tried.ran) expectTypeOf(tried.value).toEqualTypeOf<number>();
else expectTypeOf(tried.value).toEqualTypeOf<undefined>();

// A kind of lock may have leases of its own.
interface Stamped extends Lease {
  readonly stamp: bigint;
}
declare const stamped: Lock<Stamped>;
expectTypeOf(await stamped.lock()).toEqualTypeOf<Stamped>();
expectTypeOf(await stamped.tryLock()).toEqualTypeOf<Stamped | null>();
expectTypeOf(stamped.using((held) => held.stamp)).toEqualTypeOf<Promise<bigint>>();
expectTypeOf(stamped).toExtend<Lock>();
// @ts-expect-error a lease of a Lock is a Lease
declare const _wrong: Lock<string>;

// The rest of the lock.
expectTypeOf(lock.unlock).toEqualTypeOf<(threadId?: number) => Promise<void>>();
expectTypeOf(lock.forceUnlock).toEqualTypeOf<() => Promise<boolean>>();
expectTypeOf(lock.isLocked).toEqualTypeOf<() => Promise<boolean>>();
expectTypeOf(lock.isHeldByCurrentThread).toEqualTypeOf<() => Promise<boolean>>();
expectTypeOf(lock.isHeldByThread).toEqualTypeOf<(threadId: number) => Promise<boolean>>();
expectTypeOf(lock.getHoldCount).toEqualTypeOf<(threadId?: number) => Promise<number>>();
expectTypeOf(lock.remainTimeToLive).toEqualTypeOf<() => Promise<number>>();

// A lease is a disposable that nobody can write to.
expectTypeOf(lease).toExtend<AsyncDisposable>();
expectTypeOf(lease.state).toEqualTypeOf<"held" | "released" | "lost">();
expectTypeOf<HoldState>().toEqualTypeOf<"held" | "released" | "lost">();
expectTypeOf(lease.signal).toEqualTypeOf<AbortSignal>();
expectTypeOf(lease.remainingMs()).toEqualTypeOf<number>();
expectTypeOf(lease.run(() => 1)).toEqualTypeOf<Promise<number>>();
expectTypeOf(lease.run(async () => "a")).toEqualTypeOf<Promise<string>>();
expectTypeOf(lease.assertHeld()).toEqualTypeOf<void>();
expectTypeOf(lease.unlock()).toEqualTypeOf<Promise<void>>();
// @ts-expect-error read-only
lease.holder = "somebody";
// @ts-expect-error read-only
lease.state = "held";
// @ts-expect-error read-only
lock.name = "b";
{
  await using scoped = await lock.lock();
  expectTypeOf(scoped).toEqualTypeOf<Lease>();
  // A null is disposed of by doing nothing.
  await using perhaps = await lock.tryLock();
  expectTypeOf(perhaps).toEqualTypeOf<Lease | null>();
  // @ts-expect-error a lease is given back asynchronously
  using _synchronous = scoped;
}

// Options: only those that there are, of the right type, which nobody may change afterwards.
expectTypeOf<LockOptions>().toEqualTypeOf<{
  readonly waitMs?: number | undefined;
  readonly leaseMs?: number | undefined;
  readonly watchdogMs?: number | undefined;
  readonly maxHoldMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly threadId?: number | undefined;
  readonly note?: string | undefined;
}>();
expectTypeOf<LockSettings>().toEqualTypeOf<{ readonly reentry?: "scope" | "explicit" }>();
void lock.lock({});
void lock.lock({ signal: AbortSignal.abort(), waitMs: undefined });
void lock.lock({ watchdogMs: 10_000, maxHoldMs: 60_000, note: "invoice 42" });
// @ts-expect-error a note is text
void lock.lock({ note: 42 });
// @ts-expect-error there is no such option
void lock.lock({ wait: 5 });
// @ts-expect-error there is no such option
void lock.tryLock({ leaseTime: 5 });
// @ts-expect-error there is no such option
void lock.using({ timeoutMs: 5 }, () => 1);
// @ts-expect-error milliseconds are a number
void lock.lock({ waitMs: "5s" });
// @ts-expect-error milliseconds are a number, not Redisson's wait, lease and unit
void lock.tryLock(5, 10);
// @ts-expect-error not a controller
void lock.lock({ signal: new AbortController() });
// @ts-expect-error there is no such way
holdfast.getLock("a", { reentry: "never" });
// @ts-expect-error read-only
options.waitMs = 5;

// What the body around the caller holds; a fenced lease is told by its token.
expectTypeOf(holdfast.leaseHere).toEqualTypeOf<(name: string) => Lease | undefined>();
expectTypeOf(holdfast.assertLocked).toEqualTypeOf<(name: string) => void>();
const here = holdfast.leaseHere("a");
if (here !== undefined && "token" in here) expectTypeOf(here.token).toEqualTypeOf<unknown>();

// The look from outside.
expectTypeOf(await holdfast.inspect("a")).toEqualTypeOf<LockState>();
expectTypeOf<LockState["token"]>().toEqualTypeOf<bigint | null>();
expectTypeOf<LockState["holdCounts"]>().toEqualTypeOf<Readonly<Record<string, number>>>();
