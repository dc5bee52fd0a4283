#!/usr/bin/env node
/** `holdfast`: `holdfast help` says what it does. */
import { exitCodes } from "./exit-codes.js";
import { run } from "./program.js";
import { titleOf } from "./title.js";

const { env, stdout: out, stderr: err } = process;
const args = process.argv.slice(2);
const title = titleOf(args);
// A new title would overwrite the typed arguments, which exec reads byte for byte, so it is set only if it differs from them.
if (title !== ["holdfast", ...args].join(" ")) process.title = title;
out.on("error", (error: NodeJS.ErrnoException) => {
  // As in `holdfast watch | head -1`: the reader has gone.
  if (error.code === "EPIPE") process.exit(exitCodes.ok);
  err.write(`holdfast: stdout can not be written to: ${error.message}\n`);
  process.exit(exitCodes.notWritten);
});
// The messages are lost, but the command still completes, and keeps its exit code.
err.on("error", () => undefined);
// Node would print warnings in its own form. `doctor` reports the library's warnings as findings.
process.removeAllListeners("warning");
if (process.argv[2] !== "doctor") process.on("warning", ({ message }) => err.write(`holdfast: ${message}\n`));
process.exitCode = await run(args, {
  env,
  out,
  err,
  // A getter, because every access to `process.stdin` opens stdin.
  get input() {
    return process.stdin;
  },
});
