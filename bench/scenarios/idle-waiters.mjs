import { setTimeout as sleep } from "node:timers/promises";
import { waitingHere } from "../support/contestants.mjs";

/** @import { Scenario } from "../support/contracts.js" */

const WAITERS = 200;
const QUICK_WAITERS = 20;
const TTL_MS = 600_000;
/** Until all have asked once, and those who listen do. */
const SETTLE_MS = 1_000;
const QUICK_SETTLE_MS = 100;
/** As long as holdfast's safety period at least, so that what a waiter asks in between is seen. */
const SHORTEST_MS = 6_000;

/** @type {Scenario} */
export const idleWaiters = {
  name: "idle-waiters",
  title: `${WAITERS} idle waiters`,
  about: "Tasks of one process wait for a lock that another process keeps. What they cost in all.",
  columns: [
    { metric: "commandsPerSecond", heading: "commands/s", digits: 1 },
    { metric: "clientCpuMs", heading: "client CPU ms/s", digits: 1 },
    { metric: "serverCpuMs", heading: "server CPU ms/s", digits: 1 },
  ],
  tries: "waiting",
  contestants: waitingHere,

  async measure(stage, { quick, forMs }) {
    const [holder, crowd] = await Promise.all([stage.worker(), stage.worker()]);
    await holder.order("hold");
    await crowd.order("wait", { waiters: quick ? QUICK_WAITERS : WAITERS });
    await sleep(quick ? QUICK_SETTLE_MS : SETTLE_MS);
    const ms = quick ? forMs : Math.max(SHORTEST_MS, forMs);
    const { value, tookMs, commands, serverCpuUs } = await stage.measure(() => crowd.order("idle", { ms }));
    return {
      clientCpuMs: value.cpuUs / tookMs,
      ...(commands === undefined ? {} : { commandsPerSecond: (commands / tookMs) * 1_000 }),
      ...(serverCpuUs === undefined ? {} : { serverCpuMs: serverCpuUs / tookMs }),
    };
  },

  orders: {
    async hold(connection) {
      await connection.acquire("lock", { ttlMs: TTL_MS });
    },

    async wait(connection, /** @type {{ waiters: number }} */ { waiters }) {
      for (let i = 0; i < waiters; i += 1) {
        void connection.acquire("lock", { ttlMs: TTL_MS }).then(() => {
          throw new Error("a lock was given that another process has");
        });
      }
    },

    idle: (_, /** @type {{ ms: number }} */ { ms }) => sleep(ms),
  },
};
