import type { Chooser } from "./chooser/chooser.js";
import type { Outcome } from "./outcome.js";
import { Run } from "./run.js";
import { disableScopes } from "./world/scopes.js";
import type { TopologyName } from "./world/topology.js";
import { endTurns } from "./world/turns.js";

export interface ScheduleOptions {
  readonly chooser: Chooser;
  /** The kinds to choose from. Default: all. */
  readonly only?: readonly string[];
  /** Which servers there are. Default: drawn, most often one. */
  readonly topology?: TopologyName | undefined;
  /** Whether the history has each script call, with the keys before and after, and errors have their stacks. */
  readonly trace?: boolean;
}

/** Plays one schedule, from the start of the fleet until nothing is left of it. One at a time in a process. */
export async function runSchedule(options: ScheduleOptions): Promise<Outcome> {
  try {
    return await new Run(options).play();
  } finally {
    disableScopes();
    await endTurns();
  }
}
