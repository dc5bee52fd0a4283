import type { Instant } from "./instant.js";

/** What was last seen of one server's clock. */
interface Reading {
  /** Server time minus monotonic time. */
  readonly offsetMs: number;
  readonly latestMs: number;
}

/** Keeps the clocks of the servers in mind; each answer tells one. */
export class ServerClocks {
  readonly #readings = new Map<string, Reading>();

  knows(place: string): boolean {
    return this.#readings.has(place);
  }

  read(place: string, serverMs: number, sentAt: Instant): void {
    const latestMs = Math.max(serverMs, this.latestMs(place));
    this.#readings.set(place, { offsetMs: serverMs - sentAt.monotonicMs, latestMs });
  }

  forget(place: string): void {
    this.#readings.delete(place);
  }

  /** The clock has surely come so far; 0 before the first answer. */
  latestMs(place: string): number {
    return this.#readings.get(place)?.latestMs ?? 0;
  }

  /** What the clock says at most when the monotonic clock of this process says this. Not before the first answer. */
  at(place: string, monotonicMs: number): number {
    const reading = this.#readings.get(place);
    if (reading === undefined) throw new Error("the server's time is not known yet");
    return monotonicMs + reading.offsetMs;
  }
}
