import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { release, since } from "../support/jvm/interop.js";
import { playLocks } from "../support/jvm/play-records.js";
import { lockRecords } from "../support/jvm/record-files.js";
import type { RecordedStep } from "../support/jvm/records.js";
import { Stage } from "../support/jvm/stage.js";
import { scenarios } from "./scenarios.js";

const WRITES = process.env["HOLDFAST_WRITE_RECORDS"] === "1";

describe(`what Redisson ${release} stores and publishes`, () => {
  const offered = scenarios.filter((scenario) => since(scenario.since ?? "0"));
  let stage: Stage | undefined;
  const played: Record<string, readonly RecordedStep[]> = {};
  beforeAll(async () => {
    stage = await Stage.open();
  }, 60_000);
  afterAll(async () => {
    await stage?.close();
    if (WRITES && Object.keys(played).length === offered.length) lockRecords.write(release, played);
  });

  test.each(offered)("$title", async (scenario) => {
    if (stage === undefined) throw new Error("it is opened before the first test");
    const steps = await playLocks(stage, scenario);
    played[scenario.title] = steps;
    if (!WRITES) expect(steps).toEqual(lockRecords.of(release)[scenario.title]);
  });
});
