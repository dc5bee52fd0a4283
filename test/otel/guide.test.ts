import { performance } from "node:perf_hooks";
import { pino } from "pino";
import { register } from "prom-client";
import { describe, expect, test, vi } from "vitest";
import { events } from "../../src/events.js";
import {
  ACQUIRE_BOUNDARIES,
  HOLD_BOUNDARIES,
  LATENESS_BOUNDARIES,
  SIZE_BOUNDARIES,
} from "../../src/otel/instruments.js";
import { neverDeliver } from "../support/faults/call-faults.js";
import { listedInstruments } from "../support/models/prometheus-names.js";
import { watchLeaks } from "../support/run/leaks.js";
import { read } from "../support/tidy/tree.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { type InMemorySdk, openTelemetry } from "../support/worlds/otel.js";
import { logLocks } from "./guide/logs.js";
import "./guide/prometheus.js";

watchLeaks();
const open = fakeTime();
const otel = openTelemetry();
const listed = listedInstruments(read("docs/guide/opentelemetry.md"));

/** As a line of Prometheus, but with the labels in the order of their names. */
function line(name: string, labels: Readonly<Record<string, unknown>>, value: number): string {
  const sorted = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `${name}{${sorted.map(([label, of]) => `${label}="${of}"`).join(",")}} ${Math.round(value * 1e6) / 1e6}`;
}

/** What the recipe offers to Prometheus, without the buckets. A counter and a histogram without labels are there from the beginning. */
async function scraped(): Promise<readonly string[]> {
  const metrics = await register.getMetricsAsJSON();
  return metrics.flatMap(({ name, values }) =>
    values
      .map(({ labels, value, ...of }) => ({
        name: "metricName" in of ? String(of.metricName) : name,
        labels,
        value,
      }))
      .filter(({ name: series }) => !series.endsWith("_bucket"))
      .map(({ name: series, labels, value }) => line(series, labels, value)),
  );
}

/** What the SDK of OpenTelemetry has collected, as a collector writes it for Prometheus. */
async function collected({ points, units }: InMemorySdk): Promise<readonly string[]> {
  const [found, types] = [await points(), await units()];
  return Object.entries(found).flatMap(([instrument, all]) => {
    const [unit, type] = (types[instrument] ?? "").split(" ");
    const name = `${instrument.replaceAll(".", "_")}${unit === "s" ? "_seconds" : ""}`;
    return all.flatMap(({ attributes, value }) => {
      const labels = Object.fromEntries(
        Object.entries(attributes).map(([label, of]) => [label.replaceAll(".", "_"), of]),
      );
      if (typeof value !== "number")
        return [line(`${name}_count`, labels, value.count), line(`${name}_sum`, labels, value.sum)];
      const isCounter = type === "sum" && !instrument.endsWith(".active");
      return [line(isCounter ? `${name}_total` : name, labels, value)];
    });
  });
}

describe("the recipe for prom-client", () => {
  test("counts each instrument as OpenTelemetry does, also while holds and calls go on", async () => {
    const { holdfast, clock, connect, driver } = open({ watchdogMs: 3_000 });
    vi.spyOn(performance, "now").mockImplementation(() => clock.monotonicMs());
    register.resetMetrics();
    const sdk = otel.instrument({
      clock,
      enabledMetricGroups: ["acquire", "hold", "renewal", "failure", "command"],
    });
    const alike = async () => expect((await scraped()).toSorted()).toEqual((await collected(sdk)).toSorted());

    const other = connect();
    const outer = await holdfast.getLock("a").lock();
    const waits = other.holdfast.getLock("a").lock();
    other.driver.channels.failNext(new TypeError("no"));
    void driver.next(neverDeliver, "lock-renew");
    await clock.advance(2_500);
    await outer.run(() => holdfast.getLock("a").using(() => clock.advance(250)));
    const permits = holdfast.getPermitExpirableSemaphore("permits");
    const plain = holdfast.getSemaphore("plain");
    await Promise.all([permits.trySetPermits(2), plain.trySetPermits(1)]);
    const leased = await permits.acquire();
    await plain.acquire();
    const younger = await holdfast.getLock("younger").lock();
    await clock.advance(100);
    await holdfast.getMultiLock(holdfast.getLock("f"), holdfast.getLock("g")).using(() => undefined);
    await alike();

    await Promise.all([outer.unlock(), younger.unlock()]);
    await clock.advance(10_000);
    await (await waits).unlock();
    await leased.release();
    const held = await holdfast.getLock("b").lock({ leaseMs: 2_000 });
    expect(await other.holdfast.getLock("b").tryLock()).toBeNull();
    await clock.advance(3_000);
    expect(held.state).toBe("lost");
    for (let nth = 0; nth < 2; nth += 1) void driver.next(neverDeliver, "lock-release");
    const unreleased = holdfast.getLock("c").using(() => undefined);
    await clock.advance(20_000);
    await unreleased;
    const about = { clientId: holdfast.clientId, server: "" };
    const forgotten = await holdfast.getFairLock("e").lock({ leaseMs: 60_000 });
    const { holder } = forgotten;
    events.leaseAbandoned.publish({ ...about, name: "e", kind: "fair-lock", holder, heldMs: 700 });
    // It was never sent.
    const unsent = { ...about, script: "lock-acquire", outcome: "closed", durationMs: 5, locks: 0 } as const;
    events.command.asyncEnd.publish(unsent);
    events.replicasShort.publish({ ...about, script: "lock-acquire", acknowledged: 0, wanted: 1 });
    for (let nth = 0; nth < 10; nth += 1) void driver.next(neverDeliver, "lock-acquire");
    const failing = holdfast.getLock("d").lock({ waitMs: 0 });
    failing.catch(() => undefined);
    await clock.advance(10_000);
    await expect(failing).rejects.toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE" });
    await alike();
    const { "holdfast.hold.age": ages, ...points } = await sdk.points();
    expect(Object.keys({ ...points, ages }).toSorted()).toHaveLength(listed.length);
    await forgotten.unlock();
    await Promise.all([permits.delete(), plain.delete()]);
  });

  test("has each instrument, by the name that a collector gives it", () => {
    const metrics = register.getMetricsAsArray().map(({ name }) => name);
    const unknown = listed.filter(({ spellings }) => {
      const ends = /(?:_bucket|_count|_sum)$/;
      return !metrics.some((name) => spellings.some((spelled) => spelled.replace(ends, "") === name));
    });
    expect(unknown).toEqual([]);
    expect(metrics).toHaveLength(listed.length);
  });

  test.each([
    ["acquire_duration_seconds", ACQUIRE_BOUNDARIES],
    ["hold_duration_seconds", HOLD_BOUNDARIES],
    ["renewal_lateness_seconds", LATENESS_BOUNDARIES],
    ["renewal_size", SIZE_BOUNDARIES],
    ["command_duration_seconds", ACQUIRE_BOUNDARIES],
    ["command_locks", SIZE_BOUNDARIES],
  ])("has the buckets of OpenTelemetry: holdfast_%s", (name, boundaries) => {
    const histogram = register.getSingleMetric(`holdfast_${name}`);
    expect(histogram).toMatchObject({ upperBounds: boundaries });
  });
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
