import type { Choices } from "../chooser/chooser.js";
import { explore, type SceneResult } from "./explore.js";
import { FAULT_SCENES } from "./fault-scenes.js";
import { JOINT_SCENES } from "./joint-scenes.js";
import { LOCK_SCENES } from "./lock-scenes.js";
import { REENTRY_SCENES } from "./reentry-scenes.js";
import type { SceneDefinition } from "./scene.js";
import { SYNC_SCENES } from "./sync-scenes.js";

/** All scenes: one for each kind at least. */
export const SCENES: readonly SceneDefinition[] = [
  ...LOCK_SCENES,
  ...JOINT_SCENES,
  ...REENTRY_SCENES,
  ...FAULT_SCENES,
  ...SYNC_SCENES,
];

/** Which scenes to play. */
export interface SceneOptions {
  /** Those of these kinds. Default: all. */
  readonly only?: readonly string[];
  /** Those of which the name has this in it. Default: all. */
  readonly named?: string;
  /** Those that `npm test` plays. Default: all. */
  readonly small?: boolean;
  /** After so many lists the exploration of a scene ends, which then is not exhausted. Default: never. */
  readonly mostLists?: number;
  /** Called after each scene. */
  readonly played?: (result: SceneResult) => void;
}

export function scenesOf({ only, named, small }: SceneOptions): readonly SceneDefinition[] {
  return SCENES.filter(
    ({ kind, name, isSmall = false }) =>
      (only === undefined || only.includes(kind)) &&
      (named === undefined || name.includes(named)) &&
      (small !== true || isSmall),
  );
}

/** Plays all orders of scenes, one scene after the other. */
export async function playScenes(options: SceneOptions = {}): Promise<SceneResult[]> {
  const { mostLists, played } = options;
  const results: SceneResult[] = [];
  for (const scene of scenesOf(options)) {
    const result = await explore(scene, mostLists === undefined ? {} : { mostLists });
    results.push(result);
    played?.(result);
  }
  return results;
}

/** Choices as they are typed: "0,2,1". */
export function choicesOf(text: string): Choices {
  const order = text === "" ? [] : text.split(",").map(Number);
  if (!order.every((choice) => Number.isSafeInteger(choice) && choice >= 0)) {
    throw new TypeError(`a list of choices is like 0,2,1, and not "${text}"`);
  }
  return { order };
}
