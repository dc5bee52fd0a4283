import { type Meter, type MeterProvider, metrics } from "@opentelemetry/api";
import { VERSION } from "../version.js";

/** The name of the meter and of the tracer. */
export const SCOPE = "holdfast";

/** In seconds. From an uncontended acquisition near the server to a wait of a minute. */
export const ACQUIRE_BOUNDARIES: number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];
/** In seconds. */
export const HOLD_BOUNDARIES: number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
];
/** In seconds. Even without any trouble, a beat of the watchdog may be a tenth of a second late. */
export const LATENESS_BOUNDARIES: number[] = [0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** A command concerns about a hundred locks at most. */
export const SIZE_BOUNDARIES: number[] = [1, 2, 5, 10, 20, 50, 100];

/**
 * The instruments of one metric group. A program may set its provider after its first lock: the instruments are made when they are first
 * needed, and created again if the provider has changed.
 */
export class Instruments<T> {
  readonly #given: MeterProvider | undefined;
  readonly #make: (meter: Meter) => T;
  readonly #unmake: ((made: T) => void) | undefined;
  #provider: MeterProvider | undefined;
  #made: T | undefined;

  /**
   * @param given undefined stands for the global provider
   * @param unmake ends the callbacks of instruments that are no longer used
   */
  constructor(given: MeterProvider | undefined, make: (meter: Meter) => T, unmake?: (made: T) => void) {
    this.#given = given;
    this.#make = make;
    this.#unmake = unmake;
  }

  get current(): T {
    const provider = this.#given ?? metrics.getMeterProvider();
    if (this.#made !== undefined && provider === this.#provider) return this.#made;
    this.end();
    this.#provider = provider;
    this.#made = this.#make(provider.getMeter(SCOPE, VERSION));
    return this.#made;
  }

  end(): void {
    if (this.#made !== undefined) this.#unmake?.(this.#made);
    this.#made = undefined;
  }
}
