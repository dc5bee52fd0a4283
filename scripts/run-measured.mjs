// @ts-check
import { spawn } from "node:child_process";

/** Tells on descriptor 3 how much processor time the command and all that it has waited for took; POSIX has `times` for it. */
const MEASURED = '"$@" 3>&-; code=$?; times >&3; exit $code';

/**
 * Runs a command to its end, and passes on what it prints.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<{ ok: boolean, processorSeconds: number }>}
 */
export function runMeasured(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    let told = "";
    const child = spawn("/bin/sh", ["-c", MEASURED, "sh", command, ...args], {
      ...options,
      stdio: ["ignore", "inherit", "inherit", "pipe"],
    });
    child.stdio[3]?.on("data", (/** @type {Buffer} */ text) => {
      told += text;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ ok: code === 0, processorSeconds: secondsOf(told) }));
  });
}

/**
 * @param {string} told user and system time of the shell, and in the second line of its children: `1m2.5s 0m3.1s`
 */
export function secondsOf(told) {
  const [, children = ""] = told.split("\n");
  const times = [...children.matchAll(/(\d+)m([\d.]+)s/g)];
  if (times.length !== 2) throw new Error(`the shell tells its times in another way: ${told}`);
  return times.reduce((sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds), 0);
}
