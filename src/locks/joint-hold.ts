import { LeaseLostError } from "../errors.js";
import type { Hold, HoldState } from "../threads/hold.js";
import type { LeaseLock } from "./lease-lock.js";

/** One lock of several, and what is held of it. */
export interface Member {
  readonly lock: LeaseLock;
  readonly hold: Hold;
}

/**
 * Holds of several locks that count as one: held while at least `quorum` of them are. A loss is final, whatever becomes
 * of the single holds.
 */
export class JointHold {
  readonly name: string;
  readonly quorum: number;
  readonly #holds = new Map<LeaseLock, Hold>();
  #released = false;
  #loss: LeaseLostError | undefined;
  #abort: AbortController | undefined;

  constructor(name: string, members: readonly Member[], quorum: number) {
    this.name = name;
    this.quorum = quorum;
    for (const { lock, hold } of members) this.#holds.set(lock, hold);
  }

  get members(): readonly Member[] {
    return [...this.#holds].map(([lock, hold]) => ({ lock, hold }));
  }

  get holders(): string {
    return [...this.#holds.values()].map(({ holding }) => holding.field).join(", ");
  }

  get state(): HoldState {
    if (this.loss !== undefined) return "lost";
    return this.#released ? "released" : "held";
  }

  get loss(): LeaseLostError | undefined {
    this.checkMs();
    return this.#loss;
  }

  /** Milliseconds since the first acquisition. */
  get heldMs(): number {
    return Math.max(...[...this.#holds.values()].map(({ heldMs }) => heldMs));
  }

  get signal(): AbortSignal {
    this.checkMs();
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#loss !== undefined) this.#abort.abort(this.#loss);
      else for (const hold of this.#holds.values()) this.#follow(hold);
    }
    return this.#abort.signal;
  }

  has(lock: LeaseLock): boolean {
    return this.#holds.get(lock)?.state === "held";
  }

  /** A lock that was missing is held as well, or again. */
  put({ lock, hold }: Member): void {
    this.#holds.set(lock, hold);
    if (this.#abort !== undefined) this.#follow(hold);
  }

  /** Milliseconds for which enough of the holds may be trusted; 0 when it is over. */
  checkMs(): number {
    if (this.#released || this.#loss !== undefined) return 0;
    const holds = [...this.#holds.values()];
    const left = holds.map((hold) => hold.checkMs()).sort((a, b) => b - a);
    const leftMs = left[this.quorum - 1] ?? 0;
    if (leftMs > 0) return leftMs;
    // Its owner may have released them one by one.
    if (this.#tooManyLost()) this.#lose();
    else this.#released = true;
    return 0;
  }

  release(): void {
    this.checkMs();
    this.#released = true;
  }

  /** The releases of the single holds may have found that there was nothing to release any more. */
  wasReleased(): void {
    if (this.#loss === undefined && this.#tooManyLost()) this.#lose();
  }

  #tooManyLost(): boolean {
    const holds = [...this.#holds.values()];
    return holds.filter(({ loss }) => loss === undefined).length < this.quorum;
  }

  #follow(hold: Hold): void {
    hold.signal.addEventListener("abort", () => this.checkMs(), { once: true });
  }

  /** Once: looking at the holds may make one of them tell of its loss, which looks at them again. */
  #lose(): void {
    if (this.#loss !== undefined) return;
    const losses = [...this.#holds.values()].flatMap(({ loss }) => loss ?? []);
    const last = losses.sort((a, b) => b.heldMs - a.heldMs)[0];
    const { reason = "released", heldMs = 0 } = last ?? {};
    this.#loss = new LeaseLostError(this.name, this.holders, reason, heldMs, { cause: last });
    this.#abort?.abort(this.#loss);
  }
}
