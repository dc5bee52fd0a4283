import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { release, since } from "../support/jvm/interop.js";
import { playSynchronizers } from "../support/jvm/play-records.js";
import { synchronizerRecords } from "../support/jvm/record-files.js";
import { Stage } from "../support/jvm/stage.js";
import type { RecordedStep } from "../support/jvm/synchronizer-records.js";
import { synchronizerScenarios } from "./synchronizer-scenarios.js";

const WRITES = process.env["HOLDFAST_WRITE_RECORDS"] === "1";

describe(`what Redisson ${release} stores and publishes of semaphores and latches`, () => {
  const offered = synchronizerScenarios.filter((scenario) => since(scenario.since ?? "0"));
  let stage: Stage | undefined;
  const played: Record<string, readonly RecordedStep[]> = {};
  beforeAll(async () => {
    stage = await Stage.open();
  }, 60_000);
  afterAll(async () => {
    await stage?.close();
    if (WRITES && Object.keys(played).length === offered.length) synchronizerRecords.write(release, played);
  });

  test.each(offered)("$title", async (scenario) => {
    if (stage === undefined) throw new Error("it is opened before the first test");
    const steps = await playSynchronizers(stage, scenario);
    played[scenario.title] = steps;
    if (!WRITES) expect(steps).toEqual(synchronizerRecords.of(release)[scenario.title]);
  });
});
