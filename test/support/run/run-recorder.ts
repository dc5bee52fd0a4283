import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestCase, TestModule, TestSuite } from "vitest/node";
import { serverVersion } from "../servers/redis-program.js";
import { root } from "../tidy/tree.js";
import type { Played } from "./played.js";

/** What a run has come to: scripts/test-servers.mjs reads it. */
export interface RunRecord {
  /** As in "Valkey 9.1.2". */
  readonly server: string;
  readonly tests: readonly RecordedTest[];
}

export interface RecordedTest {
  /** Relative to the root. */
  readonly file: string;
  /** Of the blocks around it, and its own. */
  readonly names: readonly string[];
  readonly state: "passed" | "failed" | "skipped" | "pending";
  /** Why it was skipped, if it says so. */
  readonly reason?: string;
  readonly played?: Played;
}

/** Writes a file about each test of a run. */
export class RunRecorder implements Reporter {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()].map(recorded));
    const record: RunRecord = { server: serverVersion(), tests };
    writeFileSync(this.#file, JSON.stringify(record));
  }
}

function recorded(test: TestCase): RecordedTest {
  const result = test.result();
  const { played } = test.meta();
  return {
    file: relative(root, test.module.moduleId),
    names: namesOf(test),
    state: result.state,
    ...(result.state === "skipped" && result.note !== undefined ? { reason: result.note } : {}),
    ...(played === undefined ? {} : { played }),
  };
}

function namesOf({ name, parent }: TestCase | TestSuite): string[] {
  return parent.type === "module" ? [name] : [...namesOf(parent), name];
}
