// @ts-check
/** A process of the fleet. It works until its parent ends it, and does what the parent orders. */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { trace } from "@opentelemetry/api";
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { startTelemetry } from "./telemetry.mjs";

/** @typedef {{ do: "hold" | "wait" | "hold-briefly" | "storm" | "be-late" | "let-go" }} Order */

const TASKS = 3;
const ORDERS = 8;
const STORMERS = 6;
/** Short, so that a process that stands still loses it soon. */
const BRIEF_LEASE_MS = 1_000;
/** Its watchdog renews it after a third of that. */
const LATE_LEASE_MS = 18_000;
const BLOCKED_MS = 6_000;

/** What the parent is told of a span. @param {import("@opentelemetry/sdk-trace").ReadableSpan} span */
function told(span) {
  const [seconds, nanoseconds] = span.duration;
  const durationMs = Math.round(seconds * 1_000 + nanoseconds / 1_000_000);
  return { traceId: span.spanContext().traceId, name: span.name, attributes: span.attributes, durationMs };
}

const metrics = startTelemetry({
  port: 0,
  spanExporter: {
    export(spans, done) {
      process.send?.({ spans: spans.map(told) });
      done({ code: 0 });
    },
    shutdown: async () => {},
  },
});
const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
redis.on("error", () => undefined); // ioredis reconnects by itself, and failing calls reject with the reason
const holdfast = new Holdfast(ioredisDriver(redis), {
  commandTimeoutMs: 1_000,
  presence: { app: "shop", labels: { worker: process.env["WORKER"] ?? "" }, everyMs: 1_000 },
});
const tracer = trace.getTracer("shop");
let letGo = new AbortController();

/**
 * Works under a lock, in a span of its own. The note of the hold is the id of its trace: so a tool that shows the holder can lead to it.
 *
 * @param {string} name
 * @param {(signal: AbortSignal) => Promise<unknown>} body
 * @param {{ watchdogMs?: number, signal?: AbortSignal }} [options]
 */
function work(name, body, options = {}) {
  return tracer.startActiveSpan(`work on ${name}`, async (span) => {
    const note = span.spanContext().traceId;
    try {
      await holdfast.using(name, { ...options, note }, (lease) => body(lease.signal));
    } catch {
      // Redis was away, the lease was lost, or the order was to let go: the metrics tell.
      await pause(200);
    } finally {
      span.end();
    }
  });
}

/** @param {number} leastMs @param {number} mostMs */
const between = (leastMs, mostMs) => leastMs + Math.random() * (mostMs - leastMs);

async function task() {
  for (;;) {
    const order = 4_711 + Math.floor(Math.random() * ORDERS);
    await work(`order:${order}`, () => pause(between(5, 30)));
    await pause(between(20, 100));
  }
}

/** @type {Readonly<Record<Order["do"], () => unknown>>} */
const carryOut = {
  hold: () =>
    work("invoice:1042", () => {
      process.send?.({ holds: "invoice:1042" });
      return once(letGo.signal, "abort");
    }),
  wait: () => work("invoice:1042", () => pause(1), { signal: letGo.signal }),
  "hold-briefly": () =>
    work(
      "report:daily",
      async (lost) => {
        process.send?.({ holds: "report:daily" });
        await once(lost, "abort");
      },
      { watchdogMs: BRIEF_LEASE_MS },
    ),
  "be-late": () =>
    work(
      "import:customers",
      async () => {
        // Up to now its renewals are in time; the next one is due in the midst of what comes.
        await pause(LATE_LEASE_MS / 3 - 200);
        const endMs = performance.now() + BLOCKED_MS;
        while (performance.now() < endMs);
        await once(letGo.signal, "abort");
      },
      { watchdogMs: LATE_LEASE_MS },
    ),
  storm: async () => {
    const { signal } = letGo;
    const stormer = async () => {
      while (!signal.aborted) await work("stock:eu", () => pause(20), { signal });
    };
    await Promise.all(Array.from({ length: STORMERS }, stormer));
  },
  "let-go": () => {
    letGo.abort();
    letGo = new AbortController();
  },
};

process.on("message", (/** @type {Order} */ order) => void carryOut[order.do]());
process.once("disconnect", () => process.exit());
await once(metrics, "listening");
const address = metrics.address();
process.send?.({ port: typeof address === "object" ? address?.port : undefined });
await Promise.all(Array.from({ length: TASKS }, task));
