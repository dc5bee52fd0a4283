import { describe, expect, test } from "vitest";
import { interop, release } from "../support/jvm/interop.js";
import type { RedissonClient, RedissonLockName } from "../support/jvm/redisson.js";
import { startRedisson } from "../support/jvm/redisson.js";
import { proves } from "../support/run/proof.js";
import { childPrograms } from "../support/worlds/child-programs.js";
import type { InteropKind } from "./kinds.js";

export const FOR_MS = Number(process.env["HOLDFAST_STRESS_MS"] ?? 2_000);
/** Whoever waits when the time is over is still served. */
export const LONG_MS = FOR_MS + 120_000;
export const COUNTER = "count";
const TOKENS = "tokens";
const JVMS = 2;
export const THREADS = 4;
const PROCESSES = 2;
export const TASKS = 8;

export const both = interop();
export const startProgram = childPrograms();

/** What all did together. */
interface Total {
  readonly times: number;
  /** How often somebody saw the counter move who kept it from moving. */
  readonly moved: number;
}

type Work = "count" | "watch";

/** What each of the threads does, in each of the JVMs. */
export async function inJvms<T>(
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

export async function countInJvms(lock: RedissonLockName, work: Work, threads: number): Promise<Total> {
  const options = { counter: COUNTER, tokens: TOKENS, forMs: FOR_MS };
  const totals = await inJvms(threads, (client, at) => client.thread(`${at}`).call(lock, work, options));
  return sum(totals as Partial<Total>[]);
}

export async function countInNodes(
  { kind, name }: RedissonLockName,
  work: Work,
  tasks: number,
): Promise<Total> {
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

export const title = `Redisson ${release}: ${JVMS} JVMs of ${THREADS} threads and ${PROCESSES} processes of ${TASKS} tasks`;

/** What locks of these kinds have to stand that one alone may hold. */
export function losesNoCount(kinds: readonly InteropKind[]): void {
  describe.each(kinds)(`${title}: $name`, ({ name, of }) => {
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
}
