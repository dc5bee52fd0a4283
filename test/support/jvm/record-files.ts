import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tidy/tree.js";
import type { RecordedStep } from "./records.js";
import type { RecordedStep as RecordedSynchronizerStep } from "./synchronizer-records.js";

const folder = join(root, "test/interop/records");

/** A scenario and what became of it, in all the releases where that was the same. */
export interface Recorded<Scenario, Step> {
  readonly scenario: Scenario;
  readonly steps: readonly Step[];
  readonly releases: readonly string[];
}

/** What `npm run test:interop -- --write` has written, in a file for each release of Redisson. */
export class RecordFiles<Step> {
  readonly #about: string;

  constructor(about: string) {
    this.#about = about;
  }

  /** The releases of which there are records. */
  get releases(): readonly string[] {
    return readdirSync(folder)
      .filter((file) => file.startsWith(`${this.#about}-`))
      .map((file) => file.slice(this.#about.length + 1, -".json".length));
  }

  /** The steps of each scenario, by its title. */
  of(release: string): Readonly<Record<string, readonly Step[]>> {
    return JSON.parse(readFileSync(this.#file(release), "utf8")) as Record<string, readonly Step[]>;
  }

  /** What became of scenarios. */
  all<Scenario extends { readonly title: string }>(
    scenarios: readonly Scenario[],
  ): readonly Recorded<Scenario, Step>[] {
    const all = new Map<string, Recorded<Scenario, Step>>();
    for (const release of this.releases) {
      const records = this.of(release);
      for (const scenario of scenarios) {
        const steps = records[scenario.title];
        if (steps === undefined) continue;
        const id = JSON.stringify([scenario.title, steps]);
        const releases = [...(all.get(id)?.releases ?? []), release];
        all.set(id, { scenario, steps, releases });
      }
    }
    return [...all.values()];
  }

  /** With a line for each step. */
  write(release: string, records: Readonly<Record<string, readonly Step[]>>): void {
    const scenarios = Object.entries(records).map(([title, steps]) => {
      const lines = steps.map((step) => `  ${JSON.stringify(step)}`);
      return ` ${JSON.stringify(title)}: [\n${lines.join(",\n")}\n ]`;
    });
    writeFileSync(this.#file(release), `{\n${scenarios.join(",\n")}\n}\n`);
  }

  #file(release: string): string {
    return join(folder, `${this.#about}-${release}.json`);
  }
}

export const lockRecords: RecordFiles<RecordedStep> = new RecordFiles("redisson");
export const synchronizerRecords: RecordFiles<RecordedSynchronizerStep> = new RecordFiles("synchronizers");
