import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What takes longest by far, though the files are small: begun last, one worker would wait for the other. */
const longest = [
  "kinds/kinds",
  "kinds/read-write-model",
  "locks/processes",
  "demo/demo",
  "conformance/differential",
];

/** Begins with the files that take longest; Vitest goes by their size. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      longest.some((name) => moduleId.endsWith(`test/${name}.test.ts`));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
