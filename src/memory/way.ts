import type { Clock } from "../clock.js";

/** A driver that uses the way to its server. */
export interface Traveller {
  /** The connections have broken: calls under way are not answered. */
  onLost(): void;
  /** There are connections again. */
  onReady(): void;
}

/** The way from drivers to a server inside this process: it may be closed for a while, or slow. */
export class Way {
  /** How long an answer takes to arrive, in milliseconds. */
  delayMs = 0;
  readonly #clock: Clock;
  readonly #travellers = new Set<Traveller>();
  #isOpen = true;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** @returns a function that removes the driver again */
  join(traveller: Traveller): () => void {
    this.#travellers.add(traveller);
    return () => this.#travellers.delete(traveller);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const traveller of this.#travellers) traveller.onLost();
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    for (const traveller of this.#travellers) traveller.onReady();
  }

  /** Calls back in a later turn of the event loop, and keeps the process alive until then. */
  later(callback: () => void, delayMs = 0): void {
    this.#clock.schedule(delayMs, callback, true);
  }
}

const ways = new WeakMap<object, Way>();

/** The way to a server: always the same object for the same server. */
export function wayTo(server: { readonly clock: Clock }): Way {
  const way = ways.get(server) ?? new Way(server.clock);
  ways.set(server, way);
  return way;
}
