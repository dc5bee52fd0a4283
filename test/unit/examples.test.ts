import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CodeBlock } from "../support/documents/code-blocks.js";
import { exampleWorld, parametersOf } from "../support/documents/example-worlds.js";
import {
  type Callable,
  exampleOf,
  exportedNames,
  IMPLEMENTED,
  publicCallables,
  WITHOUT_USE,
} from "../support/documents/examples.js";
import { runnableBlocks } from "../support/documents/run-blocks.js";
import { typeErrors } from "../support/documents/type-check.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { root } from "../support/tidy/tree.js";

const FOLDER = join(root, "build/test/examples");

/** Examples that are compiled and not run, and why. */
const NOT_RUN: Readonly<Record<string, string>> = {
  valkeyGlideDriver:
    "a client of GLIDE has threads of its own; test/unit/valkey-glide-driver.test.ts makes such drivers",
  locked:
    "Node has no decorators, and Vitest does not compile them; test/recipes/locked.test.ts decorates methods",
};

const { callables, implemented } = publicCallables();
const inUse = callables.filter(({ name }) => !(name in WITHOUT_USE));
const groups = [...new Set(inUse.map(groupOf))];

const redis = locksOnRedis();

function groupOf({ owner, specifier }: Callable): string {
  return owner ?? `functions of ${specifier}`;
}

/** The example as a block that imports what it uses of the subpath, and `Holdfast`. */
function blockOf({ name, owner, specifier, example = "" }: Callable): CodeBlock {
  const used = (of: string) => new RegExp(`(?<![\\w$.])${of}(?![\\w$])`).test(example);
  const imports = [
    ...exportedNames(specifier)
      .filter(used)
      .map((value) => `import { ${value} } from "${specifier}";`),
    ...(specifier !== "holdfast" && used("Holdfast") ? ['import { Holdfast } from "holdfast";'] : []),
  ];
  const code = [...imports, example, ""].join("\n");
  const parameters = parametersOf(owner ?? name, specifier);
  return {
    path: name,
    line: 1 - imports.length,
    language: "ts",
    isFragment: false,
    isQuoted: false,
    code,
    parameters,
  };
}

describe("examples of public methods and functions", () => {
  test("each method and function that programs call has one", () => {
    expect(callables.length).toBeGreaterThan(130);
    const without = inUse.filter(({ example }) => example === undefined).map(({ name }) => name);
    expect(without, "no @example in the docstring").toEqual([]);
  });

  test("each exception is in the public API", () => {
    expect(Object.keys(IMPLEMENTED).filter((name) => !implemented.has(name))).toEqual([]);
    const names = callables.map(({ name }) => name);
    const exceptions = [...Object.keys(WITHOUT_USE), ...Object.keys(NOT_RUN)];
    expect(exceptions.filter((name) => !names.includes(name))).toEqual([]);
  });

  test.each([
    ["on the line of the tag", "*\n * Acquires.\n * @example await lock.lock();\n ", "await lock.lock();"],
    ["below the tag", "*\n * @example\n * {\n *   work();\n * }\n * @throws Error\n ", "{\n  work();\n}"],
    ["alone", "* @example clock.block(1); ", "clock.block(1);"],
    ["none", "* Acquires. ", undefined],
  ])("an example is read %s", (_, doc, example) => {
    expect(exampleOf(doc)).toBe(example);
  });

  test("the compiler accepts each", async () => {
    expect(await typeErrors(inUse.map(blockOf), join(FOLDER, "types"))).toEqual([]);
  });

  test.each(groups)("each of %s runs", async (group) => {
    const failures: string[] = [];
    for (const callable of inUse.filter((one) => groupOf(one) === group && !(one.name in NOT_RUN))) {
      const { name, owner } = callable;
      const world = await exampleWorld(owner ?? name, { client: redis.plain, url: redis.server.url });
      const file = join(FOLDER, "run", `${name}.ts`);
      const [runnable] = await runnableBlocks([blockOf(callable)], file, Object.keys(world.values));
      const running = runnable?.run(world.values).catch((error: unknown) => {
        if (error !== world.signal.reason) failures.push(`${name}: ${error}`);
      });
      // What goes on until the signal aborts has begun by then.
      if (runnable?.uses(["signal"])) await turns(100).then(world.abort);
      await running;
      await world.end();
    }
    expect(failures).toEqual([]);
  });
});

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
}
