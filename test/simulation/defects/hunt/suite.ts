import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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
];
/** Which tests are about a file, by its name. The first that fits decides; what none fits is about all locks. */
const BY_NAME: readonly (readonly [RegExp, readonly string[]])[] = [
  [
    /synchronizers|permit|doubts|requests?\.|semaphore|scripts\/count-|latch|saved|announce/,
    ["test/synchronizers/"],
  ],
  [/joint|red-lock|retake|take-together/, ["test/kinds/"]],
  [/fair-|grant/, ["test/kinds/fair", "test/unit/fair", "test/kinds/names"]],
  [/\/(?:read|write)-|claim/, ["test/kinds/read-write", "test/locks/"]],
  [/trust|terms/, ["test/locks/", "test/faults/", "test/synchronizers/permit-"]],
  [/./, ["test/locks/", "test/faults/", "test/unit/", "test/kinds/"]],
];
const ENDS_WITHIN_MS = 900_000;

/**
 * Runs those tests of the suite that are about the changed file, with the change in the sources, until one is red: red once more when
 * it is run alone, and green without the change.
 *
 * @returns its name; undefined when none is
 */
export async function seenByTest(name: string, edits: readonly Edit[]): Promise<string | undefined> {
  const folder = join(root, "build/variants", `${process.pid}-tests-${name.replaceAll(/[^\w.-]+/g, "_")}`);
  try {
    copyInto(folder);
    // A changed script, and what is generated from all of them.
    const changed = new Map([...changedFiles(edits), ...(await changedSources(edits))]);
    for (const [file, source] of changed) writeFileSync(join(folder, file), source);
    const red = await firstRed(folder, testsAbout(edits[0]?.file ?? ""));
    if (red === undefined) return undefined;
    const alone = [red.split(" > ")[0] ?? ""];
    if ((await firstRed(folder, alone)) === undefined) return undefined;
    for (const file of changed.keys()) writeFileSync(join(folder, file), readFileSync(join(root, file)));
    return (await firstRed(folder, alone)) === undefined ? red : undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns the beginnings of their paths */
export function testsAbout(file: string): readonly string[] {
  return BY_NAME.find(([part]) => part.test(file))?.[1] ?? [];
}

function copyInto(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const entry of readdirSync(root)) {
    if (!LEFT_OUT.has(entry)) cpSync(join(root, entry), join(folder, entry), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}

/** @returns `file > suite > test` */
function firstRed(folder: string, tests: readonly string[]): Promise<string | undefined> {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const excluded = SLOW.map((glob) => `--exclude=${glob}`);
  const flags = ["run", "--maxWorkers=1", "--no-isolate", "--bail=1", ...excluded];
  const run = spawn(process.execPath, [vitest, ...flags, ...tests], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: ENDS_WITHIN_MS,
  });
  let said = "";
  for (const stream of [run.stdout, run.stderr])
    stream.on("data", (text: Buffer) => (said += text.toString()));
  return new Promise((resolve) => {
    run.on("close", () => resolve(/^\s*FAIL\s+(.+)$/m.exec(said)?.[1]?.trim()));
  });
}
