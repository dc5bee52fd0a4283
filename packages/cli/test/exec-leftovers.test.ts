import { expect, it } from "vitest";
import { seededRandom } from "../../../test/support/run/seeded-random.js";
import { until } from "../../../test/support/run/until.js";
import { type RedisServer, startRedis } from "../../../test/support/servers/redis-server.js";
import { execRuns } from "./support/exec-runs.js";

const ROUNDS = Number(process.env["HOLDFAST_EXEC_ROUNDS"] ?? 4);
const AT_ONCE = 4;

const start = execRuns(() => "");

/** A shell, its children and theirs, all of which ignore SIGTERM and go on for ever. */
const tree = "trap '' TERM; (sleep 600 & sleep 600) & (sleep 600 | sleep 600) & echo up; sleep 600";

async function round(server: RedisServer, afterMs: number, comesBack: boolean): Promise<void> {
  const args = [
    "exec",
    "a",
    "--url",
    server.url,
    "--ttl",
    "5s",
    "--kill-after",
    "1s",
    "--",
    "sh",
    "-c",
    tree,
  ];
  const begunMs = performance.now();
  const run = start(args);
  await until(() => performance.now() - begunMs >= afterMs);
  const wasUp = run.out !== "";
  if (comesBack) await server.restart();
  else await server.kill();
  if (comesBack && !wasUp) {
    // It was too early to be hurt by that.
    await until(() => run.hasEnded || run.out !== "");
    await server.kill();
  }
  const code = await run.exited;
  // It may have been too early for the lock, or for the connection.
  expect(wasUp ? [76] : [69, 76]).toContain(code);
  expect(run.below()).toEqual([]);
}

it(
  "leaves no process when Redis is killed at a moment of chance, whether it comes back or not",
  async () => {
    const random = seededRandom();
    for (let nth = 0; nth < ROUNDS; nth += AT_ONCE) {
      await Promise.all(
        Array.from({ length: Math.min(AT_ONCE, ROUNDS - nth) }, async (_, at) => {
          const server = await startRedis();
          try {
            await round(server, 200 + random.below(4_000), at % 2 === 0);
          } finally {
            await server.stop();
          }
        }),
      );
    }
  },
  60_000 + ROUNDS * 20_000,
);
