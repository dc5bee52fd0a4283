import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { release, since } from "../support/interop.js";
import { lockRecords } from "../support/record-files.js";
import { Cast, describeStep, Player, type RecordedStep, recordKeys, type Seen } from "../support/records.js";
import { Stage } from "../support/stage.js";
import { type Actor, type Scenario, scenarios } from "./scenarios.js";

const WRITES = process.env["HOLDFAST_WRITE_RECORDS"] === "1";

async function play(stage: Stage, { steps }: Scenario): Promise<readonly RecordedStep[]> {
  const cast = new Cast(new Map([...stage.parts].map(([actor, { user }]) => [actor, user.holder])));
  const players = new Map([...stage.parts].map(([actor, { user }]) => [actor, new Player(user)]));
  const actors = [...new Set(steps.map(({ by }) => by))];
  const recorded: RecordedStep[] = [];
  for (const step of steps) {
    const player = players.get(step.by);
    if (player === undefined) throw new Error(`nobody plays ${step.by}`);
    const { redisson } = stage.part(step.by);
    if (player.waits) redisson.thaw();
    const answer = await player.act(step);
    // What comes to a waiter now is not to be answered before the state was seen.
    if (step.does === "waits") await redisson.freeze();
    const seen: Partial<Record<Actor, Seen>> = {};
    for (const actor of actors) {
      const looker = players.get(actor);
      if (looker?.waits === false && step.lock.members === undefined) seen[actor] = await looker.see(step);
    }
    const keys = await recordKeys(stage, cast);
    const messages = (await stage.messages()).map((entry) => cast.toLetters(entry));
    recorded.push({ step: describeStep(step), answer, keys, messages: messages.sort(), seen });
  }
  await stage.clear();
  return recorded;
}

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
    const steps = await play(stage, scenario);
    played[scenario.title] = steps;
    if (!WRITES) expect(steps).toEqual(lockRecords.of(release)[scenario.title]);
  });
});
