import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Where scripts/redisson.mjs puts what it builds. */
const built = fileURLToPath(new URL("../../interop/target", import.meta.url));

/** @typedef {{ value: any, startedNs: number, endedNs: number }} Answer */

/** The program of interop/ with a release of Redisson. It ends when this process does. */
export class Jvm {
  #child;
  #orders = 0;
  /** @type {Map<number, { resolve: (answer: Answer) => void, reject: (error: Error) => void }>} */
  #waiting = new Map();

  /** @param {string} release */
  constructor(release) {
    const classPath = [join(built, "classes"), join(built, `redisson-${release}`, "*")].join(delimiter);
    const quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error";
    const child = spawn("java", [quiet, "-cp", classPath, "holdfast.interop.Peer"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child = child;
    createInterface(child.stdout).on("line", (line) => this.#take(JSON.parse(line)));
    child.on("close", (code) => this.#fail(new Error(`the JVM ended (${code})`)));
    child.on("error", (error) => this.#fail(error));
  }

  /**
   * @param {string} order
   * @param {object} options
   * @returns {Promise<Answer>}
   */
  order(order, options) {
    this.#orders += 1;
    const id = this.#orders;
    this.#child.stdin.write(`${JSON.stringify({ id, order, options })}\n`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** @param {any} answer */
  #take(answer) {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (answer.event === "failed")
      waiting?.reject(new Error(`${answer.error.name}: ${answer.error.message}`));
    else waiting?.resolve(answer);
  }

  /** @param {Error} error */
  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
