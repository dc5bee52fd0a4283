// @ts-check
/**
 * A small fleet that fights for locks, and the real Prometheus, which scrapes it and evaluates the alert rules of docs/operations.
 *
 *   npm start                           runs until Ctrl+C, and says where to look
 *   npm run play                        plays six incidents, with times divided by 60, and says which alerts fire
 *   node fleet.mjs --play --stay        goes on afterwards, so that Prometheus can be asked
 *   node fleet.mjs --play --scale 10    with other times; 1: as they are, for two hours
 */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { withRedis } from "../with-redis.mjs";
import { incidents } from "./incidents.mjs";
import { OperatorsPage } from "./operators-page.mjs";
import { startPrometheus } from "./prometheus.mjs";
import { WayToRedis } from "./way-to-redis.mjs";

/** @typedef {import("./worker.mjs").Order} Order */
/** @typedef {Awaited<ReturnType<typeof startWorker>>} Worker */
/** @typedef {Awaited<ReturnType<typeof startPrometheus>>} Prometheus */

const WORKERS = 4;
const PLAY_SCALE = 60;
/** Unscaled. The longest rule looks at ten minutes, and waits for five more. */
const PEACE_MS = 600_000;
const FIRES_WITHIN_MS = 2_400_000;
/** Unscaled: for so long an incident goes on when its alert fires. */
const GOES_ON_MS = 120_000;
const LOOK_EACH_MS = 100;
/** An alert that is silent in so many looks is over. */
const CALM_LOOKS = 10;

const { values } = parseArgs({
  options: { play: { type: "boolean" }, stay: { type: "boolean" }, scale: { type: "string" } },
});
const isPlayed = values.play === true;
const scale = Number(values.scale ?? (isPlayed ? PLAY_SCALE : 1));
const startMs = performance.now();
/** @param {string} text */
const say = (text) =>
  console.log(`${((performance.now() - startMs) / 1_000).toFixed(1).padStart(6)} s  ${text}`);

/** @param {string} name @param {string} url of Redis @param {OperatorsPage} page */
async function startWorker(name, url, page) {
  const env = { ...process.env, REDIS_URL: url, WORKER: name };
  const child = fork(new URL("worker.mjs", import.meta.url), { env });
  const news = new EventEmitter();
  child.on("message", (/** @type {Record<string, unknown>} */ message) => {
    if ("spans" in message) page.add(/** @type {import("./operators-page.mjs").Span[]} */ (message["spans"]));
    else for (const what of Object.keys(message)) news.emit(what, message[what]);
  });
  const [port] = await once(news, "port");
  return {
    child,
    port: Number(port),
    /** @param {Order["do"]} what */
    order: (what) => void child.send({ do: what }),
    /** @param {string} what */
    told: (what) => once(news, what),
  };
}

/** @param {Prometheus} prometheus */
async function firing(prometheus) {
  const alerts = await prometheus.alerts();
  return new Set(alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels["alertname"]));
}

/**
 * @param {Prometheus} prometheus
 * @param {string} alert
 * @param {boolean} isFiring
 * @param {Set<string | undefined>} seen gets all alerts that fire meanwhile
 */
async function until(prometheus, alert, isFiring, seen) {
  const endMs = performance.now() + FIRES_WITHIN_MS / scale;
  for (let looks = 0; looks < (isFiring ? 1 : CALM_LOOKS); ) {
    assert.ok(performance.now() < endMs, `${alert} ${isFiring ? "does not fire" : "does not end"}`);
    const names = await firing(prometheus);
    for (const name of names) seen.add(name);
    looks = names.has(alert) === isFiring ? looks + 1 : 0;
    await pause(LOOK_EACH_MS);
  }
}

/** @param {Prometheus} prometheus @param {import("./incidents.mjs").Fleet} fleet */
async function play(prometheus, fleet) {
  await pause(PEACE_MS / scale);
  const before = await firing(prometheus);
  say(`the fleet is at peace: ${before.size} alerts fire`);
  assert.deepEqual([...before], []);
  for (const { what, alert, begin, end, look } of incidents) {
    /** @type {Set<string | undefined>} */
    const seen = new Set();
    assert.ok(!(await firing(prometheus)).has(alert), `${alert} fires before its incident`);
    say(what);
    await begin(fleet);
    await until(prometheus, alert, true, seen);
    const told = (await prometheus.alerts()).find(({ labels }) => labels["alertname"] === alert);
    say(`  ${alert}: ${told?.annotations["summary"]}`);
    if (look !== undefined) say(`  ${await look(fleet)}`);
    await pause(GOES_ON_MS / scale);
    await end(fleet);
    await until(prometheus, alert, false, seen);
    seen.delete(alert);
    say(`  it is over${seen.size === 0 ? "" : `; beside it fired ${[...seen].join(", ")}`}`);
  }
  console.log(`${incidents.length} incidents: each has fired its alert, and none fired before`);
  return true;
}

await withRedis(async (redisUrl) => {
  const way = new WayToRedis(new URL(redisUrl));
  const page = new OperatorsPage(redisUrl);
  const [url] = await Promise.all([way.open(), page.open()]);
  const names = Array.from({ length: WORKERS }, (_, nth) => `worker-${nth + 1}`);
  const workers = await Promise.all(names.map((name) => startWorker(name, url, page)));
  const prometheus = await startPrometheus(
    workers.map(({ port }) => port),
    scale,
  );
  try {
    console.log(`Prometheus       ${prometheus.url}/graph?g0.expr=holdfast_acquire_active&g0.tab=0
alerts           ${prometheus.url}/alerts
the inspector    ${page.url}/locks
metrics          ${workers.map(({ port }) => `http://127.0.0.1:${port}/metrics`).join("\n                 ")}`);
    const isWell = !isPlayed || (await play(prometheus, { workers, way, page }));
    if (isPlayed && values.stay !== true) return isWell;
    if (!isPlayed) console.log("Ctrl+C ends it. `npm run play` plays six incidents.");
    await once(process, "SIGINT");
    return true;
  } finally {
    for (const { child } of workers) child.kill("SIGKILL");
    await Promise.all([page.close(), prometheus.stop()]);
    way.close();
  }
});
