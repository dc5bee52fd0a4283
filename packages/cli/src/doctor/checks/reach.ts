import { type Check, fail, ok, warn } from "../check.js";
import { ask, ofEach, type Scene, type WritableServer } from "../scene.js";

const PINGS = 20;
const SLOW_MS = 50;
/** A command should take at most this share of its timeout, so that it is still answered in time when everything is slower. */
const SHARE = 0.1;

const advice = {
  why: "Each lock and each unlock takes one round trip. A command that is not answered in time has an unknown outcome.",
  doc: "docs/guide/first-steps.md#when-redis-does-not-answer",
};

/** Whether the server answers, and how fast. */
export const reach: Check = {
  id: "reach",
  async look(scene) {
    const answered = await ofEach(scene, async (server) => [judge(await roundTrips(server), scene)]);
    const silent = scene.silent.map((address) =>
      fail(`${address} does not answer`, {
        why: "Locks whose keys are on it can not be taken, renewed or released.",
        wanted: "Start it again, or let one of its replicas take its place.",
        doc: "docs/guide/topologies.md#cluster",
      }),
    );
    return [...silent, ...answered];
  },
};

export async function roundTrips(server: WritableServer): Promise<readonly number[]> {
  const took: number[] = [];
  for (let at = 0; at < PINGS; at += 1) {
    const fromMs = performance.now();
    await ask(server, "PING");
    took.push(performance.now() - fromMs);
  }
  return took;
}

/** @param took milliseconds of each round trip; there are so few that the slowest counts as the 99th percentile */
export function judge(took: readonly number[], { commandTimeoutMs }: Pick<Scene, "commandTimeoutMs">) {
  const sorted = [...took].sort((a, b) => a - b);
  const slowest = sorted.at(-1) ?? 0;
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const found = `${took.length} of ${took.length} answers, half of them within ${ms(median)}, the slowest after ${ms(slowest)}`;
  if (slowest > commandTimeoutMs * SHARE)
    return fail(found, {
      ...advice,
      wanted: `Answers should take at most a tenth of commandTimeoutMs (${ms(commandTimeoutMs)}): check the network, slow commands and the load of the server.`,
    });
  if (slowest > SLOW_MS)
    return warn(found, {
      ...advice,
      wanted: "Check the network, slow commands and the load of the server.",
    });
  return ok(found);
}

function ms(took: number): string {
  // A virtual machine's clock may step back a little, and the difference would be negative.
  const value = Math.max(0, took);
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}
