import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { noServer } from "../support/servers.mjs";

/** @import { Library, OpenSettings } from "../support/contracts.js" */
/** @import { Timers } from "../support/pending-timers.mjs" */

/**
 * What keeps time, instead of locks.
 *
 * @type {readonly Library[]}
 */
export const timerLibraries = [contestant("setTimeout", openTimeouts), contestant("wheel", openWheel)];

/**
 * @param {string} name
 * @param {(settings: OpenSettings) => Promise<Timers>} open
 * @returns {Library}
 */
function contestant(name, open) {
  return {
    name,
    role: "other",
    server: noServer,
    packages: [],
    claims: { kinds: [], waits: false, renews: false },
    open: async (settings) => ({ timers: await open(settings), acquire: refuse, release: refuse }),
  };
}

/** @returns {Promise<never>} */
async function refuse() {
  throw new Error("this is no lock");
}

/** @returns {Promise<Timers>} */
async function openTimeouts() {
  return { schedule: (delayMs, task) => setTimeout(task, delayMs), cancel: clearTimeout };
}

/**
 * @param {OpenSettings} settings
 * @returns {Promise<Timers>}
 */
async function openWheel({ dist }) {
  const load = (/** @type {string} */ file) =>
    import(pathToFileURL(join(dist, "../../build/modules", file)).href);
  const { HashedWheelTimer } = await load("runtime/hashed-wheel-timer.js");
  const { systemClock } = await load("clock.js");
  const wheel = new HashedWheelTimer(systemClock, 100);
  return {
    schedule: (delayMs, task) => wheel.schedule(delayMs, task),
    cancel: (timeout) => timeout.cancel(),
  };
}
