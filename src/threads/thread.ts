import type { Holding } from "./holding.js";

/** One logical flow of work: the owner of locks. */
export class Thread {
  /** The id that the caller chose; undefined for a thread of the client's own making. */
  readonly explicitId: number | undefined;
  /** By the id of the lock: what it holds, is acquiring or is still cleaning up. */
  readonly holdings: Map<string, Holding> = new Map();

  constructor(explicitId?: number) {
    this.explicitId = explicitId;
  }
}
