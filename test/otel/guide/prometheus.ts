// #region prometheus
import { events } from "holdfast";
import { Counter, Gauge, Histogram } from "prom-client";

/** The same metrics as those of OpenTelemetry, by the names that its exporters for Prometheus give them. */
const kind = "holdfast_lock_kind";
const acquired = new Histogram({
  name: "holdfast_acquire_duration_seconds",
  help: "From a call for a lock or permits to its end, however it ends.",
  labelNames: [kind, "holdfast_outcome", "holdfast_via"],
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
});
const waiting = new Gauge({
  name: "holdfast_acquire_active",
  help: "Calls for locks and permits that have not ended.",
  labelNames: [kind],
});
const held = new Histogram({
  name: "holdfast_hold_duration_seconds",
  help: "From the acquisition of a lock or leased permits to the end of that hold.",
  labelNames: [kind, "holdfast_end"],
  buckets: [0.001, 0.01, 0.1, 1, 10, 60, 600],
});
const contentions = new Counter({
  name: "holdfast_contentions_total",
  help: "Calls that could not have the lock or the permits at once.",
  labelNames: [kind],
});
const losses = new Counter({
  name: "holdfast_lease_losses_total",
  help: "Leases that ended before their release.",
  labelNames: [kind, "holdfast_loss_reason"],
});

events.acquire.subscribe({
  start: (event) => waiting.inc({ [kind]: event.kind }),
  asyncEnd({ kind: lockKind, outcome = "failed", via = "", waitedMs = 0 }) {
    waiting.dec({ [kind]: lockKind });
    acquired.observe({ [kind]: lockKind, holdfast_outcome: outcome, holdfast_via: via }, waitedMs / 1_000);
  },
});
events.contended.subscribe((event) => contentions.inc({ [kind]: event.kind }));
events.release.subscribe(({ kind: lockKind, heldMs }) =>
  held.observe({ [kind]: lockKind, holdfast_end: "released" }, heldMs / 1_000),
);
events.leaseLost.subscribe(({ kind: lockKind, heldMs, reason }) => {
  held.observe({ [kind]: lockKind, holdfast_end: "lost" }, heldMs / 1_000);
  losses.inc({ [kind]: lockKind, holdfast_loss_reason: reason });
});
// #endregion
