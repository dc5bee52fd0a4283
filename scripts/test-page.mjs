// @ts-check
/**
 * Runs the tests of the inspector's page in a real Chromium, some of them behind an nginx; both are installed where they may be.
 * Arguments go to Vitest.
 *
 *   node scripts/test-page.mjs --pictures   takes the pictures of docs/pictures/ instead
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { findChromium, findNginx } from "./setup.mjs";
import { runTier } from "./tiers.mjs";

const setup = fileURLToPath(new URL("setup.mjs", import.meta.url));
const pictures = process.argv.includes("--pictures");
const needs = ["--chromium", ...(pictures ? [] : ["--nginx"])];
const { status } = spawnSync(process.execPath, [setup, ...needs], { stdio: "inherit" });
if (status !== 0) process.exit(1);

const args = pictures ? ["test/page/pictures.test.ts"] : process.argv.slice(2);
const { HOLDFAST_CHROMIUM, HOLDFAST_NGINX, PATH } = process.env;
const programs = {
  HOLDFAST_CHROMIUM: HOLDFAST_CHROMIUM ?? findChromium(PATH) ?? "",
  HOLDFAST_NGINX: HOLDFAST_NGINX ?? findNginx(PATH) ?? "",
};
const { ok } = await runTier("page", ["--project", "page*", ...args], {
  env: { ...programs, ...(pictures ? { HOLDFAST_PICTURES: "1" } : {}) },
  isWhole: args.length === 0,
});
process.exitCode = ok ? 0 : 1;
