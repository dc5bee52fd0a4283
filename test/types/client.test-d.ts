import {
  type Around,
  type AroundHold,
  type Clock,
  type CloseOptions,
  type Driver,
  Holdfast,
  HoldfastError,
  type HoldfastOptions,
  LeaseLostError,
  type LossReason,
  type NotHeldError,
  type Obstacle,
  UnavailableError,
  WaitTimeoutError,
  WrongTypeError,
} from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { FakeClock, MemoryServer, memoryDriver } from "holdfast/memory";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { expectTypeOf } from "vitest";

// Clients of ioredis 5 and 6 will do, whatever they answer with; others will not.
expectTypeOf(ioredisDriver(new Redis())).toEqualTypeOf<Driver>();
expectTypeOf(ioredisDriver(new Redis5())).toEqualTypeOf<Driver>();
expectTypeOf(ioredisDriver(new Redis({ protocol: 2 }))).toEqualTypeOf<Driver>();
// @ts-expect-error a pipeline is no client
ioredisDriver(new Redis().pipeline());
// @ts-expect-error options are no client
ioredisDriver({ host: "127.0.0.1", port: 6379 });

// The embedded server, on a clock of its own or not.
const clock = new FakeClock();
expectTypeOf(clock).toExtend<Clock>();
expectTypeOf(memoryDriver()).toEqualTypeOf<Driver>();
expectTypeOf(memoryDriver(new MemoryServer({ clock }))).toEqualTypeOf<Driver>();

// A client needs a driver; its options are those that there are.
const holdfast = new Holdfast(memoryDriver());
new Holdfast(memoryDriver(), { clock, watchdogMs: 30_000, nameMapper: (name) => `app:${name}` });
new Holdfast(memoryDriver(), { around: (_hold, body) => body() });
expectTypeOf<HoldfastOptions["around"]>().toEqualTypeOf<Around | undefined>();
expectTypeOf<AroundHold["token"]>().toEqualTypeOf<bigint | undefined>();
expectTypeOf<AroundHold["note"]>().toEqualTypeOf<string | undefined>();
// @ts-expect-error it returns what the body returns
new Holdfast(memoryDriver(), { around: (_hold, body) => void body() });
// @ts-expect-error a client of Redis is no driver
new Holdfast(new Redis());
// @ts-expect-error there must be a driver
new Holdfast();
// @ts-expect-error there is no such option
new Holdfast(memoryDriver(), { watchdog: 30_000 });
// @ts-expect-error the mapper answers with a name
new Holdfast(memoryDriver(), { nameMapper: () => undefined });
expectTypeOf<keyof HoldfastOptions>().toEqualTypeOf<
  | "waitMs"
  | "watchdogMs"
  | "fleetWatchdogMs"
  | "commandTimeoutMs"
  | "safetyPeriodMs"
  | "pubSub"
  | "groupCommit"
  | "handOff"
  | "presence"
  | "redMemberTimeoutMs"
  | "replicas"
  | "nameMapper"
  | "around"
  | "reentry"
  | "clockSkewMs"
  | "clock"
>();
declare const options: HoldfastOptions;
// @ts-expect-error read-only
options.watchdogMs = 5;

// Scopes infer what their bodies return; `outside` passes it on as it is.
expectTypeOf(holdfast.asThread(() => 1)).toEqualTypeOf<Promise<number>>();
expectTypeOf(holdfast.asThread(async () => "a")).toEqualTypeOf<Promise<string>>();
expectTypeOf(holdfast.outside(() => 1)).toEqualTypeOf<number>();
expectTypeOf(holdfast.outside(async () => "a")).toEqualTypeOf<Promise<string>>();

// Closing.
expectTypeOf(holdfast).toExtend<AsyncDisposable>();
expectTypeOf(holdfast.close({ graceMs: 5, releaseHeld: true })).toEqualTypeOf<Promise<void>>();
expectTypeOf<CloseOptions>().toEqualTypeOf<{ readonly releaseHeld?: boolean; readonly graceMs?: number }>();
// @ts-expect-error there is no such option
void holdfast.close({ timeoutMs: 5 });
// @ts-expect-error read-only
holdfast.clientId = "mine";

// Errors can be told apart by class or by code, and say what they know.
declare const error: unknown;
if (error instanceof HoldfastError) expectTypeOf(error.code).toEqualTypeOf<string>();
if (error instanceof WaitTimeoutError) expectTypeOf(error.obstacle).toEqualTypeOf<Obstacle | undefined>();
if (error instanceof LeaseLostError) expectTypeOf(error.reason).toEqualTypeOf<LossReason>();
if (error instanceof UnavailableError) expectTypeOf(error.outcomeUnknown).toEqualTypeOf<boolean>();
if (error instanceof WrongTypeError) expectTypeOf(error.type).toEqualTypeOf<string>();
expectTypeOf<LossReason>().toEqualTypeOf<
  "expired" | "stolen" | "unreachable" | "max-hold" | "closed" | "released" | "server-changed"
>();
expectTypeOf<NotHeldError>().toExtend<Error>();
expectTypeOf<WaitTimeoutError["code"]>().toEqualTypeOf<"ERR_HOLDFAST_WAIT_TIMEOUT">();

declare const known: WaitTimeoutError | LeaseLostError;
if (known.code === "ERR_HOLDFAST_LEASE_LOST") expectTypeOf(known).toEqualTypeOf<LeaseLostError>();
