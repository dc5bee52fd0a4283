import type { FencedLease, Holdfast, Lease, Tried } from "holdfast";
import {
  cronCoordinator,
  leader,
  locked,
  type Once,
  type RunCoordinator,
  runOnce,
  singleFlight,
} from "holdfast/recipes";
import { expectTypeOf } from "vitest";

declare const holdfast: Holdfast;

// The short forms are those of the plain lock.
expectTypeOf(holdfast.lock("a")).toEqualTypeOf<Promise<Lease>>();
expectTypeOf(holdfast.tryLock("a", { leaseMs: 5 })).toEqualTypeOf<Promise<Lease | null>>();
expectTypeOf(holdfast.using("a", async (lease) => lease.holder)).toEqualTypeOf<Promise<string>>();
expectTypeOf(holdfast.using("a", { waitMs: 5 }, () => 1)).toEqualTypeOf<Promise<number>>();
expectTypeOf(holdfast.tryUsing("a", () => 1)).toEqualTypeOf<Promise<Tried<number>>>();
// @ts-expect-error there is no such option
void holdfast.using("a", { ttl: 5 }, () => 1);
// @ts-expect-error a body is needed
void holdfast.using("a");

// What a run returned is there only where it ran.
const once = await runOnce(holdfast, { name: "nightly", fireTime: new Date() }, () => 7);
expectTypeOf(once).toEqualTypeOf<Once<number>>();
if (once.ran) expectTypeOf(once.value).toEqualTypeOf<number>();
else expectTypeOf(once.because).toEqualTypeOf<"busy" | "done" | "late">();

expectTypeOf(cronCoordinator(holdfast)).toEqualTypeOf<RunCoordinator>();

void leader(holdfast, { name: "scheduler" }, ({ token, lease }) => {
  expectTypeOf(token).toEqualTypeOf<bigint>();
  expectTypeOf(lease).toEqualTypeOf<FencedLease>();
});

// Only who skips has to look whether there is a value.
const parts = { read: () => undefined, load: async () => "a", write: (value: string) => void value };
expectTypeOf(singleFlight<string>(holdfast, "a", parts)).toEqualTypeOf<Promise<string>>();
expectTypeOf(singleFlight<string>(holdfast, "a", { ...parts, onBusy: "skip" })).toEqualTypeOf<
  Promise<string | undefined>
>();

class Orders {
  readonly holdfast = holdfast;

  @locked(
    (orders: Orders) => orders.holdfast,
    (id: string) => `order:${id}`,
    { waitMs: 5_000 },
  )
  async pay(id: string): Promise<string> {
    return id;
  }

  // @ts-expect-error what is locked answers later
  @locked(holdfast, "a", { onBusy: "skip" })
  now(): number {
    return 1;
  }
}
expectTypeOf(new Orders().pay).toEqualTypeOf<(id: string) => Promise<string>>();
