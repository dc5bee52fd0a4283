import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { groups } from "../../tiers.js";

const root = join(import.meta.dirname, "../../..");
const measured = join(root, "test/recorded/durations.json");

/**
 * Begins with what took longest when it was last recorded, and with what was not recorded: begun last, one worker would wait for the other.
 * Files that share a process follow each other, as the process ends where one comes that does not.
 */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const durations = readDurations();
    const place = ({ project }: TestSpecification) => groups.findIndex(({ name }) => name === project.name);
    const isShared = (file: TestSpecification) => groups[place(file)]?.alone === false;
    const ms = ({ moduleId }: TestSpecification) =>
      durations[relative(root, moduleId)] ?? Number.POSITIVE_INFINITY;
    return [...files].sort(
      (a, b) =>
        Number(isShared(a)) - Number(isShared(b)) ||
        (isShared(a) ? place(a) - place(b) : 0) ||
        ms(b) - ms(a) ||
        a.moduleId.localeCompare(b.moduleId),
    );
  }
}

function readDurations(): Readonly<Record<string, number>> {
  return existsSync(measured) ? JSON.parse(readFileSync(measured, "utf8")) : {};
}
