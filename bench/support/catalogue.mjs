import { grantProbe } from "../libraries/grant-probe.mjs";
import { holdfastLibraries } from "../libraries/holdfast.mjs";
import { mariadbRow } from "../libraries/mariadb-row.mjs";
import { nodeRedisson } from "../libraries/node-redisson.mjs";
import { rawGlide } from "../libraries/raw-glide.mjs";
import { rawGroups } from "../libraries/raw-groups.mjs";
import { rawHash } from "../libraries/raw-hash.mjs";
import { rawIoredis } from "../libraries/raw-ioredis.mjs";
import { rawNodeRedis } from "../libraries/raw-node-redis.mjs";
import { rawScripts } from "../libraries/raw-scripts.mjs";
import { rawSetnx } from "../libraries/raw-setnx.mjs";
import { redisSemaphore } from "../libraries/redis-semaphore.mjs";
import { redisson } from "../libraries/redisson.mjs";
import { redlock4 } from "../libraries/redlock-4.mjs";
import { redlock5 } from "../libraries/redlock-5.mjs";
import { redlockUniversal } from "../libraries/redlock-universal.mjs";
import { zookeeperNode } from "../libraries/zookeeper-node.mjs";
import { fairContended } from "../scenarios/fair-contended.mjs";
import { fleetsAtRest } from "../scenarios/fleet-at-rest.mjs";
import { fourProcesses } from "../scenarios/four-processes.mjs";
import { handOver } from "../scenarios/hand-over.mjs";
import { handOverFair } from "../scenarios/hand-over-fair.mjs";
import { hotLocks } from "../scenarios/hot-lock.mjs";
import { idleWaiters } from "../scenarios/idle-waiters.mjs";
import { killedHolder } from "../scenarios/killed-holder.mjs";
import { lonePair } from "../scenarios/lone-pair.mjs";
import { lonePairTelemetry } from "../scenarios/lone-pair-telemetry.mjs";
import { lonePairWatched } from "../scenarios/lone-pair-watched.mjs";
import { manyAtOnce } from "../scenarios/many-at-once.mjs";
import { memory } from "../scenarios/memory.mjs";
import { oneAtATime } from "../scenarios/one-at-a-time.mjs";
import { oneProcess } from "../scenarios/one-process.mjs";
import { readWrite } from "../scenarios/read-write.mjs";
import { renewingTensOfThousands } from "../scenarios/renewing-tens-of-thousands.mjs";
import { renewingThousands } from "../scenarios/renewing-thousands.mjs";
import { stopContinue } from "../scenarios/stop-continue.mjs";
import { timers } from "../scenarios/timers.mjs";

/** @import { Library, Scenario } from "./contracts.js" */

/** A wait as short as redis-semaphore's, for those who wait longer by default. */
const SHORT_DELAY_MS = 10;

/** @type {readonly Scenario[]} */
export const scenarios = [
  oneAtATime,
  lonePair,
  lonePairWatched,
  lonePairTelemetry,
  manyAtOnce,
  oneProcess,
  fourProcesses,
  ...hotLocks,
  killedHolder,
  handOver,
  handOverFair,
  idleWaiters,
  renewingThousands,
  renewingTensOfThousands,
  memory,
  fairContended,
  readWrite,
  stopContinue,
  timers,
  ...fleetsAtRest,
];

/** @type {readonly Library[]} */
export const libraries = [
  ...holdfastLibraries,
  redlock4(),
  redlock4(SHORT_DELAY_MS),
  redlock5(),
  redlock5(SHORT_DELAY_MS),
  redisSemaphore,
  redlockUniversal(),
  redlockUniversal(SHORT_DELAY_MS),
  nodeRedisson,
  rawIoredis,
  rawNodeRedis,
  rawGlide,
  rawScripts,
  rawHash,
  rawGroups,
  rawSetnx,
  grantProbe,
  redisson,
  mariadbRow,
  zookeeperNode,
];

/** @param {string} name */
export function findScenario(name) {
  return find(scenarios, name, "scenario");
}

/**
 * One that takes part in the scenario.
 *
 * @param {Scenario} scenario
 * @param {string} name
 */
export function findLibrary(scenario, name) {
  return find(scenario.contestants(libraries), name, `library in ${scenario.name}`);
}

/**
 * @template {{ readonly name: string }} T
 * @param {readonly T[]} all
 * @param {string} name
 * @param {string} what
 */
function find(all, name, what) {
  const found = all.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no ${what} is called ${name}`);
  return found;
}
