import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordedCalls } from "./script-records.js";
import { root } from "./tidy/tree.js";

/** The releases whose scripts the simulator plays: the newest, and the oldest of those whose scripts act otherwise. */
export const releasesOfScripts: readonly string[] = ["3.24.3", "4.7.0"];

const ORIGIN =
  "Scripts of Redisson (https://github.com/redisson/redisson), Apache License 2.0, Copyright (c) 2013-2026 Nikita Koksharov. " +
  "Recorded by test/interop/scripts.test.ts; unchanged, used by tests only.";

export function readScripts(release: string): RecordedCalls {
  const { calls } = JSON.parse(readFileSync(fileOf(release), "utf8")) as { readonly calls: RecordedCalls };
  return calls;
}

/** With a line for each call. */
export function writeScripts(release: string, calls: RecordedCalls): void {
  const lines = Object.entries(calls).map(
    ([name, call]) => `  ${JSON.stringify(name)}: ${JSON.stringify(call)}`,
  );
  const head = `{\n "origin": ${JSON.stringify(ORIGIN)},\n "release": ${JSON.stringify(release)},`;
  writeFileSync(fileOf(release), `${head}\n "calls": {\n${lines.join(",\n")}\n }\n}\n`);
}

function fileOf(release: string): string {
  return join(root, `test/simulation/jvm/scripts-${release}.json`);
}
