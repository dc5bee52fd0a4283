import { describe, expect, test } from "vitest";
import { until } from "../support/run/until.js";
import { realMasters } from "../support/servers/real-masters.js";
import { childPrograms } from "../support/worlds/child-programs.js";

const masters = realMasters(3);
/** Processes take turns, on a machine that may be busy with other tests. */
const LONG_MS = 60_000;
const start = childPrograms();

describe("four processes that count under a red lock on three servers", () => {
  async function count(forMs: number, locked: boolean) {
    const settings = {
      ports: masters.servers.map(({ port }) => port),
      redMemberTimeoutMs: 1_000,
    };
    const workers = await Promise.all([1, 2, 3, 4].map(() => start("joint-worker", settings)));
    const answers = await Promise.all(
      workers.map((worker) => worker.ask("red", { names: ["a"], forMs, locked })),
    );
    expect(answers.map(({ event, error }) => [event, error])).toEqual(
      workers.map(() => ["counted", undefined]),
    );
    const stored = Number(await masters.ask(0, (redis) => redis.getdel("counter:a")));
    return { stored, visits: answers.map(({ visits }) => Number(visits)) };
  }

  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

  test("lose nothing, and all get their turn", { timeout: LONG_MS }, async () => {
    const { stored, visits } = await count(3_000, true);
    expect(stored).toBe(sum(visits));
    expect(Math.min(...visits), visits.join(", ")).toBeGreaterThan(0);
    await until(async () => (await masters.heldOn("a")).length === 0);
  });

  test("lose counts without it, so that the test above can fail", { timeout: LONG_MS }, async () => {
    const { stored, visits } = await count(500, false);
    expect(stored).toBeLessThan(sum(visits));
  });
});
