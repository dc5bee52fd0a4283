import { describe, expect, test } from "vitest";
import { childPrograms } from "../support/child-programs.js";
import { interop, release } from "../support/interop.js";
import { proves } from "../support/proof.js";
import type { RedissonLockName } from "../support/redisson.js";
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

const both = interop();
const startProgram = childPrograms();

/** What all did together. */
interface Total {
  readonly times: number;
  /** How often somebody saw the counter move who kept it from moving. */
  readonly moved: number;
}

type Work = "count" | "watch";

async function inJvms(lock: RedissonLockName, work: Work, threads: number): Promise<Total> {
  const jvms = await Promise.all(Array.from({ length: JVMS }, () => startRedisson(release)));
  try {
    const totals = jvms.map(async (jvm) => {
      const client = await jvm.connect(both.server.url);
      const options = { counter: COUNTER, tokens: TOKENS, forMs: FOR_MS };
      const done = Array.from({ length: threads }, (_, at) =>
        client.thread(`${at}`).call(lock, work, options),
      );
      return (await Promise.all(done)) as Partial<Total>[];
    });
    return sum((await Promise.all(totals)).flat());
  } finally {
    await Promise.all(jvms.map((jvm) => jvm.stop()));
  }
}

async function inNodes({ kind, name }: RedissonLockName, work: Work, tasks: number): Promise<Total> {
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
    const [java, node] = await Promise.all([inJvms(lock, "count", THREADS), inNodes(lock, "count", TASKS)]);
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
      inJvms(write, "count", THREADS / 2),
      inJvms(read, "watch", THREADS / 2),
      inNodes(write, "count", TASKS / 2),
      inNodes(read, "watch", TASKS / 2),
    ]);
    expect([jvmReaders.moved, readers.moved]).toEqual([0, 0]);
    for (const { times } of [jvmWriters, jvmReaders, writers, readers]) expect(times).toBeGreaterThan(0);
    expect(Number(await both.plain.get(COUNTER))).toBe(jvmWriters.times + writers.times);
    await both.plain.del(COUNTER);
  });
});
