// @ts-check
import { fork } from "node:child_process";
import { once } from "node:events";

/** Stands for an environment of Lambda: a process that runs for as long as an invocation takes, and is frozen in between. */
export class Environment {
  #child;

  /** @param {import("node:child_process").ChildProcess} child */
  constructor(child) {
    this.#child = child;
  }

  /** @param {string} handler its module @param {string} url of Redis */
  static async start(handler, url) {
    const child = fork(new URL("runtime.mjs", import.meta.url), [handler], {
      env: { ...process.env, REDIS_URL: url },
    });
    // A frozen process would outlive a play that was cut short.
    process.once("exit", () => child.kill("SIGKILL"));
    await once(child, "message");
    const environment = new Environment(child);
    environment.#freeze();
    return environment;
  }

  /**
   * The event is there before the process runs on, as on Lambda.
   *
   * @param {unknown} event
   * @param {number} [timeoutMs] of the function
   * @returns {Promise<any>} what the handler answers
   */
  async invoke(event, timeoutMs = 10_000) {
    this.#child.send({ event, timeoutMs });
    this.#child.kill("SIGCONT");
    const [{ answer, error }] = await once(this.#child, "message");
    this.#freeze();
    if (error !== undefined) throw new Error(`the handler threw ${error}`);
    return answer;
  }

  /** @returns {Promise<unknown>} */
  async end() {
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    return exit;
  }

  #freeze() {
    this.#child.kill("SIGSTOP");
  }
}
