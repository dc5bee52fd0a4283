import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordedCalls } from "../../simulation/jvm/recorded-call.js";
import { root } from "../tidy/tree.js";

/** The releases whose scripts the simulator plays: the newest, and one whose scripts act otherwise. */
export const releasesOfScripts: readonly string[] = ["3.24.3", "4.7.0"];

export async function readScripts(release: string): Promise<RecordedCalls> {
  const { scripts } = (await import(fileOf(release))) as { readonly scripts: RecordedCalls };
  return scripts;
}

/** With a line for each call. */
export function writeScripts(release: string, calls: RecordedCalls): void {
  const lines = Object.entries(calls).map(
    ([name, call]) => `  ${JSON.stringify(name)}: ${JSON.stringify(call)},`,
  );
  const head = `/**
 * What Redisson ${release} sends, as test/interop/scripts.test.ts has recorded it; do not edit.
 *
 * The scripts are Redisson's (https://github.com/redisson/redisson), unchanged: Copyright (c) Nikita Koksharov, licensed under
 * the Apache License, Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0). Tests use them; the package has them not.
 */
import type { RecordedCalls } from "./recorded-call.js";

export const scripts: RecordedCalls = {`;
  writeFileSync(fileOf(release), `${head}\n${lines.join("\n")}\n};\n`);
}

function fileOf(release: string): string {
  return join(root, `test/simulation/jvm/scripts-${release}.ts`);
}
