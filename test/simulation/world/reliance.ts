import type { ReplicaOptions } from "../../../src/client-options.js";
import type { Stream } from "../chooser/chooser.js";
import { pick } from "../draw.js";

/** How one process relies on replicas. */
export interface Reliance {
  readonly replicas: ReplicaOptions;
  /** Whether each server that can be made the master has what it believes in. */
  readonly isSafe: boolean;
  /** Whether it was told that replicas are short. */
  wasShort: boolean;
}

/** When a master was made that may lack something, and until when the one before it could be written to. */
export interface Loss {
  readonly fromUs: number;
  readonly untilUs: number;
}

/** What a topology with replicas remembers of its clients, and of what was lost. */
export class Reliances {
  readonly losses: Loss[] = [];
  /** Whether a slot has gone to a master that then died. */
  hasMoved = false;
  readonly #byProcess = new Map<string, Reliance>();

  /** @param all how many replicas a master has */
  plan(stream: Stream, process: string, all: number): Reliance {
    const replicas = pick<ReplicaOptions>(stream, [
      { mode: "require", min: all },
      { mode: "auto" },
      { mode: "require", min: all },
      { mode: "auto" },
      { mode: "off" },
      { mode: "require" },
      { mode: "require", min: "majority" },
      { mode: "require", min: "all" },
    ]);
    const isSafe = replicas.mode === "require" && (replicas.min ?? 1) === all;
    const reliance = { replicas, isSafe, wasShort: false };
    this.#byProcess.set(process, reliance);
    return reliance;
  }

  /** Whether a process may believe in something that a new master lacks. */
  isUnsafe(process: string): boolean {
    const reliance = this.#byProcess.get(process);
    if (reliance === undefined) return false;
    // What has moved with its slot is nobody's to wait for.
    if (reliance.replicas.mode === "auto") return reliance.wasShort || this.hasMoved;
    return !reliance.isSafe;
  }
}
