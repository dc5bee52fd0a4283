// @ts-check
/**
 * Draws the dashboard of docs/operations over the incidents that examples/prometheus plays, from what its Prometheus has recorded.
 * Needs the packages of that example (npm install there) and Prometheus.
 *
 *   node scripts/picture-dashboard.mjs           plays, records and draws
 *   node scripts/picture-dashboard.mjs --draw    draws what was recorded
 */
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { themes } from "./charts/themes.mjs";
import { drawDashboard } from "./dashboard/draw.mjs";
import { recordDashboard } from "./dashboard/record.mjs";
import { root } from "./tiers.mjs";

const SCALE = 60;
const pictures = join(root, "docs/pictures");
const recorded = join(pictures, "dashboard.json");

if (!process.argv.includes("--draw")) writeFileSync(recorded, `${JSON.stringify(await played())}\n`);
const recording = JSON.parse(readFileSync(recorded, "utf8"));
for (const theme of themes)
  writeFileSync(join(pictures, `dashboard-${theme.name}.svg`), await drawDashboard(recording, theme));

/** @returns {Promise<import("./dashboard/record.mjs").Recording>} */
async function played() {
  const startMs = Date.now();
  const args = ["fleet.mjs", "--play", "--stay", "--scale", String(SCALE)];
  const child = spawn(process.execPath, args, {
    cwd: join(root, "examples/prometheus"),
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    let url = "";
    for await (const line of createInterface({ input: child.stdout })) {
      console.log(line);
      url = /^Prometheus +(http:\/\/[^/]+)/.exec(line)?.[1] ?? url;
      if (!/^\d+ incidents: /.test(line)) continue;
      const endMs = Date.now();
      return await recordDashboard(url, {
        seconds: Math.ceil((endMs - startMs) / 1_000),
        endMs,
        scale: SCALE,
      });
    }
  } finally {
    child.kill("SIGTERM");
  }
  throw new Error("the incidents were not played to their end");
}
