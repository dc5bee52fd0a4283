import type { Environment, ProcessIdentity } from "../../../src/environment.js";

/** A warning that the code under test gave. */
export interface Warning {
  readonly message: string;
  readonly code: string | undefined;
}

/** Where the chance of one world comes from: whole numbers from 0 to `count` - 1. */
type Draw = (count: number) => number;

/** Chance is drawn in pieces of so many values, so that a recorded 0 gives the smallest number. */
const GOLDEN = 0.618_033_988_749_895;
const GRAIN = 2 ** 16;

/** An environment in which nothing happens that was not chosen: one for each world, put in place by `replaceEnvironment`. */
export class OwnEnvironment implements Environment {
  readonly warned = new Set<string>();
  readonly warnings: Warning[] = [];
  readonly #draw: Draw;
  readonly #gone = new WeakSet<object>();
  readonly #tellings = new WeakMap<object, (() => void)[]>();
  readonly #registered = new Set<object>();
  /** Those that only the one who registered them has ever had: he wants to hear of the next collection of garbage. */
  readonly #bare = new Set<object>();
  #drawn = 0;
  #uuids = 0;
  #hexes = 0;

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  /** Differs from draw to draw also where a list of choices is at its end: two that get out of each other's way by chance are to do so. */
  random(): number {
    this.#drawn += 1;
    return (this.#draw(GRAIN) / GRAIN + this.#drawn * GOLDEN) % 1;
  }

  /** Ids need not be random, only never the same. */
  uuid(): string {
    this.#uuids += 1;
    return `00000000-0000-4000-8000-${this.#uuids.toString(16).padStart(12, "0")}`;
  }

  /** The bytes are digits, so that what is stored of them can be read. */
  randomHex(bytes: number): string {
    this.#hexes += 1;
    return Buffer.from(String(this.#hexes).padStart(bytes, "0")).toString("hex");
  }

  /** Whether the process has collected the object may make no difference, so that it is kept. */
  weak<T extends object>(object: T): { deref(): T | undefined } {
    return { deref: () => (this.#gone.has(object) ? undefined : object) };
  }

  readonly whenForgotten = (object: object, tell: () => void): void => {
    const tellings = this.#tellings.get(object);
    this.#registered.add(object);
    if (Object.getPrototypeOf(object) === Object.prototype) this.#bare.add(object);
    if (tellings === undefined) this.#tellings.set(object, [tell]);
    else tellings.push(tell);
  };

  /** The program has no such lease or permits any more, and that is noticed now: as a rule by the second of two collections. */
  forget(object: object): void {
    for (const bare of [...this.#bare]) this.#collect(bare);
    this.#collect(object);
  }

  /** The program has nothing any more. */
  forgetAll(): void {
    while (this.#registered.size > 0) {
      for (const object of [...this.#registered]) this.#collect(object);
    }
  }

  #collect(object: object): void {
    this.#gone.add(object);
    this.#registered.delete(object);
    this.#bare.delete(object);
    const tellings = this.#tellings.get(object) ?? [];
    this.#tellings.delete(object);
    for (const tell of tellings) tell();
  }

  identity(): ProcessIdentity {
    return { app: "simulation", host: "host", pid: 1, runtime: "node" };
  }

  warn(message: string, kind: string | { readonly code: string }): void {
    this.warnings.push({ message, code: typeof kind === "string" ? undefined : kind.code });
  }
}
