import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DiagLogger, DiagLogLevel, diag, metrics } from "@opentelemetry/api";
import { registerInstrumentations } from "@opentelemetry/instrumentation";
import { describe, expect, test } from "vitest";
import { type AcquireEvent, events } from "../../src/events.js";
import * as attributes from "../../src/otel/attributes.js";
import { foldNames, HoldfastInstrumentation } from "../../src/otel/index.js";
import { markdownTables } from "../support/models/markdown-tables.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { openTelemetry } from "../support/worlds/otel.js";

watchLeaks();
const open = fakeTime();
const otel = openTelemetry();

const channels = Object.values(events).flatMap(
  (channel): readonly { readonly name: string | symbol; readonly hasSubscribers: boolean }[] =>
    "asyncEnd" in channel ? [channel.start, channel.asyncEnd, channel.end, channel.error] : [channel],
);
const listenedTo = () => channels.filter(({ hasSubscribers }) => hasSubscribers).map(({ name }) => name);
const count = (points: readonly { readonly value: unknown }[] | undefined) =>
  points?.map(({ value }) => (value as { readonly count: number }).count);

/** What the program's log is told. */
function told(): unknown[][] {
  const lines: unknown[][] = [];
  const line = (...words: unknown[]) => void lines.push(words);
  const logger: DiagLogger = { error: line, warn: line, info: () => {}, debug: () => {}, verbose: () => {} };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  lines.length = 0;
  otel.atEnd(() => diag.disable());
  return lines;
}

