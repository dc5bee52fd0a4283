import {
  type AcquireEvent,
  type ClientEvent,
  type CommandEvent,
  type ContendedEvent,
  events,
  type ForcedEvent,
  type LatchAwaitEvent,
  type LeaseAbandonedEvent,
  type LeaseLostEvent,
  type LossReason,
  type ReleaseEvent,
  type ReleaseFailedEvent,
  type RenewalDoneEvent,
  type RenewalFailedEvent,
  type ReplicasShortEvent,
  type SubscriptionFailedEvent,
  type WaitEnd,
} from "holdfast";
import { expectTypeOf } from "vitest";

// A listener is given the payload of its channel.
events.contended.subscribe((event) => expectTypeOf(event).toEqualTypeOf<ContendedEvent>());
events.release.subscribe((event) => expectTypeOf(event).toEqualTypeOf<ReleaseEvent>());
events.leaseLost.subscribe((event) => expectTypeOf(event).toEqualTypeOf<LeaseLostEvent>());
events.releaseFailed.subscribe((event) => expectTypeOf(event).toEqualTypeOf<ReleaseFailedEvent>());
events.leaseAbandoned.subscribe((event) => expectTypeOf(event).toEqualTypeOf<LeaseAbandonedEvent>());
events.forced.subscribe((event) => expectTypeOf(event).toEqualTypeOf<ForcedEvent>());
events.renewalDone.subscribe((event) => expectTypeOf(event).toEqualTypeOf<RenewalDoneEvent>());
events.replicasShort.subscribe((event) => expectTypeOf(event).toEqualTypeOf<ReplicasShortEvent>());
events.clientOpen.subscribe((event) => expectTypeOf(event).toEqualTypeOf<ClientEvent>());
events.clientClose.subscribe((event) => expectTypeOf(event).toEqualTypeOf<ClientEvent>());
events.renewalFailed.subscribe((event) => expectTypeOf(event).toEqualTypeOf<RenewalFailedEvent>());
events.subscriptionFailed.subscribe((event) => expectTypeOf(event).toEqualTypeOf<SubscriptionFailedEvent>());

// So are the parts of a tracing channel.
events.acquire.subscribe({
  start: ({ name, kind }) => expectTypeOf([name, kind]).toEqualTypeOf<string[]>(),
  end: (event) => expectTypeOf(event).toExtend<AcquireEvent>(),
  asyncStart: (event) => expectTypeOf(event).toExtend<AcquireEvent>(),
  asyncEnd: ({ outcome, waitedMs }) => {
    expectTypeOf(outcome).toEqualTypeOf<
      "acquired" | "refused" | "timeout" | "cancelled" | "failed" | undefined
    >();
    expectTypeOf(waitedMs).toEqualTypeOf<number | undefined>();
  },
  error: ({ error }) => expectTypeOf(error).toEqualTypeOf<unknown>(),
});

events.latchAwait.subscribe({ asyncEnd: (event) => expectTypeOf(event).toExtend<LatchAwaitEvent>() });
events.command.subscribe({
  start: ({ script, clientId }) => expectTypeOf([script, clientId]).toEqualTypeOf<string[]>(),
  asyncEnd: (event) => expectTypeOf(event).toExtend<CommandEvent>(),
});

// Nobody has to listen to all of them.
events.acquire.subscribe({ asyncEnd: ({ outcome }) => outcome });
events.acquire.unsubscribe({ error: ({ error, name }) => [error, name] });
// @ts-expect-error there is no such part
events.acquire.subscribe({ asyncStop: () => undefined });

// The payloads.
expectTypeOf<LeaseLostEvent>().toEqualTypeOf<{
  readonly clientId: string;
  readonly server: string;
  readonly name: string;
  readonly kind: string;
  readonly holder: string;
  readonly reason: LossReason;
  readonly heldMs: number;
  readonly holdCount: number;
}>();
expectTypeOf<AcquireEvent["via"]>().toEqualTypeOf<WaitEnd | undefined>();
expectTypeOf<AcquireEvent["token"]>().toEqualTypeOf<bigint | undefined>();
expectTypeOf<CommandEvent["outcome"]>().toEqualTypeOf<
  "answered" | "refused" | "unknown" | "closed" | undefined
>();
expectTypeOf<ContendedEvent["ttlMs"]>().toEqualTypeOf<number>();
expectTypeOf<ReleaseFailedEvent["error"]>().toEqualTypeOf<unknown>();
// @ts-expect-error this payload has no such part
events.release.subscribe(({ reason }) => reason);
// @ts-expect-error there is no such channel
events.renewed;

// Nobody publishes in the place of holdfast by mistake.
// @ts-expect-error the payload is not whole
events.release.publish({ name: "a" });
