import type { Timer } from "../../../src/clock.js";
import { FakeClock } from "../../../src/memory/fake-clock.js";

/** A fake clock that counts what is asked of it. */
export class CountingClock extends FakeClock {
  timersArmed = 0;
  timersKeepingAlive = 0;
  readonly #startMs = this.monotonicMs();

  get elapsedMs(): number {
    return this.monotonicMs() - this.#startMs;
  }

  override schedule(delayMs: number, callback: () => void, keepAlive = false): Timer {
    this.timersArmed += 1;
    if (keepAlive) this.timersKeepingAlive += 1;
    return super.schedule(delayMs, callback);
  }

  /** Blocks the event loop, then lets what fell due meanwhile run. */
  async stall(ms: number): Promise<void> {
    this.block(ms);
    await this.advance(0);
  }
}

/** Tasks that write down when they ran. */
export interface Recorder {
  readonly runs: [name: string | number, atMs: number][];
  names(): (string | number)[];
  task(name: string | number): () => void;
}

export function recorder(clock: CountingClock): Recorder {
  const runs: Recorder["runs"] = [];
  return {
    runs,
    names: () => runs.map(([name]) => name),
    task: (name) => () => void runs.push([name, clock.elapsedMs]),
  };
}
