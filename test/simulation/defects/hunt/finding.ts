/** What hunting for one variant has come to. */
export interface Finding {
  /** `built`: there was nothing to play, as it could not be built. */
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
  readonly seconds: number;
  /** The kinds to choose from; undefined: all. */
  readonly kinds: readonly string[] | undefined;
}

/** What a player tells while it plays, and in the end. */
export type PlayReport =
  | { readonly what: "playing"; readonly schedules: number }
  | { readonly what: "found"; readonly schedules: number; readonly rule: string; readonly text: string }
  | { readonly what: "clean"; readonly schedules: number };

export function isFound({ how }: Finding): boolean {
  return how === "violation" || how === "crash" || how === "hang";
}
