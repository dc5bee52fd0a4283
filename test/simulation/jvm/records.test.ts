import { afterEach, describe, expect, test } from "vitest";
import {
  latchChannel,
  lockChannel,
  rwChannel,
  semaphoreChannel,
  waiterChannel,
} from "../../../src/protocol/names.js";
import { scenarios } from "../../interop/scenarios.js";
import { synchronizerScenarios } from "../../interop/synchronizer-scenarios.js";
import { NAME } from "../../interop/synchronizer-steps.js";
import { playLocks, playSynchronizers } from "../../support/jvm/play-records.js";
import { lockRecords, synchronizerRecords } from "../../support/jvm/record-files.js";
import { SimulatedStage } from "../../support/jvm/simulated-stage.js";
import type { RecordedCalls } from "./recorded-call.js";
import { scripts as oldScripts } from "./scripts-3.24.3.js";
import { scripts as newestScripts } from "./scripts-4.7.0.js";

const releases: readonly (readonly [string, RecordedCalls])[] = [
  ["3.24.3", oldScripts],
  ["4.7.0", newestScripts],
];

/** Multi and red locks are made of others by the program that uses them. */
const ofOneLock = scenarios.filter(({ steps }) => steps.every(({ lock }) => lock.members === undefined));

let stage: SimulatedStage | undefined;

function open(scripts: RecordedCalls): SimulatedStage {
  stage = new SimulatedStage(scripts, (holder) => [
    lockChannel(NAME),
    waiterChannel(lockChannel(NAME), holder),
    rwChannel(NAME),
    semaphoreChannel(NAME),
    latchChannel(NAME),
  ]);
  return stage;
}

afterEach(() => {
  for (const client of stage?.clients ?? []) client.shutDown();
  expect(stage?.clock.pendingTimers).toBe(0);
});

describe.each(releases)("a simulated JVM does what Redisson %s did", (release, scripts) => {
  const lockSteps = lockRecords.of(release);
  const synchronizerSteps = synchronizerRecords.of(release);

  test.each(ofOneLock.filter(({ title }) => title in lockSteps))("$title", async (scenario) => {
    expect(await playLocks(open(scripts), scenario)).toEqual(lockSteps[scenario.title]);
  });

  test.each(synchronizerScenarios.filter(({ title }) => title in synchronizerSteps))(
    "$title",
    async (scenario) => {
      expect(await playSynchronizers(open(scripts), scenario)).toEqual(synchronizerSteps[scenario.title]);
    },
  );
});
