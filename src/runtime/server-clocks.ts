import type { Driver } from "../driver/driver.js";
import type { Instant } from "./instant.js";

/**
 * The clock of the server that a connection leads to, as its answers tell it. After the connection was lost another server may
 * be at its end: that is another clock, and times of two clocks are not compared.
 */
export interface ServerClock {
  /** How often the connection had been lost when the clock was first read. */
  readonly resets: number;
  /** Server time minus monotonic time. */
  readonly offsetMs: number;
  /** The clock has surely come so far. */
  readonly latestMs: number;
}

type Reading = { -readonly [Part in keyof ServerClock]: ServerClock[Part] };

/** Keeps a clock for each server, set by its answers. A server is found by a key that it has. */
export class ServerClocks {
  readonly #driver: Pick<Driver, "placeOf" | "resets">;
  /** By place. */
  readonly #readings = new Map<string, Reading>();

  constructor(driver: Pick<Driver, "placeOf" | "resets">) {
    this.#driver = driver;
  }

  /** Where a key is at present; "" where one server has all keys, or the server is not known. */
  placeOf(key: string): string {
    return this.#driver.placeOf?.(key) ?? "";
  }

  /** The clock at a place, by which a deadline is made now; undefined before its first answer. */
  at(place: string): ServerClock | undefined {
    return this.#readings.get(place);
  }

  /**
   * @param place where the key was when the command was sent, at `sentAt`
   * @param resets how often the connection had been lost by then
   * @returns the clock; undefined when it is not known which server has answered
   */
  read(
    key: string,
    place: string,
    serverMs: number,
    { sentAt, resets }: { readonly sentAt: Instant; readonly resets: number },
  ): ServerClock | undefined {
    const answeredAt = this.placeOf(key);
    // The key has moved meanwhile: either server may have answered. With the place "" it was sent before there was a connection, and has
    // not moved.
    if (place !== answeredAt && place !== "") return undefined;
    // The client may have sent it again, to another server.
    if (resets !== this.#driver.resets) return undefined;
    const offsetMs = serverMs - sentAt.monotonicMs;
    const known = this.#readings.get(answeredAt);
    if (known?.resets === resets) {
      known.offsetMs = offsetMs;
      known.latestMs = Math.max(serverMs, known.latestMs);
      return known;
    }
    const reading = { resets, offsetMs, latestMs: serverMs };
    this.#readings.set(answeredAt, reading);
    return reading;
  }

  forget(key: string): void {
    this.#readings.delete(this.placeOf(key));
  }

  /** The clock by which a deadline is made now. Not before the first answer. */
  of(key: string): ServerClock {
    const reading = this.#readings.get(this.placeOf(key));
    if (reading === undefined) throw new Error("the server's time is not known yet");
    return reading;
  }

  /** The clock of the server that has a key; undefined while it has answered nothing since the connection was lost. */
  current(key: string): ServerClock | undefined {
    const reading = this.#readings.get(this.placeOf(key));
    return reading?.resets === this.#driver.resets ? reading : undefined;
  }
}
