import type { Driver } from "../driver/driver.js";
import type { Instant } from "./instant.js";

/** What was last seen of one server's clock. */
interface Reading {
  /** Server time minus monotonic time. */
  readonly offsetMs: number;
  readonly latestMs: number;
}

/** Keeps the clocks of the servers in mind; each answer tells one. A server is known by a key that it has. */
export class ServerClocks {
  readonly #driver: Pick<Driver, "placeOf">;
  /** By place. */
  readonly #readings = new Map<string, Reading>();

  constructor(driver: Pick<Driver, "placeOf">) {
    this.#driver = driver;
  }

  /** Where a key is at present; "" where one server has all keys, or nobody knows. */
  placeOf(key: string): string {
    return this.#driver.placeOf?.(key) ?? "";
  }

  knows(key: string): boolean {
    return this.#readings.has(this.placeOf(key));
  }

  /** @param place where the key was when the command was sent, at `sentAt` */
  read(key: string, place: string, serverMs: number, sentAt: Instant): void {
    const answeredAt = this.placeOf(key);
    // Of a key that has just moved nobody knows who has answered; before there is a connection none is known.
    if (place !== answeredAt && place !== "") return;
    const known = this.#readings.get(answeredAt)?.latestMs ?? 0;
    const offsetMs = serverMs - sentAt.monotonicMs;
    this.#readings.set(answeredAt, { offsetMs, latestMs: Math.max(serverMs, known) });
  }

  forget(key: string): void {
    this.#readings.delete(this.placeOf(key));
  }

  /** The clock has surely come so far; 0 before the first answer. */
  latestMs(key: string): number {
    return this.#readings.get(this.placeOf(key))?.latestMs ?? 0;
  }

  /** What the clock says at most when the monotonic clock of this process says this. Not before the first answer. */
  at(key: string, monotonicMs: number): number {
    const reading = this.#readings.get(this.placeOf(key));
    if (reading === undefined) throw new Error("the server's time is not known yet");
    return monotonicMs + reading.offsetMs;
  }
}
