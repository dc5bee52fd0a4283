// #region prometheus
import { performance } from "node:perf_hooks";
import { events } from "holdfast";
import { Counter, Gauge, Histogram } from "prom-client";

// The same metrics as those of OpenTelemetry, by the names that its exporters for Prometheus give them.
const kind = "holdfast_lock_kind";
const command = "holdfast_command";
const times = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const holds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const lateness = [0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const sizes = [1, 2, 5, 10, 20, 50, 100];

function counter(name: string, help: string, ...labelNames: string[]) {
  return new Counter({ name: `holdfast_${name}_total`, help, labelNames });
}
function histogram(name: string, help: string, buckets: number[], ...labelNames: string[]) {
  return new Histogram({ name: `holdfast_${name}`, help, buckets, labelNames });
}
function errorType(error: unknown): string {
  const { code, name = "_OTHER" } = (error ?? {}) as { code?: unknown; name?: string };
  return typeof code === "string" ? code : name;
}

const acquired = histogram(
  "acquire_duration_seconds",
  "From a call for a lock or permits to its end, however it ends.",
  times,
  ...[kind, "holdfast_outcome", "holdfast_via", "error_type"],
);
const waiting = new Gauge({
  name: "holdfast_acquire_active",
  help: "Calls for locks and permits that have not ended.",
  labelNames: [kind],
});
const contentions = counter(
  "contentions",
  "Calls that could not get the lock or the permits immediately.",
  kind,
);
events.acquire.subscribe({
  start: (event) => waiting.inc({ [kind]: event.kind }),
  asyncEnd(event) {
    const { kind: lockKind, outcome = "failed", via, waitedMs = 0 } = event;
    waiting.dec({ [kind]: lockKind });
    const how = outcome === "failed" ? { error_type: errorType(event.error) } : via && { holdfast_via: via };
    acquired.observe({ [kind]: lockKind, holdfast_outcome: outcome, ...how }, waitedMs / 1_000);
    if (outcome === "acquired") holdBegan(event);
  },
});
events.contended.subscribe((event) => contentions.inc({ [kind]: event.kind }));

interface Hold {
  readonly name: string;
  readonly kind: string;
  readonly holder?: string;
}
const held = histogram(
  "hold_duration_seconds",
  "From the acquisition of a lock or leased permits to the end of that hold.",
  holds,
  ...[kind, "holdfast_end"],
);
const active = new Gauge({
  name: "holdfast_hold_active",
  help: "Holds of locks, and leased permits, that have not ended.",
  labelNames: [kind],
});
/** What each thread holds, the oldest first. */
const live = new Map<string, { readonly kind: string; readonly startMs: number; count: number }>();
const seenKinds = new Set<string>();
new Gauge({
  name: "holdfast_hold_age_seconds",
  help: "The age of the oldest hold that has not ended; 0 if there is none.",
  labelNames: [kind],
  collect() {
    const nowMs = performance.now();
    for (const lockKind of seenKinds) this.set({ [kind]: lockKind }, 0);
    for (const hold of [...live.values()].reverse())
      this.set({ [kind]: hold.kind }, (nowMs - hold.startMs) / 1_000);
  },
});
const losses = counter(
  "lease_losses",
  "Leases that ended before their release.",
  kind,
  "holdfast_loss_reason",
);

function holdBegan({ name, kind: lockKind, holder }: Hold): void {
  // Permits of a plain semaphore belong to no holder, and a joint lock has one for each of its locks.
  if (holder === undefined) return;
  const id = `${holder} ${name}`;
  const hold = live.get(id) ?? { kind: lockKind, startMs: performance.now(), count: 0 };
  hold.count += 1;
  live.set(id, hold);
  seenKinds.add(lockKind);
  active.inc({ [kind]: lockKind });
}
function holdEnded(event: Hold & { readonly heldMs: number }, end: string): void {
  held.observe({ [kind]: event.kind, holdfast_end: end }, event.heldMs / 1_000);
  const id = `${event.holder} ${event.name}`;
  const hold = live.get(id);
  // It began before this module was loaded.
  if (hold === undefined) return;
  hold.count -= 1;
  if (hold.count === 0) live.delete(id);
  active.dec({ [kind]: event.kind });
}
events.release.subscribe((event) => holdEnded(event, event.error === undefined ? "released" : "failed"));
events.leaseAbandoned.subscribe((event) => holdEnded(event, "abandoned"));
events.leaseLost.subscribe((event) => {
  holdEnded(event, "lost");
  losses.inc({ [kind]: event.kind, holdfast_loss_reason: event.reason });
});

const late = histogram(
  "renewal_lateness_seconds",
  "From the beat of the watchdog to the sending of a renewal that was answered.",
  lateness,
);
const renewed = histogram("renewal_size", "Leases in a renewal that was answered.", sizes);
const renewals = counter(
  "renewal_failures",
  "Renewals with an unknown outcome, which are tried again.",
  "error_type",
);
events.renewalDone.subscribe(({ lateMs, locks }) => {
  late.observe(lateMs / 1_000);
  renewed.observe(locks);
});
events.renewalFailed.subscribe(({ error }) => renewals.inc({ error_type: errorType(error) }));

const releases = counter(
  "release_failures",
  "Releases by `using` and `await using` that failed.",
  kind,
  "error_type",
);
const subscriptions = counter(
  "subscription_failures",
  "Subscriptions that failed: until the next try, waiters get no messages.",
  "error_type",
);
const replicas = counter("replicas_short", "Commands that too few replicas acknowledged in time.", command);
events.releaseFailed.subscribe((event) =>
  releases.inc({ [kind]: event.kind, error_type: errorType(event.error) }),
);
events.subscriptionFailed.subscribe(({ error }) => subscriptions.inc({ error_type: errorType(error) }));
events.replicasShort.subscribe(({ script }) => replicas.inc({ [command]: script }));

// Redis clients measure their commands, too: leave this out where yours does.
const answered = histogram(
  "command_duration_seconds",
  "From the first try of a command to its end, with all pauses.",
  times,
  ...[command, "holdfast_command_outcome"],
);
const grouped = histogram(
  "command_locks",
  "Locks, permits or latches that a command concerned.",
  sizes,
  command,
);
events.command.subscribe({
  asyncEnd({ script, outcome = "unknown", durationMs = 0, locks = 0 }) {
    answered.observe({ [command]: script, holdfast_command_outcome: outcome }, durationMs / 1_000);
    if (locks > 0) grouped.observe({ [command]: script }, locks);
  },
});
// #endregion
