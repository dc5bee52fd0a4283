import { pino } from "pino";
import { register } from "prom-client";
import { expect, test } from "vitest";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { logLocks } from "./guide/logs.js";
import "./guide/prometheus.js";

watchLeaks();
const open = fakeTime();

/** Lines of the text format without those of histograms' buckets. */
async function scraped(): Promise<string[]> {
  const lines = (await register.metrics()).split("\n");
  return lines.filter((line) => line !== "" && !line.startsWith("#") && !line.includes("_bucket{")).sort();
}

test("the recipe for prom-client counts as OpenTelemetry does", async () => {
  const { holdfast, clock, connect } = open();
  register.resetMetrics();
  const lease = await holdfast.getLock("a").lock();
  const waiting = connect().holdfast.getLock("a").lock();
  await clock.advance(1_500);
  expect(await scraped()).toContain('holdfast_acquire_active{holdfast_lock_kind="lock"} 1');
  await lease.unlock();
  await (await waiting).unlock();
  const expiring = await holdfast.getLock("b").lock({ leaseMs: 1_000 });
  await clock.advance(2_000);
  expect(expiring.state).toBe("lost");
  const lock = 'holdfast_lock_kind="lock"';
  expect(await scraped()).toEqual(
    [
      `holdfast_acquire_active{${lock}} 0`,
      `holdfast_acquire_duration_seconds_count{${lock},holdfast_outcome="acquired",holdfast_via="free"} 2`,
      `holdfast_acquire_duration_seconds_count{${lock},holdfast_outcome="acquired",holdfast_via="message"} 1`,
      `holdfast_acquire_duration_seconds_sum{${lock},holdfast_outcome="acquired",holdfast_via="free"} 0`,
      `holdfast_acquire_duration_seconds_sum{${lock},holdfast_outcome="acquired",holdfast_via="message"} 1.5`,
      `holdfast_contentions_total{${lock}} 1`,
      `holdfast_hold_duration_seconds_count{${lock},holdfast_end="lost"} 1`,
      `holdfast_hold_duration_seconds_count{${lock},holdfast_end="released"} 2`,
      `holdfast_hold_duration_seconds_sum{${lock},holdfast_end="lost"} 0.988`,
      `holdfast_hold_duration_seconds_sum{${lock},holdfast_end="released"} 1.5`,
      `holdfast_lease_losses_total{${lock},holdfast_loss_reason="expired"} 1`,
    ].sort(),
  );
});

test("the recipe for pino writes a lost lease as an error", async () => {
  const { holdfast, clock } = open();
  const lines: unknown[] = [];
  logLocks(
    pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  );
  const lease = await holdfast.getLock("a").lock({ leaseMs: 1_000 });
  await clock.advance(2_000);
  expect(lease.state).toBe("lost");
  expect(lines).toMatchObject([{ level: 50, msg: "lease lost", name: "a", kind: "lock", reason: "expired" }]);
});
