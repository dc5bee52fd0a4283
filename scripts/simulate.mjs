// @ts-check
/**
 * Plays schedules of whole fleets on virtual time, with faults, and checks what the locks promise: builds the simulator where it
 * is stale, and hands the arguments to it.
 *
 *   --help   says what can be asked for
 */

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { buildSimulation } from "./build.mjs";

const program = fileURLToPath(
  new URL("../build/simulation/test/simulation/campaign/main.js", import.meta.url),
);

if (await buildSimulation()) simulate();
else process.exitCode = 1;

function simulate() {
  const args = process.argv.slice(2);
  // Places in the sources cost a campaign a tenth of its schedules: a replay tells them.
  const flags = args.includes("--replay") ? ["--enable-source-maps"] : [];
  const child = spawn(process.execPath, [...flags, program, ...args], { stdio: "inherit" });
  // A terminal sends Ctrl-C to both. The simulator ends with the table of what it played, and this waits for it.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  child.on("close", (code, signal) => {
    process.exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  });
}
