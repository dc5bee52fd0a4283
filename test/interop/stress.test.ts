import { afterEach, describe, expect, test } from "vitest";
import { permitLeasesKey } from "../../src/protocol/names.js";
import type { Child } from "../support/child.js";
import { childPrograms } from "../support/child-programs.js";
import { interop, release } from "../support/interop.js";
import { proves } from "../support/proof.js";
import type { RedissonClient, RedissonLockName, RedissonSynchronizerName } from "../support/redisson.js";
import { startRedisson } from "../support/redisson.js";
import { interopKinds } from "./kinds.js";

const FOR_MS = Number(process.env["HOLDFAST_STRESS_MS"] ?? 2_000);
/** Whoever waits when the time is over is still served. */
const LONG_MS = FOR_MS + 120_000;
const COUNTER = "count";
const TOKENS = "tokens";
const JVMS = 2;
const THREADS = 4;
const PROCESSES = 2;
const TASKS = 8;
/** Of a semaphore. */
const PERMITS = 3;

const both = interop();
const startProgram = childPrograms();

/** What all did together. */
interface Total {
  readonly times: number;
  /** How often somebody saw the counter move who kept it from moving. */
  readonly moved: number;
}

type Work = "count" | "watch";

/** What each of the threads does, in each of the JVMs. */
async function inJvms<T>(
  threads: number,
  work: (client: RedissonClient, at: number) => Promise<T>,
): Promise<T[]> {
  const jvms = await Promise.all(Array.from({ length: JVMS }, () => startRedisson(release)));
  try {
    const done = jvms.map(async (jvm) => {
      const client = await jvm.connect(both.server.url);
      return Promise.all(Array.from({ length: threads }, (_, at) => work(client, at)));
    });
    return (await Promise.all(done)).flat();
  } finally {
    await Promise.all(jvms.map((jvm) => jvm.stop()));
  }
}

async function countInJvms(lock: RedissonLockName, work: Work, threads: number): Promise<Total> {
  const options = { counter: COUNTER, tokens: TOKENS, forMs: FOR_MS };
  const totals = await inJvms(threads, (client, at) => client.thread(`${at}`).call(lock, work, options));
  return sum(totals as Partial<Total>[]);
}

async function countInNodes({ kind, name }: RedissonLockName, work: Work, tasks: number): Promise<Total> {
  const settings = {
    port: both.server.port,
    lock: name,
    kind,
    counter: COUNTER,
    tokens: TOKENS,
    forMs: FOR_MS,
    tasks,
  };
  const processes = await Promise.all(
    Array.from({ length: PROCESSES }, () => startProgram("counter-worker", settings)),
  );
  const answers = await Promise.all(processes.map((child) => child.ask(work)));
  return sum(answers.map(({ times, changes }) => ({ times: Number(times), moved: Number(changes ?? 0) })));
}

function sum(totals: readonly Partial<Total>[]): Total {
  const of = (part: keyof Total) => totals.reduce((all, total) => all + (total[part] ?? 0), 0);
  return { times: of("times"), moved: of("moved") };
}

const exclusive = interopKinds.filter(
  ({ name }) => !["read", "write", "write, kept from readers"].includes(name),
);
const title = `Redisson ${release}: ${JVMS} JVMs of ${THREADS} threads and ${PROCESSES} processes of ${TASKS} tasks`;

describe.each(exclusive)(`${title}: $name`, ({ name, of }) => {
  proves({ kind: name, direction: "both", of: "stress" });

  test("lose no count between them", { timeout: LONG_MS }, async () => {
    const lock = of("order:7");
    const [java, node] = await Promise.all([
      countInJvms(lock, "count", THREADS),
      countInNodes(lock, "count", TASKS),
    ]);
    expect(java.times).toBeGreaterThan(0);
    expect(node.times).toBeGreaterThan(0);
    expect(Number(await both.plain.get(COUNTER))).toBe(java.times + node.times);
    const tokens = (await both.plain.lrange(TOKENS, 0, -1)).map(Number);
    expect(tokens).toHaveLength(name === "fenced" ? java.times + node.times : 0);
    expect(tokens.filter((token, at) => at > 0 && token <= (tokens[at - 1] ?? 0))).toEqual([]);
    await both.plain.del(COUNTER, TOKENS);
  });
});

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
