import type { WatchParts } from "../checker/count-watch.js";
import type { Watch } from "../checker/watch.js";
import type { Caller } from "./caller.js";

/** Something that tasks share, by its name. */
export interface Shared {
  readonly kind: string;
  readonly name: string;
}

/** Kinds of shared things that are used in the same way. */
export interface Family {
  readonly kinds: readonly string[];
  /** The keys whose existence says that somebody has it. */
  heldKeys(shared: Shared): readonly string[];
  /** Watches what it is promised besides; undefined: nothing is. */
  readonly watch?: (parts: WatchParts) => Watch;
  /** One step of a task: a call about it, with all that belongs to that. */
  step(caller: Caller, shared: Shared): Promise<void>;
}
