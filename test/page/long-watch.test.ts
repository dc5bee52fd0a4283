import { setTimeout as passing } from "node:timers/promises";
import type { CDPSession } from "playwright-core";
import { afterEach, expect, it } from "vitest";
import { chromiumPages, type Page, whenLive } from "../support/page/chromium.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import type { Child } from "../support/worlds/child.js";
import { childPrograms } from "../support/worlds/child-programs.js";
import { LivingFleet } from "../support/worlds/living-fleet.js";

/** How long the fleet is looked at, and how often memory is read. `HOLDFAST_WATCH_MS=600000` takes ten minutes and one. */
const WATCH_MS = Number(process.env["HOLDFAST_WATCH_MS"] ?? 20_000);
const LOOKS = 10;
/** How many changes of the fleet the page is watched at, task by task. */
const CHANGES = 4;

const redis = locksOnRedis();
const start = childPrograms();
const fleets: LivingFleet[] = [];
const viewers: AbortController[] = [];
// Before the hook of `redis`, which closes its clients.
afterEach(async () => {
  for (const leaving of viewers.splice(0)) leaving.abort();
  await Promise.all(fleets.splice(0).map((fleet) => fleet.stop()));
  await redis.plain.flushdb();
});
const open = chromiumPages();

/** A viewer that is no browser. @returns how many changes it was told of so far, and how many bytes that were */
async function follow(url: string): Promise<() => { changes: number; bytes: number }> {
  const leaving = new AbortController();
  viewers.push(leaving);
  const { body } = await fetch(`${url}?feed`, { signal: leaving.signal });
  if (body === null) throw new Error("the feed has no body");
  let [changes, bytes] = [0, 0];
  const read = async () => {
    for await (const piece of body.pipeThrough(new TextDecoderStream())) {
      bytes += piece.length;
      changes += piece.split("event: change").length - 1;
    }
  };
  // It ends by its being left.
  void read().catch(() => undefined);
  return () => ({ changes, bytes });
}

/** 2,000 locks of 300 clients, an inspector in a process of its own, and a page that looks at it. */
async function scene(): Promise<{ url: string; page: Page; server: Child; session: CDPSession }> {
  fleets.push(await LivingFleet.start(redis.plain, { clients: 300, locks: 2_000 }));
  const server = await start("inspector-server", { at: { topology: "standalone", port: redis.server.port } });
  const { port } = await server.next("serving");
  const url = `http://127.0.0.1:${port}/`;
  const page = await whenLive(await open(url));
  const session = await page.context().newCDPSession(page);
  return { url, page, server, session };
}

it("takes no more memory the longer it is looked at", { timeout: WATCH_MS + 300_000 }, async () => {
  const { url, server, session } = await scene();
  const told = await follow(url);
  await session.send("Performance.enable");
  const used = async () => {
    await session.send("HeapProfiler.collectGarbage");
    const { metrics } = await session.send("Performance.getMetrics");
    const of = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0;
    const { heapBytes, cpuMs } = await server.ask("usage");
    return {
      ...told(),
      cpuMs: Number(cpuMs),
      server: Number(heapBytes) / 1e6,
      page: of("JSHeapUsedSize") / 1e6,
      nodes: of("Nodes"),
    };
  };
  const seen = [await used()];
  for (let look = 1; look <= LOOKS; look += 1) {
    await passing(WATCH_MS / LOOKS);
    seen.push(await used());
    console.log(JSON.stringify({ look, ...seen.at(-1) }));
  }
  const grown = (of: "server" | "page" | "nodes") => {
    const half = seen.slice(LOOKS / 2).map((each) => each[of]);
    return (half.at(-1) ?? 0) - (half[0] ?? 0);
  };
  expect(grown("server")).toBeLessThan(4);
  expect(grown("page")).toBeLessThan(2);
  expect(grown("nodes")).toBeLessThan(2_000);
});

/** An event of Chromium's tracing. */
interface Traced {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Of the processor, and by the clock; in microseconds. */
  readonly tdur?: number;
  readonly dur?: number;
  readonly args?: { readonly name?: string };
}

/** What the main thread of the page has done while the body ran, task by task, in milliseconds. */
async function tasksDuring(page: Page, body: () => Promise<void>): Promise<{ cpuMs: number; ms: number }[]> {
  const tracing = await page.context().browser()?.newBrowserCDPSession();
  if (tracing === undefined) throw new Error("the page has no browser");
  const traced: Traced[] = [];
  tracing.on("Tracing.dataCollected", ({ value }) => traced.push(...(value as unknown as Traced[])));
  const isComplete = new Promise((resolve) => tracing.once("Tracing.tracingComplete", resolve));
  const includedCategories = ["toplevel", "disabled-by-default-devtools.timeline", "devtools.timeline"];
  await tracing.send("Tracing.start", { traceConfig: { includedCategories }, transferMode: "ReportEvents" });
  await body();
  await tracing.send("Tracing.end");
  await isComplete;
  const mains = traced.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain");
  const isMain = ({ pid, tid }: Traced) => mains.some((main) => main.pid === pid && main.tid === tid);
  return traced
    .filter((event) => event.name.endsWith("RunTask") && event.ph === "X" && isMain(event))
    .map(({ tdur = 0, dur = 0 }) => ({ cpuMs: tdur / 1_000, ms: dur / 1_000 }));
}

it("does nothing that takes the processor long at a time [the bar: 50 ms a frame]", {
  timeout: 600_000,
}, async () => {
  const { url, page, session } = await scene();
  const told = await follow(url);
  // Time of the processor, whatever else the machine does.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const metrics = async () => {
    const { metrics: all } = await session.send("Performance.getMetrics");
    return Object.fromEntries(all.map(({ name, value }) => [name, value * 1_000]));
  };
  const before = await metrics();
  const begun = told().changes;
  const tasks = await tasksDuring(page, () => until(() => told().changes >= begun + CHANGES));
  const after = await metrics();
  const spent = ["ScriptDuration", "LayoutDuration", "RecalcStyleDuration"].map((name) => {
    const ms = (after[name] ?? 0) - (before[name] ?? 0);
    return `${name} ${(ms / CHANGES).toFixed(1)}`;
  });
  const longest = (of: "cpuMs" | "ms") => Math.max(...tasks.map((task) => task[of]));
  console.log(
    `${tasks.length} tasks: longest ${longest("cpuMs").toFixed(1)} ms of the processor, ${longest("ms").toFixed(1)} ms by the clock; for each of ${CHANGES} changes, ticks between them included, in ms of the processor: ${spent.join(", ")}`,
  );
  expect(tasks.length).toBeGreaterThan(CHANGES);
  // Ten times the bar: this machine may be slow, and the numbers above say how it was.
  expect(longest("cpuMs")).toBeLessThan(500);
});