describe("an instrumentation", () => {
  test("listens while it is enabled, once however often that is said, and to nothing afterwards", async () => {
    const { holdfast, clock } = open();
    const { instrumentation, points } = otel.instrument({ clock });
    const heard = listenedTo();
    expect(heard).not.toEqual([]);
    instrumentation.enable().enable();
    await holdfast.using("a", () => undefined);
    expect(count((await points())["holdfast.acquire.duration"])).toEqual([1]);
    instrumentation.disable();
    instrumentation.disable();
    expect(listenedTo()).toEqual([]);
    await holdfast.using("a", () => undefined);
    const silent = await points();
    expect(count(silent["holdfast.acquire.duration"])).toEqual([1]);
    instrumentation.enable();
    expect(listenedTo()).toEqual(heard);
    await holdfast.using("a", () => undefined);
    const again = await points();
    expect(count(again["holdfast.acquire.duration"])).toEqual([2]);
    expect(again["holdfast.hold.active"]).toMatchObject([{ value: 0 }]);
  });

  test("that is disabled while a lock is held and a call waits counts neither any more", async () => {
    const { holdfast, clock, connect } = open();
    const { instrumentation, points } = otel.instrument({ clock });
    const lease = await holdfast.getLock("a").lock();
    const waiting = connect().holdfast.getLock("a").lock();
    await clock.advance(1_000);
    const active = (value: number, ageS: number) => ({
      "holdfast.acquire.active": [{ value }],
      "holdfast.hold.active": [{ value }],
      "holdfast.hold.age": [{ value: ageS }],
    });
    expect(await points()).toMatchObject(active(1, 1));
    instrumentation.disable();
    expect(await points()).toMatchObject(active(0, 0));
    instrumentation.enable();
    await lease.unlock();
    await (await waiting).unlock();
    expect(await points()).toMatchObject(active(0, 0));
  });

  test("that was enabled while a call waited and a lock was held counts neither as active, and goes not below 0", async () => {
    const { holdfast, clock, connect } = open();
    const lease = await holdfast.getLock("a").lock();
    const waiting = connect().holdfast.getLock("a").lock();
    await clock.advance(1_000);
    const { points } = otel.instrument({ clock });
    await lease.unlock();
    const late = await waiting;
    expect((await points())["holdfast.acquire.active"]).toBeUndefined();
    await late.unlock();
    expect((await points())["holdfast.hold.active"]).toMatchObject([{ value: 0 }]);
  });

  test("ends with the block that has it", () => {
    {
      using _ = new HoldfastInstrumentation();
      expect(listenedTo()).not.toEqual([]);
    }
    expect(listenedTo()).toEqual([]);
  });

  test("is enabled by registerInstrumentations, with its providers", async () => {
    const { holdfast, clock } = open();
    const { meterProvider, tracerProvider, points } = otel.sdk();
    const instrumentation = new HoldfastInstrumentation({ enabled: false, clock });
    expect(listenedTo()).toEqual([]);
    otel.atEnd(
      registerInstrumentations({ instrumentations: [instrumentation], meterProvider, tracerProvider }),
    );
    await holdfast.using("a", () => undefined);
    expect(count((await points())["holdfast.acquire.duration"])).toEqual([1]);
  });

  test("tells the global provider, also one that the program sets after its first lock", async () => {
    const { holdfast, clock } = open();
    const instrumentation = new HoldfastInstrumentation({ clock });
    otel.atEnd(() => instrumentation.disable());
    const lease = await holdfast.getLock("a").lock();
    const { meterProvider, points } = otel.sdk();
    metrics.setGlobalMeterProvider(meterProvider);
    otel.atEnd(() => metrics.disable());
    await holdfast.using("b", () => undefined);
    expect(await points()).toMatchObject({
      "holdfast.acquire.duration": [{ value: { count: 1 } }],
      "holdfast.hold.active": [{ value: 1 }],
    });
    await lease.unlock();
  });

  test("measures the groups that its configuration names, also a later one", async () => {
    const { holdfast, clock } = open();
    const { instrumentation, points } = otel.instrument({ clock, enabledMetricGroups: [], spans: "off" });
    expect(listenedTo()).toEqual([]);
    instrumentation.setConfig({ clock, enabledMetricGroups: ["hold"] });
    expect(instrumentation.getConfig()).toEqual({ clock, enabledMetricGroups: ["hold"], enabled: true });
    await holdfast.using("a", () => undefined);
    expect(Object.keys(await points())).toEqual([
      "holdfast.hold.active",
      "holdfast.hold.age",
      "holdfast.hold.duration",
    ]);
  });

  test.each([
    [{ span: "all" }, 'there is no option "span" of HoldfastInstrumentation'],
    [{ spans: "some" }, 'spans must be "contended", "all" or "off", got "some"'],
    [{ lockName: "a" }, 'lockName must be a function, got "a"'],
    [{ enabled: 1 }, "enabled must be true or false, got 1"],
    [{ enabledMetricGroups: "hold" }, "enabledMetricGroups must be an array of acquire, hold, renewal"],
    [{ enabledMetricGroups: ["holds"] }, 'failure, command, got "holds" in it'],
  ])("refuses a wrong configuration: %j", (config, message) => {
    expect(() => new HoldfastInstrumentation(config as never)).toThrow(TypeError);
    expect(() => new HoldfastInstrumentation(config as never)).toThrow(message);
    expect(listenedTo()).toEqual([]);
  });
});

