import type { TopologyName } from "../../world/topology.js";

/** What hunting for one variant has come to. */
export interface Finding {
  /** `seen by a test`: no schedule has shown it, and a test of the suite is red. `not built`: there was nothing to play. */
  readonly how: "violation" | "crash" | "hang" | "not found" | "seen by a test" | "not built";
  /** The rule that was broken, what went wrong, or the test. */
  readonly rule: string;
  readonly text: string;
  /** How many schedules were played, the last one included. */
  readonly schedules: number;
  readonly seconds: number;
}

/** What is played: a schedule by its seed, a kept one by its file, or a scene by its name. */
export type Where = { readonly seed: number } | { readonly history: string } | { readonly scene: string };

/** What a player is to do. */
export interface PlayOrder {
  /** It plays by seed from this on. */
  readonly firstSeed: number;
  /** And then each so manyth: others play what lies between. */
  readonly stride: number;
  /** So many at most. */
  readonly schedules: number;
  /** The files of kept schedules that it plays between: after the first ones by seed, and before the scenes. */
  readonly histories: readonly string[];
  /** Which scenes it explores after those, as far as there is time for them: all of its kinds, the one of this name, or none. */
  readonly scenes: "all" | "none" | { readonly name: string };
  readonly seconds: number;
  /** The kinds to choose from; undefined: all. */
  readonly kinds: readonly string[] | undefined;
  /** The topologies that seeds play by turns; undefined: as they are drawn. */
  readonly topologies?: readonly TopologyName[] | undefined;
}

/** What a player tells while it plays, and in the end. What it has found it plays past if it is told to. */
export type PlayReport =
  /** A schedule, or a scene, begins, or goes on. */
  | { readonly what: "playing"; readonly schedules: number; readonly where: Where }
  | {
      readonly what: "found";
      readonly schedules: number;
      readonly where: Where;
      readonly rule: string;
      readonly text: string;
    }
  | { readonly what: "clean"; readonly schedules: number };

export function isFound({ how }: Finding): boolean {
  return how === "violation" || how === "crash" || how === "hang";
}
