// @ts-check
import { spawn, spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";

const folder = import.meta.dirname;

/**
 * Compiles Account.java. Maven fetches Redisson if it is missing.
 *
 * @returns {string | undefined} the reason when this machine cannot do it
 */
export function buildJvm() {
  for (const [program, flag] of [
    ["java", "-version"],
    ["mvn", "-version"],
  ]) {
    if (spawnSync(program ?? "", [flag ?? ""]).status !== 0) return `there is no ${program} on PATH`;
  }
  const goals = ["compile", "dependency:copy-dependencies", "-DincludeScope=runtime"];
  const { status, stdout } = spawnSync("mvn", ["-q", "-B", ...goals], { cwd: folder, encoding: "utf8" });
  return status === 0 ? undefined : `Maven has failed:\n${stdout}`;
}

/** A JVM that runs Account.java. It ends when its input ends, so it does not outlive an interrupted play.mjs. */
export class Jvm {
  #process;
  #answers;

  /** @param {string} url of Redis */
  constructor(url) {
    const path = ["classes", "dependency/*"].map((place) => join(folder, "target", place)).join(delimiter);
    this.#process = spawn(
      "java",
      ["-cp", path, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "Account", url],
      {
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    this.#answers = createInterface(this.#process.stdout)[Symbol.asyncIterator]();
  }

  /** The id of its Redisson client, once it is connected. */
  ready() {
    return this.#answer();
  }

  /** @param {"lock" | "unlock" | "deposit"} order */
  async obey(order) {
    this.#process.stdin.write(`${order}\n`);
    await this.#answer();
  }

  async #answer() {
    const { value, done } = await this.#answers.next();
    if (done) throw new Error("the JVM has ended");
    return value;
  }

  kill() {
    this.#process.kill("SIGKILL");
  }
}
