#!/usr/bin/env node
/** `holdfast`: `holdfast help` says what it does. */
import { exitCodes } from "./exit-codes.js";
import { run } from "./program.js";
import { titleOf } from "./title.js";

const { env, stdout: out, stderr: err } = process;
const args = process.argv.slice(2);
const title = titleOf(args);
// The title takes the place of the arguments as they were typed, which exec passes on byte for byte.
if (title !== ["holdfast", ...args].join(" ")) process.title = title;
// As in `holdfast watch | head -1`: nobody reads on.
out.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(exitCodes.ok);
});
// Node would print them in a form of its own. What the library warns of, `doctor` tells as its findings.
process.removeAllListeners("warning");
if (process.argv[2] !== "doctor") process.on("warning", ({ message }) => err.write(`holdfast: ${message}\n`));
process.exitCode = await run(args, {
  env,
  out,
  err,
  // To ask for stdin opens it.
  get input() {
    return process.stdin;
  },
});