describe("the names of locks", () => {
  test("are no attribute by default, and what lockName makes of them otherwise", async () => {
    const { holdfast, clock, connect } = open();
    const { points } = otel.instrument({
      clock,
      lockName: (name, kind) => (kind === "lock" ? name[0] : undefined),
    });
    const lease = await holdfast.getLock("alpha").lock();
    const waiting = connect().holdfast.getLock("alpha").lock();
    await clock.advance(1);
    await holdfast.getFairLock("beta").using(() => undefined);
    const named = { "holdfast.lock.kind": "lock", "holdfast.lock.name": "a" };
    expect(await points()).toMatchObject({
      "holdfast.acquire.active": [
        { attributes: named, value: 1 },
        { attributes: { "holdfast.lock.kind": "fair-lock" } },
      ],
      "holdfast.contentions": [{ attributes: named, value: 1 }],
      "holdfast.hold.active": [{ attributes: named }, { attributes: { "holdfast.lock.kind": "fair-lock" } }],
      "holdfast.hold.age": [{ attributes: named }, { attributes: { "holdfast.lock.kind": "fair-lock" } }],
    });
    await lease.unlock();
    await (await waiting).unlock();
    const { "holdfast.hold.duration": durations = [] } = await points();
    expect(durations.map(({ attributes }) => attributes["holdfast.lock.name"])).toEqual([undefined, "a"]);
  });

  test("of a million locks stay 200 series when they are folded", { timeout: 240_000 }, async () => {
    const { points } = otel.instrument({ lockName: foldNames(), spans: "off" });
    const { start, asyncEnd } = events.acquire;
    const { clientId, server } = { clientId: "c", server: "s" };
    for (let i = 0; i < 1_000_000; i += 1) {
      // Of a thousand letters each, which no pattern folds.
      const word = `${String.fromCharCode(103 + (i % 10))}${String.fromCharCode(103 + (Math.floor(i / 10) % 20))}`;
      const kind = String.fromCharCode(103 + (Math.floor(i / 200) % 20));
      const name = `${word}${kind}:${i}`;
      const event: AcquireEvent = {
        clientId,
        server,
        name,
        kind: "lock",
        leaseMs: 1,
        renewed: true,
        waitMs: 0,
      };
      start.publish(event);
      asyncEnd.publish(Object.assign(event, { outcome: "acquired", via: "free", waitedMs: 1, attempts: 1 }));
    }
    const { "holdfast.acquire.duration": durations = [], "holdfast.acquire.active": active } = await points();
    expect(durations).toHaveLength(200);
    expect(active).toHaveLength(200);
    expect(count(durations)?.reduce((sum, each) => sum + each, 0)).toBe(1_000_000);
    expect(durations.some(({ attributes }) => attributes["otel.metric.overflow"] === true)).toBe(false);
  });

  test.each([
    ["order:4711", "order:*"],
    ["order:7", "order:7"],
    ["user:0b9a1c7e-1f3d-4c1e-9d3b-2f6a5e4d3c2b:cart", "user:*:cart"],
    ["session:DEADBEEF01", "session:*"],
    ["job:2026-11-28", "job:*-*-*"],
    ["facade", "facade"],
  ])("are folded where they differ from thing to thing: %s", (name, folded) => {
    expect(foldNames()(name)).toBe(folded);
  });

  test("beyond the first ones are other, for good", () => {
    const fold = foldNames({ max: 3 });
    expect(["a", "b", "c", "a", "d"].map((name) => fold(name))).toEqual(["a", "b", "other", "a", "other"]);
    // More names than are remembered, so that the first ones are folded anew.
    for (let i = 0; i < 2_500; i += 1) expect(fold(String.fromCharCode(1_000 + i))).toBe("other");
    expect(["a", "b", "c"].map((name) => fold(name))).toEqual(["a", "b", "other"]);
    expect(() => foldNames({ max: 1 })).toThrow(RangeError);
    expect(() => foldNames({ most: 1 } as never)).toThrow('there is no option "most"');
  });
});

