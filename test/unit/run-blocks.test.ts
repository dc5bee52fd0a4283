import { join } from "node:path";
import { Holdfast, ReentryError } from "holdfast";
import { describe, expect, test } from "vitest";
import {
  blocksOf,
  type CodeBlock,
  documentBlocks,
  isOwn,
  isScript,
} from "../support/documents/code-blocks.js";
import { type RunnableBlock, readersNames, runnableBlocks } from "../support/documents/run-blocks.js";
import { reader, type Values } from "../support/documents/values.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { root } from "../support/tidy/tree.js";

const FOLDER = join(root, "build/test/run-blocks");

/** Blocks that are compiled and not run, by document and first line, and why. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "README.md: // pay.mjs": "test/unit/readme.test.ts runs it as a program",
  "docs/guide/clients.md: import { Cluster": "needs Sentinels and a cluster",
  "docs/guide/clients.md: import { createClient": "needs Sentinels and a cluster",
  "docs/guide/clients.md: import { Decoder":
    "a client of GLIDE has threads of its own; test/conformance makes such drivers",
  "docs/guide/clients.md: import { type ConformanceHarness":
    "registers tests; test/conformance does the same with each driver",
  "docs/guide/finding-locks.md: import { watchLocks":
    "goes on for ever; test/watch watches until something has changed",
  "docs/guide/kinds/red-lock.md: const a":
    "needs three servers; test/kinds/red-lock-servers.test.ts has them",
  "docs/guide/testing.md: import { FakeClock": "test/unit/testing-guide.test.ts has the same lines",
  "docs/guide/testing.md: vi.useFakeTimers": "test/unit/testing-guide.test.ts has the same lines",
  "docs/guide/testing.md: const waiting": "test/unit/testing-guide.test.ts has the same lines",
  "docs/guide/testing.md: import { events": "test/unit/testing-guide.test.ts has the same lines",
  "docs/guide/testing.md: const clock": "test/unit/testing-guide.test.ts has the same lines",
};

/** Blocks that end with an error, which they tell. */
const REJECTING: Readonly<Record<string, new (...args: never[]) => Error>> = {
  "docs/guide/kinds/lock.md: const once": ReentryError,
};

/** Functions that a block declares for its reader to call. */
const CALLS: Readonly<Record<string, (declared: Values, values: Values) => unknown>> = {
  "docs/guide/in-order.md: /** Called": (declared, { message }) => call(declared["handle"], message),
  "docs/guide/limiting-concurrency.md: const partner": (declared, { order }) =>
    call(declared["quote"], order),
  "docs/guide/reentry.md: async function charge": (declared, { holdfast }) =>
    (holdfast as Holdfast).using("invoice:7", () => call(declared["charge"], { id: "7" })),
};

const own = documentBlocks().filter((block) => isScript(block) && isOwn(block));
const pages = [...new Set(own.map(({ path }) => path))].filter((path) =>
  own.some((block) => block.path === path && !isNamed(NOT_RUN, block)),
);

const redis = locksOnRedis();

function isNamed(names: Readonly<Record<string, unknown>>, block: CodeBlock): boolean {
  return nameIn(names, block) !== undefined;
}

function nameIn(names: Readonly<Record<string, unknown>>, { path, code }: CodeBlock): string | undefined {
  return Object.keys(names).find((name) => `${path}: ${code}`.startsWith(name));
}

function call(declared: unknown, ...args: readonly unknown[]): unknown {
  return (declared as (...args: readonly unknown[]) => unknown)(...args);
}

/** Runs the blocks of a page one after the other: each knows what those before it have declared. */
async function runPage(blocks: readonly CodeBlock[], file: string): Promise<void> {
  const { holdfast, redis: client } = redis.connect();
  const { url, port } = redis.server;
  const page = await reader({ holdfast, redis: client, url, port });
  const runnable = await runnableBlocks(blocks, file, Object.keys(page.values));
  const declared: Record<string, unknown> = {};
  try {
    for (const one of runnable) {
      // Unless it goes on from an earlier block, it meets an empty server, as its reader does.
      if (!one.uses(Object.keys(declared))) await redis.plain.flushdb();
      Object.assign(declared, await runBlock(one, { ...page.values, ...declared }));
    }
  } finally {
    await page.end();
    for (const value of Object.values(declared)) if (value instanceof Holdfast) await value.close();
    await redis.plain.flushdb();
  }
}

async function runBlock(one: RunnableBlock, values: Values): Promise<Values> {
  const { block } = one;
  const place = `${block.path}:${block.line}`;
  const rejecting = REJECTING[nameIn(REJECTING, block) ?? ""];
  if (rejecting !== undefined) {
    await expect(one.run(values), place).rejects.toThrow(rejecting);
    return {};
  }
  try {
    const declared = await one.run(values);
    await CALLS[nameIn(CALLS, block) ?? ""]?.(declared, values);
    await Promise.all(Object.values(declared).map(release));
    return declared;
  } catch (error) {
    throw new Error(`${place}: ${error}`, { cause: error });
  }
}

/** The reader's function ends here, and its leases with it. */
async function release(value: unknown): Promise<void> {
  const lease = value as { readonly state?: unknown; unlock?(): Promise<void> } | null | undefined;
  if (lease?.state === "held") await lease.unlock?.();
}

describe("the blocks of documents", () => {
  test.each(pages)("each of %s runs", async (path) => {
    const blocks = own.filter((block) => block.path === path && !isNamed(NOT_RUN, block));
    await runPage(blocks, join(FOLDER, `${path}.ts`));
    expect(blocks).not.toEqual([]);
  });

  test("each exception is a block that documents have", () => {
    const exceptions = [NOT_RUN, REJECTING, CALLS].flatMap(Object.keys);
    expect(
      exceptions.filter((name) => own.filter((block) => isNamed({ [name]: 0 }, block)).length !== 1),
    ).toEqual([]);
  });

  test("each name that blocks leave out has a value", async () => {
    const page = await reader({ ...redis.connect(), url: "", port: 0 });
    expect(Object.keys(page.values)).toEqual(expect.arrayContaining([...readersNames()]));
    expect(readersNames().length).toBeGreaterThan(50);
    await page.end();
  });

  test.each([
    ["throws", "const lease = await lock.lock();\nlease.release();", /^page\.md:2: TypeError/],
    [
      "has another value than it tells",
      "await lock.isLocked(); // true",
      /^page\.md:2: .*tells true.* false$/,
    ],
  ])("a block that %s fails, by its place", async (what, code, message) => {
    const blocks = blocksOf(`\`\`\`ts\n${code}\n\`\`\`\n`, "page.md");
    await expect(runPage(blocks, join(FOLDER, `${what}.ts`))).rejects.toThrow(message);
  });
});
