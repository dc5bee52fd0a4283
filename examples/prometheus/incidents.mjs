// @ts-check
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

/**
 * @typedef {object} Fleet
 * @property {readonly import("./fleet.mjs").Worker[]} workers
 * @property {import("./way-to-redis.mjs").WayToRedis} way
 * @property {import("./operators-page.mjs").OperatorsPage} page
 */

/**
 * @typedef {object} Incident
 * @property {string} what happens
 * @property {string} alert that tells of it
 * @property {(fleet: Fleet) => Promise<void> | void} begin
 * @property {(fleet: Fleet) => Promise<void> | void} end
 * @property {(fleet: Fleet) => Promise<string>} [look] while the alert fires
 */

/** Longer than the lease of the hold that is then lost. */
const STANDS_STILL_MS = 2_500;

/** @type {readonly Incident[]} */
export const incidents = [
  {
    what: "a process stands still for longer than its lease",
    alert: "HoldfastLeaseLost",
    async begin({ workers: [first] }) {
      const holds = first?.told("holds");
      first?.order("hold-briefly");
      await holds;
      first?.child.kill("SIGSTOP");
      await pause(STANDS_STILL_MS);
      first?.child.kill("SIGCONT");
    },
    end() {},
  },
  {
    what: "a holder hangs, and its watchdog renews its lease",
    alert: "HoldfastHolderStuck",
    async begin({ workers: [first, second] }) {
      const holds = first?.told("holds");
      first?.order("hold");
      await holds;
      second?.order("wait");
    },
    look: lookAtTrace,
    end: ({ workers }) => letGo(workers),
  },
  {
    what: "24 tasks want one lock again and again",
    alert: "HoldfastLockHot",
    begin({ workers }) {
      for (const worker of workers) worker.order("storm");
    },
    end: ({ workers }) => letGo(workers),
  },
  {
    what: "Redis answers, and its messages do not arrive",
    alert: "HoldfastMessagesLost",
    begin({ way }) {
      way.isDeaf = true;
    },
    end({ way }) {
      way.isDeaf = false;
    },
  },
  {
    what: "the event loop of a process is blocked while a renewal is due",
    alert: "HoldfastRenewalsLate",
    begin: ({ workers: [first] }) => first?.order("be-late"),
    end: ({ workers }) => letGo(workers),
  },
  {
    what: "Redis is out of reach",
    alert: "HoldfastRedisUnreachable",
    begin: ({ way }) => way.cut(),
    end: ({ way }) => way.mend(),
  },
];

/** @param {readonly import("./fleet.mjs").Worker[]} workers */
function letGo(workers) {
  for (const worker of workers) worker.order("let-go");
}

/** From the holder that the inspector shows to its trace, by the link that the inspector makes. @param {Fleet} fleet */
async function lookAtTrace({ page }) {
  for await (const { name, holders } of page.holdfast.locks({ match: "invoice:*" })) {
    const note = holders[0]?.note ?? "";
    const link = page.traceLink.replace("{note}", note);
    if (process.env["TRACES"] === undefined) {
      const trace = await (await fetch(link)).text();
      assert.match(trace, /holdfast acquire[\s\S]*"holdfast.lock.name": "invoice:1042"/);
    }
    return `the holder of ${name} leads to its trace: ${link}`;
  }
  assert.fail("the inspector knows no holder of the invoice");
}
