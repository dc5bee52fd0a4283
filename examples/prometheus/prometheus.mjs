// @ts-check
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** @typedef {{ labels: Readonly<Record<string, string>>, annotations: Readonly<Record<string, string>>, state: "pending" | "firing" }} Alert */

const rules = new URL("../../docs/operations/alerts.yml", import.meta.url);
const SCRAPE_MS = 15_000;
const UNITS_MS = { s: 1_000, m: 60_000 };
const READY_WITHIN_MS = 30_000;

/**
 * The rules with all times divided: `[5m]`, `offset 5m`, `for: 5m`, `interval: 15s`, and seconds that are written as `15 * 60`.
 *
 * @param {string} text
 * @param {number} scale
 */
export function scaled(text, scale) {
  return text
    .replace(
      /(\[|offset |(?:for|interval): )(\d+)([sm])\b/g,
      (_, before, count, /** @type {"s" | "m"} */ unit) => {
        return `${before}${Math.round((Number(count) * UNITS_MS[unit]) / scale)}ms`;
      },
    )
    .replace(/(\d+ \* 60)\b/g, `$1 / ${scale}`);
}

/**
 * Starts the real Prometheus, which scrapes the ports and evaluates the alert rules. It keeps nothing.
 *
 * @param {readonly number[]} ports of the processes of the fleet
 * @param {number} scale by which all times are divided: 1, or more to see in a minute what else takes an hour
 */
export async function startPrometheus(ports, scale) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-prometheus-"));
  writeFileSync(join(folder, "alerts.yml"), scaled(readFileSync(rules, "utf8"), scale));
  const every = `${SCRAPE_MS / scale}ms`;
  const config = {
    global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
    rule_files: ["alerts.yml"],
    scrape_configs: [
      { job_name: "shop", static_configs: [{ targets: ports.map((port) => `127.0.0.1:${port}`) }] },
    ],
  };
  // JSON is YAML.
  writeFileSync(join(folder, "prometheus.yml"), JSON.stringify(config));
  const port = await freePort();
  const server = spawn(
    "prometheus",
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=error",
    ],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  const closed = new Promise((resolve) => server.once("close", resolve));
  const kill = () => {
    server.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once("exit", kill);
  try {
    await once(server, "spawn");
  } catch {
    console.error("prometheus was not found. Install it: apt-get install --no-install-recommends prometheus");
    process.exit(1);
  }
  const url = `http://127.0.0.1:${port}`;
  await isReady(url);
  return {
    url,
    /** @returns {Promise<readonly Alert[]>} those that fire and those that will */
    async alerts() {
      const response = await fetch(`${url}/api/v1/alerts`);
      const { data } = /** @type {{ data: { alerts: readonly Alert[] } }} */ (await response.json());
      return data.alerts;
    },
    async stop() {
      server.kill("SIGTERM");
      await closed;
      process.off("exit", kill);
      kill();
    },
  };
}

/** @param {string} url */
async function isReady(url) {
  const endMs = performance.now() + READY_WITHIN_MS;
  while (performance.now() < endMs) {
    const response = await fetch(`${url}/-/ready`).catch(() => undefined);
    if (response?.ok) return;
    await pause(50);
  }
  throw new Error(`prometheus is not ready after ${READY_WITHIN_MS / 1_000} s`);
}

/** @returns {Promise<number>} */
async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}
