import { expect } from "vitest";
import { until } from "../../../../test/support/run/until.js";
import { ask } from "../../../../test/support/servers/ask.js";
import type { RedisServer } from "../../../../test/support/servers/redis-server.js";
import type { Run, Start } from "./exec-runs.js";
import { found, startNext, startStubborn } from "./stubborn-group.js";
import { endTelling, renewedAt, telling, toldHold } from "./told-hold.js";

/** An outage of eighteen seconds is ridden out: a failover takes two to four, and up to twelve on a machine that is busy. */
const TTL_MS = 30_000;
const TERMS = ["--ttl", "30s", "--kill-after", "1s"];
/** The lease of one that is lost in an outage. */
const SHORT_TTL_MS = 15_000;
const SHORT_TERMS = ["--ttl", "15s", "--kill-after", "1s"];
/** It waits through an outage that is longer than the lease of the one before it. */
const PATIENT = ["--ttl", "1m"];

/**
 * A command goes on under its lock, which is renewed and freed at the new master, and another one has it then.
 * @param move makes another server the master of the lock, which it resolves with
 */
export async function goesOnThrough(
  start: Start,
  name: string,
  move: () => Promise<RedisServer>,
): Promise<void> {
  const run = start(["exec", name, ...TERMS, "--", ...telling], { stdin: "pipe" });
  const { holder } = await toldHold(run);
  const waiter = start(["exec", name, ...TERMS, "--report-every", "100ms", "--", "echo", "in"]);
  await waiter.complains("waiting for");
  const master = await move();
  await Promise.race([renewedAt(master, name, TTL_MS), run.exited.then((code) => failed(code, run))]);
  expect(await ask(master, "HKEYS", name)).toEqual([holder]);
  expect([run.hasEnded, waiter.out]).toEqual([false, ""]);
  expect(await endTelling(run)).toBe(7);
  expect([await waiter.exited, waiter.out]).toEqual([0, "in\n"]);
  expect(await ask(master, "EXISTS", name)).toBe(0);
  expect(run.err).toBe("");
}

/**
 * A group that ignores SIGTERM is dead before the next one with the lock has written its first byte, when these servers stand still for as
 * long as the lease lasts.
 */
export async function isDeadBeforeTheNext(
  start: Start,
  name: string,
  serversOf: () => Promise<readonly RedisServer[]>,
): Promise<void> {
  const { run, pids } = await startStubborn(start, name, SHORT_TERMS);
  const next = await startNext(start, name, PATIENT, pids);
  const servers = await serversOf();
  await Promise.all(servers.map((server) => server.pause()));
  const overMs = performance.now() + SHORT_TTL_MS;
  await until(() => performance.now() >= overMs);
  for (const server of servers) server.resume();
  expect(await next.exited).toBe(0);
  expect(next.out).toContain("looked");
  expect(found(next)).toEqual([]);
  expect(await run.exited).toBe(76);
  expect(run.err).toContain("could not be renewed in time");
  expect(run.below()).toEqual([]);
}

function failed(code: unknown, { err }: Run): never {
  throw new Error(`it has ended with ${code}: ${err}`);
}
