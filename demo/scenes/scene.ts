import type { Stage } from "../stage/stage.js";
import type { Screen } from "../terminal/screen.js";

/** One thing that the demo shows. */
export interface Scene {
  /** What `--scene` calls it. */
  readonly name: string;
  readonly title: string;
  /** What is about to be seen. */
  readonly intro: string;
  /** The lines of code that matter. */
  readonly code: string;
  play(stage: Stage, screen: Screen): Promise<Outcome>;
}

/** What was seen. */
export interface Outcome {
  readonly checks: readonly Check[];
  /** The numbers in short, for the summary. */
  readonly measured: string;
}

/** What should be so, with the numbers that were measured, and whether it is. */
export interface Check {
  readonly says: string;
  readonly holds: boolean;
}
