// @ts-check
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { scaled } from "../../examples/prometheus/prometheus.mjs";
import { root } from "../tiers.mjs";

/**
 * @typedef {object} Panel
 * @property {string} title
 * @property {"row" | "stat" | "timeseries"} type
 * @property {string} unit as Grafana names it
 * @property {{ x: number, y: number, w: number, h: number }} gridPos
 * @property {readonly { name: string, values: readonly (number | null)[] }[]} series one value a second
 */
/** @typedef {{ name: string, seconds: readonly number[] }} Firing an alert, and when it fires */
/** @typedef {{ scale: number, seconds: number, panels: readonly Panel[], alerts: readonly Firing[] }} Recording */
/** @typedef {{ metric: Readonly<Record<string, string>>, values: readonly [number, string][] }} RangeOfSeries */

/** Longer than Grafana's: a process that is blocked for six seconds is not scraped for what stands for six minutes. */
const RATE_INTERVAL = "[8m]";
/** It is off by default, and so has nothing to show. */
const LEFT_OUT = /^Commands/;

/**
 * Asks Prometheus for what the panels of the dashboard show, as Grafana does.
 *
 * @param {string} url of Prometheus
 * @param {{ seconds: number, endMs: number, scale: number }} window scale: by which the times of the rules were divided
 * @returns {Promise<Recording>}
 */
export async function recordDashboard(url, { seconds, endMs, scale }) {
  const dashboard = JSON.parse(readFileSync(join(root, "docs/operations/grafana.json"), "utf8"));
  const end = Math.floor(endMs / 1_000);
  /** @param {string} expression */
  const ask = async (expression) => {
    const query = new URLSearchParams({
      query: expression,
      start: `${end - seconds}`,
      end: `${end}`,
      step: "1",
    });
    const response = await fetch(`${url}/api/v1/query_range?${query}`);
    const answer = /** @type {{ data?: { result: readonly RangeOfSeries[] }, error?: string }} */ (
      await response.json()
    );
    if (answer.data === undefined) throw new Error(`${expression}: ${answer.error}`);
    return answer.data.result.map(({ metric, values }) => ({
      metric,
      values: secondsOf(values, end - seconds, seconds),
    }));
  };
  /** @type {Panel[]} */
  const panels = [];
  for (const { title, type, gridPos, fieldConfig, targets = [] } of dashboard.panels) {
    if (type === "row" && LEFT_OUT.test(title)) break;
    const series = [];
    for (const { expr, legendFormat } of targets) {
      const filled = expr.replaceAll("$job", ".*").replaceAll("[$__rate_interval]", RATE_INTERVAL);
      for (const { metric, values } of await ask(scaled(filled, scale)))
        series.push({ name: legendOf(legendFormat, metric), values });
    }
    panels.push({ title, type, unit: fieldConfig?.defaults.unit ?? "", gridPos, series });
  }
  const firing = await ask('max by (alertname) (ALERTS{alertstate="firing"})');
  const alerts = firing.map(({ metric, values }) => ({
    name: metric["alertname"] ?? "",
    seconds: values.flatMap((value, second) => (value === null ? [] : [second])),
  }));
  return { scale, seconds, panels, alerts };
}

/**
 * Prometheus leaves out the moments in which a series has no value.
 *
 * @param {readonly [number, string][]} values
 * @param {number} start
 * @param {number} seconds
 */
function secondsOf(values, start, seconds) {
  const known = new Map(
    values.map(([at, value]) => [Math.round(at) - start, Number(Number(value).toPrecision(3))]),
  );
  return Array.from({ length: seconds + 1 }, (_, second) => {
    const value = known.get(second);
    return value === undefined || !Number.isFinite(value) ? null : value;
  });
}

/**
 * @param {string} template `{{holdfast_via}}`
 * @param {Readonly<Record<string, string>>} labels
 */
function legendOf(template, labels) {
  return template.replace(/\{\{(\w+)\}\}/g, (_, name) => labels[name] ?? "").trim();
}
