import { afterEach, describe, expect, test } from "vitest";
import { permitLeasesKey } from "../../src/protocol/names.js";
import type { RedissonSynchronizerName } from "../support/jvm/redisson.js";
import { proves } from "../support/run/proof.js";
import type { Child } from "../support/worlds/child.js";
import {
  both,
  COUNTER,
  countInJvms,
  countInNodes,
  FOR_MS,
  inJvms,
  LONG_MS,
  startProgram,
  TASKS,
  THREADS,
  title,
} from "./stress.js";

/** Of a semaphore. */
const PERMITS = 3;

describe(`${title}: read and write`, () => {
  for (const kind of ["read", "write"]) proves({ kind, direction: "both", of: "stress" });

  test("never see the count move under a read lock, and lose none", { timeout: LONG_MS }, async () => {
    const [read, write] = [
      { kind: "read", name: "order:7" },
      { kind: "write", name: "order:7" },
    ] as const;
    const [jvmWriters, jvmReaders, writers, readers] = await Promise.all([
      countInJvms(write, "count", THREADS / 2),
      countInJvms(read, "watch", THREADS / 2),
      countInNodes(write, "count", TASKS / 2),
      countInNodes(read, "watch", TASKS / 2),
    ]);
    expect([jvmReaders.moved, readers.moved]).toEqual([0, 0]);
    for (const { times } of [jvmWriters, jvmReaders, writers, readers]) expect(times).toBeGreaterThan(0);
    expect(Number(await both.plain.get(COUNTER))).toBe(jvmWriters.times + writers.times);
    await both.plain.del(COUNTER);
  });
});

/** How often permits were taken, and how many were seen in use at most. */
interface Use {
  readonly times: number;
  readonly most: number;
}

async function useInJvms(on: RedissonSynchronizerName): Promise<readonly Use[]> {
  const options = { counter: COUNTER, permits: 1, forMs: FOR_MS };
  const used = await inJvms(THREADS, (client, at) => client.thread(`${at}`).call(on, "use", options));
  return used as Use[];
}

/** In the second process, each task takes two permits. */
function useInNodes({ kind, name: semaphore }: RedissonSynchronizerName): Promise<readonly Use[]> {
  const { port } = both.server;
  const use = async (permits: number) => {
    const order = { permits, tasks: TASKS, forMs: FOR_MS, counter: COUNTER };
    const child: Child =
      kind === "semaphore"
        ? await startProgram("permit-user", { port, semaphore, inside: COUNTER })
        : await startProgram("permit-holder", { port, semaphore });
    const { turns, visits, most } = await child.ask(kind === "semaphore" ? "work" : "campaign", order);
    return { times: Number(turns ?? visits), most: Number(most) };
  };
  return Promise.all([use(1), use(2)]);
}

describe.each(["semaphore", "permit-expirable-semaphore"] as const)(
  `${title}: ${PERMITS} permits of a %s`,
  (kind) => {
    const on = { kind, name: "order:7" };
    proves({ kind, direction: "both", of: "stress" });
    afterEach(() => both.plain.del(on.name, permitLeasesKey(on.name), COUNTER));

    test("are never more than that, and all there in the end", { timeout: LONG_MS }, async () => {
      await both.plain.set(on.name, PERMITS);
      const uses = (await Promise.all([useInJvms(on), useInNodes(on)])).flat();
      for (const { times, most } of uses) {
        expect(times).toBeGreaterThan(0);
        expect(most).toBeLessThanOrEqual(PERMITS);
      }
      expect(Math.max(...uses.map(({ most }) => most))).toBe(PERMITS);
      expect(await both.plain.get(COUNTER)).toBe("0");
      expect(await both.plain.get(on.name)).toBe(String(PERMITS));
      expect(await both.plain.exists(permitLeasesKey(on.name))).toBe(0);
    });
  },
);
