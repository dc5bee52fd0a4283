import { latchScenarios } from "./latch-scenarios.js";
import { permitScenarios } from "./permit-scenarios.js";
import { semaphoreScenarios } from "./semaphore-scenarios.js";
import type { SynchronizerScenario } from "./synchronizer-steps.js";

/** What is done with Redisson, and written down; test/interop/records has what became of it. */
export const synchronizerScenarios: readonly SynchronizerScenario[] = [
  ...semaphoreScenarios,
  ...permitScenarios,
  ...latchScenarios,
];
