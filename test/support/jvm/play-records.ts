import type { Actor, Scenario } from "../../interop/scenarios.js";
import { isHappening, type SynchronizerScenario } from "../../interop/synchronizer-steps.js";
import type { User } from "./lock-user.js";
import { Cast, describeStep, Player, type RecordedStep, recordKeys, type Seen } from "./records.js";
import {
  describeStep as describeSynchronizerStep,
  letHappen,
  PermitIds,
  type RecordedStep as RecordedSynchronizerStep,
  recordKeys as recordSynchronizerKeys,
  type ScriptedStore,
  SynchronizerPlayer,
} from "./synchronizer-records.js";
import type { SynchronizerUser } from "./synchronizer-user.js";

/** Where a scenario is played: a server, and a JVM for each actor. */
export interface RecordingStage extends ScriptedStore {
  readonly parts: ReadonlyMap<Actor, RecordingPart>;
  /** What was published since the last look, as `message -> channel`. */
  messages(): Promise<readonly string[]>;
  /** Forgets all keys and messages. */
  clear(): Promise<void>;
}

export interface RecordingPart {
  readonly user: User;
  readonly synchronizers: SynchronizerUser;
  readonly redisson: {
    /** Stops it where it stands. */
    freeze(): void | Promise<void>;
    thaw(): void | Promise<void>;
  };
}

/** Plays what is done with locks. */
export async function playLocks(
  stage: RecordingStage,
  { steps }: Scenario,
): Promise<readonly RecordedStep[]> {
  const cast = new Cast(new Map([...stage.parts].map(([actor, { user }]) => [actor, user.holder])));
  const players = new Map([...stage.parts].map(([actor, { user }]) => [actor, new Player(user)]));
  const actors = [...new Set(steps.map(({ by }) => by))];
  const recorded: RecordedStep[] = [];
  for (const step of steps) {
    const player = players.get(step.by);
    const part = stage.parts.get(step.by);
    if (player === undefined || part === undefined) throw new Error(`nobody plays ${step.by}`);
    if (player.waits) await part.redisson.thaw();
    const answer = await player.act(step);
    // What comes to a waiter now is not to be answered before the state was seen.
    if (step.does === "waits") await part.redisson.freeze();
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

/** Plays what is done with semaphores and latches. */
export async function playSynchronizers(
  stage: RecordingStage,
  { steps }: SynchronizerScenario,
): Promise<readonly RecordedSynchronizerStep[]> {
  const ids = new PermitIds();
  const players = new Map(
    [...stage.parts].map(
      ([actor, { synchronizers }]) => [actor, new SynchronizerPlayer(synchronizers, ids)] as const,
    ),
  );
  const recorded: RecordedSynchronizerStep[] = [];
  for (const step of steps) {
    const player = players.get(step.by);
    const part = stage.parts.get(step.by);
    if (player === undefined || part === undefined) throw new Error(`nobody plays ${step.by}`);
    if (player.waits) await part.redisson.thaw();
    let answer: string | null = null;
    if (isHappening(step.does)) await letHappen(stage, step.does, step);
    else answer = await player.act(step);
    // What comes to a waiter now is not to be answered before the state was seen.
    if (step.does === "waits") await part.redisson.freeze();
    const keys = await recordSynchronizerKeys(stage, ids);
    const messages = await stage.messages();
    recorded.push({ step: describeSynchronizerStep(step), answer, keys, messages: [...messages].sort() });
  }
  await stage.clear();
  return recorded;
}
