/** What hunting for one variant has come to. */
export interface Finding {
  /** `not built`: there was nothing to play. */
  readonly how: "violation" | "crash" | "hang" | "not found" | "not built";
  /** The rule that was broken, or what went wrong. */
  readonly rule: string;
  readonly text: string;
  /** How many schedules were played, the last one included. */
  readonly schedules: number;
  readonly seconds: number;
}

/** What a player is to do. */
export interface PlayOrder {
  /** It plays by seed from this on. */
  readonly firstSeed: number;
  /** So many at most. */
  readonly schedules: number;
  readonly seconds: number;
  /** The kinds to choose from; undefined: all. */
  readonly kinds: readonly string[] | undefined;
}

/** What a player tells while it plays, and in the end. What it has found it plays past if it is told to. */
export type PlayReport =
  | { readonly what: "playing"; readonly schedules: number }
  | {
      readonly what: "found";
      readonly schedules: number;
      readonly seed: number;
      readonly rule: string;
      readonly text: string;
    }
  | { readonly what: "clean"; readonly schedules: number };

export function isFound({ how }: Finding): boolean {
  return how === "violation" || how === "crash" || how === "hang";
}
