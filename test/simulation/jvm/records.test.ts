import { afterEach, expect, test } from "vitest";
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
import { playLocks, playSynchronizers } from "../../support/play-records.js";
import { lockRecords, synchronizerRecords } from "../../support/record-files.js";
import { SimulatedStage } from "../../support/simulated-stage.js";

const RELEASE = "4.7.0";

/** Multi and red locks are made of others by the program that uses them. */
const ofOneLock = scenarios.filter(({ steps }) => steps.every(({ lock }) => lock.members === undefined));

let stage: SimulatedStage | undefined;

function open(): SimulatedStage {
  stage = new SimulatedStage((holder) => [
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

test.each(ofOneLock)("does what Redisson did: $title", async (scenario) => {
  expect(await playLocks(open(), scenario)).toEqual(lockRecords.of(RELEASE)[scenario.title]);
});

test.each(synchronizerScenarios)("does what Redisson did: $title", async (scenario) => {
  expect(await playSynchronizers(open(), scenario)).toEqual(synchronizerRecords.of(RELEASE)[scenario.title]);
});
