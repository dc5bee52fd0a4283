import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Records } from "./records.js";
import { root } from "./tidy/tree.js";

const folder = join(root, "test/interop/records");

/** The releases of Redisson of which there are records. */
export function recordedReleases(): readonly string[] {
  return readdirSync(folder).flatMap((file) => /^redisson-(.*)\.json$/.exec(file)?.[1] ?? []);
}

/** What `npm run test:interop -- --write` has written. */
export function recordsOf(release: string): Records {
  return JSON.parse(readFileSync(fileOf(release), "utf8")) as Records;
}

/** With a line for each step. */
export function writeRecords(release: string, records: Records): void {
  const scenarios = Object.entries(records).map(([title, steps]) => {
    const lines = steps.map((step) => `  ${JSON.stringify(step)}`);
    return ` ${JSON.stringify(title)}: [\n${lines.join(",\n")}\n ]`;
  });
  writeFileSync(fileOf(release), `{\n${scenarios.join(",\n")}\n}\n`);
}

function fileOf(release: string): string {
  return join(folder, `redisson-${release}.json`);
}
