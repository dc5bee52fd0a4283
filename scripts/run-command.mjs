// @ts-check
import { spawn } from "node:child_process";

/**
 * Runs a command to its end, with what it prints passed on unless `quiet`.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, quiet?: boolean }} [options]
 * @returns {Promise<{ ok: boolean, output: string }>} output: stdout and stderr of a quiet command
 */
export function runCommand(command, args, { quiet = false, ...options } = {}) {
  return new Promise((resolve, reject) => {
    let output = "";
    const collect = (/** @type {Buffer} */ text) => {
      output += text;
    };
    const child = spawn(command, args, {
      ...options,
      stdio: ["ignore", quiet ? "pipe" : "inherit", quiet ? "pipe" : "inherit"],
    });
    child.stdout?.on("data", collect);
    child.stderr?.on("data", collect);
    child.on("error", reject);
    child.on("close", (code) => resolve({ ok: code === 0, output }));
  });
}

/**
 * The same for a command without which nothing further makes sense.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<string>} what it printed
 */
export async function mustRun(command, args, options) {
  const { ok, output } = await runCommand(command, args, { ...options, quiet: true });
  if (!ok) throw new Error(`${command} ${args.join(" ")} failed:\n${output}`);
  return output;
}
