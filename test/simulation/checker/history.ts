import { createHash, type Hash } from "node:crypto";
import type { HistoryLine } from "../outcome.js";
import type { VirtualTime } from "../world/virtual-time.js";

/** All that has happened in a run, in order. */
export class History {
  readonly lines: HistoryLine[] = [];
  readonly #time: VirtualTime;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  add(column: string, text: string): void {
    this.lines.push({ atUs: this.#time.nowUs, column, text });
  }

  /** The same for two runs in which the same has happened. */
  digest(): string {
    const hash: Hash = createHash("sha256");
    for (const { atUs, column, text } of this.lines) hash.update(`${atUs} ${column} ${text}\n`);
    return hash.digest("hex");
  }
}
