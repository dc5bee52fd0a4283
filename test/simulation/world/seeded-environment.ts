import type { Environment } from "../../../src/environment.js";
import type { Stream } from "../chooser/chooser.js";

const BYTE = 256;
const FINE = 2 ** 20;

/** What comes from outside of the program, out of a stream. Nothing is forgotten but by {@link SeededEnvironment.forget}. */
export class SeededEnvironment implements Environment {
  readonly warned: Set<string> = new Set();
  readonly warnings: string[] = [];
  readonly #stream: Stream;
  #forgotten = new WeakSet<object>();
  readonly #tells = new Map<object, (() => void)[]>();
  #ids = 0;

  constructor(stream: Stream) {
    this.#stream = stream;
  }

  random(): number {
    return this.#stream.choose(FINE) / FINE;
  }

  /** Different each time, and the same in each replay, also when another stream was shrunk. */
  uuid(): string {
    this.#ids += 1;
    const digits = this.#ids.toString(16).padStart(12, "0");
    return `${digits.slice(4)}-5eed-4000-8000-${digits}`;
  }

  randomHex(bytes: number): string {
    this.#ids += 1;
    return (this.#ids % BYTE ** 4).toString(16).padStart(2 * bytes, "0");
  }

  weak<T extends object>(object: T): { deref(): T | undefined } {
    return { deref: () => (this.#forgotten.has(object) ? undefined : object) };
  }

  readonly whenForgotten = (object: object, tell: () => void): void => {
    const tells = this.#tells.get(object) ?? [];
    tells.push(tell);
    this.#tells.set(object, tells);
  };

  warn(message: string): void {
    this.warnings.push(message);
  }

  /** Nobody has the object any more, and that is found out now. */
  forget(object: object): void {
    this.#forgotten.add(object);
    const tells = this.#tells.get(object) ?? [];
    this.#tells.delete(object);
    for (const tell of tells) tell();
  }
}
