// @ts-check
/**
 * Tells which signals it and a process below it get: `ready`, with the ids of its parent and of both, then `outer SIGTERM`, `inner SIGTERM`.
 * Signals do not end it: it ends with code 3 when its stdin does, or by the signals that are named in its arguments.
 */
import { spawn } from "node:child_process";
import { writeSync } from "node:fs";

const [place = "outer", ...ending] = process.argv.slice(2);
const say = (/** @type {string} */ text) => void writeSync(1, `${text}\n`);

for (const signal of [
  "SIGINT",
  "SIGTERM",
  "SIGHUP",
  "SIGQUIT",
  "SIGUSR1",
  "SIGUSR2",
  "SIGWINCH",
  "SIGCONT",
]) {
  process.on(signal, () => {
    say(`${place} ${signal}`);
    if (ending.includes(signal)) process.exit(3);
  });
}
if (place === "outer") {
  const inner = spawn(process.execPath, [process.argv[1] ?? "", "inner", ...ending], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  inner.stdout.once("data", () => {
    inner.stdout.on("data", (text) => say(String(text).trimEnd()));
    say(`ready ${process.ppid} ${process.pid} ${inner.pid}`);
  });
  process.stdin.resume().once("end", () => process.exit(3));
} else {
  say("ready");
  process.stdin.resume().once("end", () => process.exit(3));
}
