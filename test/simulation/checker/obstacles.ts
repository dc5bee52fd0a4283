import type { WaitTimeoutError } from "../../../src/errors.js";
import { fairTimes } from "../../../src/protocol/fair-scripts.js";
import type { Failed } from "./truth.js";

const US = 1_000;
/** What timers may be late by, and how long an answer may wait for replicas besides. */
const GRAIN_MS = 45;
/** So often an answer may have to go the way of its process. */
const WAYS = 4;
/** Clocks of processes differ by so much at most. */
const RATE_SHARE = 0.002;

/**
 * `WaitTimeoutError` tells how long the lease of the holder lasts from then on: not for longer than Redis had it while that was the
 * holder, or was to have it for whom it was handed on to, by more than the way of an answer.
 * @returns what is wrong with that
 */
export function untrueObstacle({ obstacle }: WaitTimeoutError, failed: Failed): string | undefined {
  if (obstacle === undefined) return undefined;
  const { asked, call, member, scene } = failed;
  const { ttlMs, holder } = obstacle;
  if (ttlMs < -1) return `it tells of ${ttlMs} ms`;
  if (ttlMs <= 0 || scene.trouble.hasSince(call.startUs, ["server-clock-step"])) return undefined;
  // Readers are told of a writer that only waits, with the TTL of its mark.
  if (scene.shared.some(({ kind, name }) => kind === "fair read-write" && asked.names.includes(name)))
    return undefined;
  const { process, plan } = member;
  const { commandTimeoutMs } = plan.options;
  // It may have been seen by another call of the process, before this one.
  const seenUs = asked.names.map((name) => scene.occupied.lastAskedUs(name, process.name) ?? call.startUs);
  const hurtSinceUs = Math.min(call.startUs, ...seenUs) - 2 * commandTimeoutMs * US;
  if (scene.trouble.has(process.name, hurtSinceUs)) return undefined;
  const ends = asked.names
    .map((name) => scene.holders.lastsUntilUs(name, holder))
    .filter((end) => end !== undefined);
  // A lock may have been handed on inside its client to a call that has not got a lease of it: Redis is yet to be told.
  if (ends.length === 0) return undefined;
  const endUs = Math.max(...ends);
  // Where replicas are asked as well, the answer comes later than from its server alone.
  const wayMs = (WAYS * (plan.distance.leastUs + plan.distance.spreadUs)) / US;
  const waitedMs = (process.nowUs - call.startUs) / US;
  const leftMs = (endUs - process.nowUs) / US;
  // A lock that is free for the first of its queue is his for as long as he is taken to be alive.
  const isFair = scene.shared.some(({ kind, name }) => kind.includes("fair") && asked.names.includes(name));
  const aliveMs = isFair ? fairTimes.aliveMs : 0;
  const mostMs = Math.max(aliveMs, leftMs, 0) + wayMs + GRAIN_MS + RATE_SHARE * waitedMs;
  if (ttlMs <= mostMs) return undefined;
  return `it tells that the lease in the way lasts for ${ttlMs} ms, and it was to last for ${Math.round(leftMs)} ms`;
}
