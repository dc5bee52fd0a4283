import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

/**
 * Rules that the design leans on must really bite, and must let through what is right: a tree of offending and
 * of proper files is linted with the configuration of this repository.
 */
const root = join(import.meta.dirname, "..");

/** The rule that must refuse the file, or null for a file that nothing may refuse. */
type Case = readonly [file: string, source: string, rule: string | null];
type Report = { readonly diagnostics: readonly Diagnostic[] };
type Diagnostic = {
  readonly severity: string;
  readonly category: string;
  readonly location: { readonly path: string };
};

const allowed = true;
const imports = (file: string, specifier: string, isAllowed = false): Case => [
  file,
  `import "${specifier}";\n`,
  isAllowed ? null : "lint/style/noRestrictedImports",
];

const cases: readonly Case[] = [
  imports("src/protocol/a.ts", "./names.js", allowed),
  imports("src/protocol/b.ts", "../clock.js"),
  imports("src/protocol/c.ts", "../locks/reentrant-lock.js"),
  imports("src/protocol/d.ts", "../driver/driver.js"),
  imports("src/protocol/e.ts", "node:crypto", allowed),
  imports("src/protocol/g.ts", "node:fs"),
  imports("src/protocol/f.ts", "ioredis"),

  imports("src/driver/a.ts", "../protocol/script-call.js", allowed),
  imports("src/driver/b.ts", "../clock.js", allowed),
  imports("src/driver/c.ts", "./driver.js", allowed),
  imports("src/driver/d.ts", "../protocol/names.js"),
  imports("src/driver/e.ts", "../errors.js"),
  imports("src/driver/f.ts", "../runtime/watchdog.js"),
  imports("src/driver/g.ts", "../locks/reentrant-lock.js"),
  imports("src/driver/h.ts", "ioredis"),
  imports("src/driver/i.ts", "node:timers/promises"),
  imports("src/driver/j.ts", "./own/subscriber.js", allowed),
  imports("src/driver/k.ts", "./ioredis/index.js"),
  imports("src/driver/ioredis/a.ts", "../driver.js", allowed),
  imports("src/driver/ioredis/b.ts", "../own/subscriber.js", allowed),
  imports("src/driver/ioredis/c.ts", "../../protocol/script-call.js", allowed),
  imports("src/driver/ioredis/d.ts", "../node-redis/client.js"),
  imports("src/driver/ioredis/e.ts", "../../protocol/names.js"),
  imports("src/driver/ioredis/f.ts", "../../locks/reentrant-lock.js"),
  imports("src/driver/ioredis/g.ts", "ioredis"),
  imports("src/memory/a.ts", "fengari", allowed),
  imports("src/memory/b.ts", "../protocol/script-call.js", allowed),
  imports("src/memory/c.ts", "../clock.js", allowed),
  imports("src/memory/d.ts", "../driver/driver.js", allowed),
  imports("src/memory/e.ts", "../driver/ioredis/index.js"),
  imports("src/memory/f.ts", "../protocol/names.js"),
  imports("src/memory/g.ts", "../runtime/watchdog.js"),
  imports("src/memory/h.ts", "ioredis"),

  imports("src/runtime/a.ts", "../driver/driver.js", allowed),
  imports("src/runtime/b.ts", "../protocol/names.js", allowed),
  imports("src/runtime/c.ts", "../errors.js", allowed),
  imports("src/runtime/d.ts", "../driver/ioredis/index.js"),
  imports("src/runtime/e.ts", "../threads/threads.js"),
  imports("src/runtime/f.ts", "../locks/reentrant-lock.js"),
  imports("src/runtime/g.ts", "../lease.js"),
  imports("src/runtime/h.ts", "../holdfast.js"),
  imports("src/runtime/i.ts", "node:timers"),

  imports("src/threads/a.ts", "../runtime/watchdog.js", allowed),
  imports("src/threads/b.ts", "../protocol/names.js", allowed),
  imports("src/threads/c.ts", "../driver/driver.js"),
  imports("src/threads/d.ts", "../locks/reentrant-lock.js"),
  imports("src/threads/e.ts", "../lease.js"),
  imports("src/threads/f.ts", "../index.js"),

  imports("src/locks/a.ts", "../lease.js", allowed),
  imports("src/locks/b.ts", "../threads/threads.js", allowed),
  imports("src/locks/c.ts", "../driver/driver.js", allowed),
  imports("src/locks/d.ts", "../driver/ioredis/index.js"),
  imports("src/locks/e.ts", "../memory/index.js"),
  imports("src/locks/f.ts", "../holdfast.js"),
  imports("src/locks/g.ts", "../index.js"),
  imports("src/locks/h.ts", "../synchronizers/semaphore.js"),
  imports("src/synchronizers/a.ts", "../lease.js", allowed),
  imports("src/synchronizers/b.ts", "../driver/ioredis/index.js"),
  imports("src/synchronizers/c.ts", "../locks/reentrant-lock.js"),

  imports("src/lease.ts", "./threads/threads.js", allowed),
  imports("src/a.ts", "./locks/reentrant-lock.js"),
  imports("src/b.ts", "./holdfast.js"),
  imports("src/c.ts", "./index.js"),
  imports("src/clock.ts", "./lease.js"),
  imports("src/errors.ts", "./runtime/watchdog.js"),
  imports("src/events.ts", "./runtime/watchdog.js"),
  imports("src/options.ts", "./threads/threads.js"),
  imports("src/holdfast.ts", "./driver/ioredis/index.js"),
  imports("src/index.ts", "./holdfast.js", allowed),

  imports("demo/a.ts", "holdfast/memory", allowed),
  imports("demo/b.ts", "../src/index.js"),
  imports("test/support/programs/a.ts", "../../../src/index.js"),

  [
    "src/locks/cycle-a.ts",
    'import { b } from "./cycle-b.js";\nexport const a = () => b;\n',
    "lint/suspicious/noImportCycles",
  ],
  [
    "src/locks/cycle-b.ts",
    'import { a } from "./cycle-a.js";\nexport const b = () => a;\n',
    "lint/suspicious/noImportCycles",
  ],
  [
    "src/locks/type-cycle-a.ts",
    'import type { B } from "./type-cycle-b.js";\nexport type A = B | 1;\n',
    "lint/suspicious/noImportCycles",
  ],
  [
    "src/locks/type-cycle-b.ts",
    'import type { A } from "./type-cycle-a.js";\nexport type B = A[];\n',
    "lint/suspicious/noImportCycles",
  ],
  ["src/locks/any.ts", "export const a: any = 1;\n", "lint/suspicious/noExplicitAny"],
  ["src/locks/bang.ts", "export const a = (b?: string) => b!.length;\n", "lint/style/noNonNullAssertion"],
  ["src/locks/enum.ts", "export enum A {\n  B,\n}\n", "lint/style/noEnum"],
  ["src/locks/default.ts", "export default 1;\n", "lint/style/noDefaultExport"],
  ["src/locks/console.ts", 'console.log("a");\n', "lint/suspicious/noConsole"],
  [
    "src/locks/floating.ts",
    "export function a(b: () => Promise<void>): void {\n  b();\n}\n",
    "lint/nursery/noFloatingPromises",
  ],
  ["src/locks/long-file.ts", `${"export {};\n".repeat(301)}`, "lint/style/noExcessiveLinesPerFile"],
  [
    "src/locks/long-function.ts",
    `export function a(b: () => void): void {\n${"  b();\n".repeat(61)}}\n`,
    "lint/complexity/noExcessiveLinesPerFunction",
  ],
  ["src/locks/CamelCase.ts", "export const a = 1;\n", "lint/style/useFilenamingConvention"],
  ...[
    "Date.now()",
    "new Date()",
    "performance.now()",
    "setTimeout(() => {}, 1)",
    "setInterval(() => {}, 1)",
    "setImmediate(() => {})",
    "globalThis.Date",
    "crypto.randomUUID()",
    "new WeakRef({})",
    "new FinalizationRegistry(() => {})",
  ].map(
    (code, i): Case => [
      `src/runtime/clock-${i}.ts`,
      `export const a = ${code};\n`,
      "lint/style/noRestrictedGlobals",
    ],
  ),
  [
    "test/only.test.ts",
    'import { it } from "vitest";\nit.only("a", () => {});\n',
    "lint/suspicious/noFocusedTests",
  ],
  [
    "test/skip.test.ts",
    'import { it } from "vitest";\nit.skip("a", () => {});\n',
    "lint/suspicious/noSkippedTests",
  ],
];

const folder = mkdtempSync(join(tmpdir(), "holdfast-lint-"));
const refusals = new Map<string, string[]>();

beforeAll(() => {
  for (const name of ["biome.jsonc", "package.json", ".gitignore"])
    cpSync(join(root, name), join(folder, name));
  for (const [file, source] of cases) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), source);
  }
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  const args = [biome, "lint", "--reporter=json", "--max-diagnostics=none", "--error-on-warnings"];
  const { stdout, status } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  expect(status).toBe(1);
  for (const { severity, category, location } of (JSON.parse(stdout) as Report).diagnostics) {
    if (severity === "info") continue;
    refusals.set(location.path, [...(refusals.get(location.path) ?? []), category]);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

it.each(cases)("lint judges %s: %j", (file, _, rule) => {
  const refused = refusals.get(file) ?? [];
  if (rule === null) expect(refused).toEqual([]);
  else expect(refused).toContain(rule);
});