describe("an SDK that throws", () => {
  const fails = () => {
    throw new Error("the exporter is broken");
  };

  test("reaches neither lock nor process; it is told once for each event", async () => {
    const { holdfast, clock, connect } = open();
    const lines = told();
    const { instrumentation, tracerProvider } = otel.instrument({ clock, spans: "all" });
    const broken = {
      createHistogram: () => ({ record: fails }),
      createCounter: () => ({ add: fails }),
      createObservableUpDownCounter: () => ({ addCallback: fails, removeCallback: fails }),
      createObservableGauge: () => ({ addCallback: fails, removeCallback: fails }),
    };
    instrumentation.setMeterProvider({ getMeter: () => broken } as never);
    instrumentation.setTracerProvider({ getTracer: () => ({ startSpan: fails }) } as never);
    for (let i = 0; i < 3; i += 1) {
      const lease = await holdfast.getLock("a").lock();
      const waiting = connect().holdfast.getLock("a").lock();
      await clock.advance(100);
      await lease.unlock();
      await (await waiting).unlock();
    }
    const channelsTold = lines.map(([line]) => String(line));
    expect(channelsTold.length).toBeGreaterThan(3);
    expect(new Set(channelsTold).size).toBeLessThanOrEqual(channelsTold.length);
    expect(channelsTold.length).toBeLessThan(9);
    expect(lines[0]).toEqual([expect.stringContaining("holdfast/otel"), new Error("the exporter is broken")]);
    instrumentation.setTracerProvider(tracerProvider);
    instrumentation.disable();
    expect(listenedTo()).toEqual([]);
  });

  test("in lockName, in an exporter of spans, or in the logger as well, does no harm", async () => {
    const { holdfast, clock } = open();
    diag.setLogger({ error: fails, warn: fails, info: fails, debug: fails, verbose: fails });
    otel.atEnd(() => diag.disable());
    otel.instrument({ clock, lockName: fails });
    expect(await holdfast.using("a", () => "done")).toBe("done");
  });
});

describe.each(["docs/guide/opentelemetry.md"])("%s", (file) => {
  const page = readFileSync(join(import.meta.dirname, "../..", file), "utf8");
  const table = markdownTables(page).find(({ columns }) => columns[0] === "Group");
  const code = (cell = "") => /`(.+)`/.exec(cell)?.[1] ?? "";

  test("names each attribute", () => {
    const missing = Object.values(attributes).filter(
      (name) => typeof name === "string" && !page.includes(`\`${name}\``),
    );
    expect(missing).toEqual([]);
  });

  test("has each instrument with its unit and type, and no other", async () => {
    const { clock } = open();
    const { units } = otel.instrument({
      clock,
      enabledMetricGroups: ["acquire", "hold", "renewal", "failure", "command"],
    });
    publishEverything();
    const types: Readonly<Record<string, string>> = {
      histogram: "histogram",
      counter: "sum",
      "up-down counter": "sum",
      "observable gauge": "gauge",
    };
    const listed = (table?.rows ?? []).map((row) => [
      code(row[1]),
      `${code(row[3])} ${types[row[2] ?? ""] ?? row[2]}`,
    ]);
    expect(Object.entries(await units()).sort()).toEqual(listed.sort());
  });
});

/** One event of each kind that is measured. */
function publishEverything(): void {
  const client = { clientId: "c", server: "s" };
  const hold = { ...client, name: "a", kind: "lock", holder: "c:1" };
  const acquire: AcquireEvent = { ...hold, leaseMs: 1, renewed: true, waitMs: 0 };
  const error = new Error("no");
  events.acquire.start.publish(acquire);
  events.acquire.asyncEnd.publish(Object.assign(acquire, { outcome: "acquired", waitedMs: 1 }));
  events.contended.publish({ ...hold, ttlMs: 1, own: false, behind: 0 });
  events.leaseLost.publish({ ...hold, name: "b", reason: "stolen", heldMs: 1, holdCount: 1 });
  events.renewalDone.publish({ ...client, locks: 1, lateMs: 1, durationMs: 1, leastRemainingMs: 1 });
  events.renewalFailed.publish({ ...client, locks: 1, error });
  events.releaseFailed.publish({ ...hold, error });
  events.subscriptionFailed.publish({ ...client, channel: "c", error });
  events.replicasShort.publish({ ...client, script: "s", acknowledged: 0, wanted: 1 });
  events.command.asyncEnd.publish({ ...client, script: "s", locks: 1, durationMs: 1, outcome: "answered" });
}
