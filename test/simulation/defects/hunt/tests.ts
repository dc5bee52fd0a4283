import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Edit } from "../defect.js";
import { changedFiles, changedSources, root } from "../variant.js";

/** What a copy of the repository does without. */
const LEFT_OUT = new Set([".git", "bench", "build", "demo", "dist", "interop", "node_modules"]);
/** Real processes and real time: they take long, and a busy machine may fail them. */
const SLOW = [
  "**/*processes.test.ts",
  "**/*redis.test.ts",
  "**/{bursts,error-stacks,fair-lock-crowds,hand-off-distance,hand-off-far-clients,kinds,load}.test.ts",
  "**/{lost-replies,red-lock-moments,red-lock-servers,redisson-records,unreachable}.test.ts",
  "test/{conformance,demo,interop,simulation,topology}/**",
  "test/unit/{bench-help,declarations,generate-scripts,reference-docs,setup,testing-guide,track-record}.test.ts",
];
/** Which tests are about a file, by its name. The first that fits decides. */
const BY_NAME: readonly (readonly [RegExp, readonly string[]])[] = [
  [
    /synchronizers|permit|doubts|requests?\.|semaphore|\/count-|latch|saved|announce/,
    ["test/synchronizers/"],
  ],
  [/joint|red-lock|retake|take-together/, ["test/kinds/joint", "test/kinds/multi", "test/kinds/red"]],
  [/fair-|wait-in-queue|grant|signs-of-life/, ["test/kinds/fair", "test/unit/fair"]],
  [/\/(?:read|write)-|claim/, ["test/kinds/read-write", "test/locks/scopes", "test/locks/chosen-ids"]],
  [/trust|terms/, ["test/locks/", "test/faults/", "test/synchronizers/permit-"]],
  [/./, ["test/locks/", "test/faults/", "test/unit/"]],
];
const GIVEN_UP_AFTER_MS = 300_000;

/**
 * Runs those tests of the suite that are about the changed file, with the change in the sources, until one is red.
 * @returns its name; undefined when all are green, or did not end
 */
export async function seenByTest(name: string, edits: readonly Edit[]): Promise<string | undefined> {
  const folder = join(root, "build/variants", `${process.pid}-tests-${name.replaceAll(/[^\w.-]+/g, "_")}`);
  try {
    copyInto(folder);
    for (const changed of [changedFiles(edits), await changedSources(edits)]) {
      for (const [file, source] of changed) writeFileSync(join(folder, file), source);
    }
    return await firstRed(folder, testsOf(edits[0]?.file ?? ""));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function testsOf(file: string): readonly string[] {
  return BY_NAME.find(([part]) => part.test(file))?.[1] ?? [];
}

function copyInto(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const entry of readdirSync(root)) {
    if (!LEFT_OUT.has(entry)) cpSync(join(root, entry), join(folder, entry), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}

function firstRed(folder: string, tests: readonly string[]): Promise<string | undefined> {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const excluded = SLOW.map((glob) => `--exclude=${glob}`);
  const flags = ["run", "--maxWorkers=1", "--no-isolate", "--bail=1", ...excluded];
  const run = spawn(process.execPath, [vitest, ...flags, ...tests], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: GIVEN_UP_AFTER_MS,
  });
  let said = "";
  for (const stream of [run.stdout, run.stderr])
    stream.on("data", (text: Buffer) => (said += text.toString()));
  return new Promise((resolve) => {
    run.on("close", () => resolve(/^\s*FAIL\s+(.+)$/m.exec(said)?.[1]));
  });
}
