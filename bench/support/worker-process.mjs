import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { whenWeEnd } from "./endings.mjs";

/** @import { Done, OpenSettings, Worker } from "./contracts.js" */
/** @import { ChildProcess } from "node:child_process" */

const program = fileURLToPath(new URL("worker.mjs", import.meta.url));
const READY_WITHIN_MS = 30_000;

/**
 * Starts worker.mjs with a client of its own. An order that takes longer than `limitMs` fails.
 *
 * @param {{ scenario: string, library: string, settings: OpenSettings }} job
 * @param {number} limitMs
 * @returns {Promise<Worker>}
 */
export async function startWorker(job, limitMs) {
  const child = fork(program, [JSON.stringify(job)], {
    execArgv: ["--expose-gc"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  // It may stand still, and not see that we have ended.
  const forget = whenWeEnd(() => void child.kill("SIGKILL"));
  child.once("close", forget);
  const worker = new WorkerProcess(child, limitMs);
  try {
    await worker.announced("ready", READY_WITHIN_MS);
    return worker;
  } catch (error) {
    await worker.stop();
    throw error;
  }
}

/** @typedef {{ resolve: (message: any) => void, reject: (error: Error) => void }} Waiting */

class WorkerProcess {
  #child;
  #limitMs;
  #errors = "";
  #orders = 0;
  /** @type {Map<number | string, Waiting>} the ids of orders, and the names of events */
  #waiting = new Map();

  /**
   * @param {ChildProcess} child
   * @param {number} limitMs
   */
  constructor(child, limitMs) {
    this.#child = child;
    this.#limitMs = limitMs;
    child.stderr?.on("data", (text) => {
      this.#errors += text;
    });
    child.on("message", (message) => this.#take(message));
    child.on("error", (error) => this.#fail(error));
    child.on("close", (code, signal) => this.#fail(new Error(`the worker ended (${signal ?? code})`)));
  }

  get pid() {
    return this.#child.pid ?? 0;
  }

  /**
   * @template T
   * @param {string} order
   * @param {object} [options]
   * @returns {Promise<Done<T>>}
   */
  order(order, options = {}) {
    this.#orders += 1;
    const id = this.#orders;
    const done = this.#wait(id, this.#limitMs, order);
    this.#child.send({ id, order, options });
    return done;
  }

  /** @param {string} event */
  announced(event, withinMs = this.#limitMs) {
    return this.#wait(event, withinMs, event);
  }

  async stop() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, "close");
    // It may stand still, and ends all the same.
    this.#child.kill("SIGKILL");
    await closed;
  }

  /**
   * @param {number | string} key
   * @param {number} withinMs
   * @param {string} what
   * @returns {Promise<any>}
   */
  #wait(key, withinMs, what) {
    const settled = new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(this.#error(new Error(`no answer to "${what}" in ${withinMs} ms`))),
        withinMs,
      );
      const settle = (/** @type {(value: any) => void} */ way) => (/** @type {any} */ value) => {
        clearTimeout(timer);
        way(value);
      };
      this.#waiting.set(key, { resolve: settle(resolve), reject: settle(reject) });
    });
    // Several may be waited for at once, and the first that fails ends the run.
    settled.catch(() => undefined);
    return settled;
  }

  /** @param {any} message */
  #take(message) {
    const key = message.event ?? message.id;
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    if ("error" in message) waiting?.reject(this.#error(new Error(message.error)));
    else waiting?.resolve(message);
  }

  /** @param {Error} error */
  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(this.#error(error));
    this.#waiting.clear();
  }

  /** @param {Error} error */
  #error(error) {
    return this.#errors === "" ? error : new Error(`${error.message}\n${this.#errors}`);
  }
}
