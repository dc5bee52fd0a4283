import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { release, since } from "../support/interop.js";
import { synchronizerRecords } from "../support/record-files.js";
import { Stage } from "../support/stage.js";
import {
  describeStep,
  letHappen,
  PermitIds,
  type RecordedStep,
  recordKeys,
  SynchronizerPlayer,
} from "../support/synchronizer-records.js";
import { JvmSynchronizers } from "../support/synchronizer-user.js";
import { synchronizerScenarios } from "./synchronizer-scenarios.js";
import { isHappening, type SynchronizerScenario } from "./synchronizer-steps.js";

const WRITES = process.env["HOLDFAST_WRITE_RECORDS"] === "1";

async function play(stage: Stage, { steps }: SynchronizerScenario): Promise<readonly RecordedStep[]> {
  const ids = new PermitIds();
  const players = new Map(
    [...stage.parts].map(
      ([actor, { user }]) => [actor, new SynchronizerPlayer(new JvmSynchronizers(user), ids)] as const,
    ),
  );
  const recorded: RecordedStep[] = [];
  for (const step of steps) {
    const player = players.get(step.by);
    if (player === undefined) throw new Error(`nobody plays ${step.by}`);
    const { redisson } = stage.part(step.by);
    if (player.waits) redisson.thaw();
    let answer: string | null = null;
    if (isHappening(step.does)) await letHappen(stage, step.does, step);
    else answer = await player.act(step);
    // What comes to a waiter now is not to be answered before the state was seen.
    if (step.does === "waits") await redisson.freeze();
    const keys = await recordKeys(stage, ids);
    const messages = await stage.messages();
    recorded.push({ step: describeStep(step), answer, keys, messages: [...messages].sort() });
  }
  return recorded;
}

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

  afterEach(() => stage?.clear());

  test.each(offered)("$title", async (scenario) => {
    if (stage === undefined) throw new Error("it is opened before the first test");
    const steps = await play(stage, scenario);
    played[scenario.title] = steps;
    if (!WRITES) expect(steps).toEqual(synchronizerRecords.of(release)[scenario.title]);
  });
});
