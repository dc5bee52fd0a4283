import { LeaseLostError } from "../errors.js";
import { frameless } from "../runtime/for-caller.js";
import type { Instant } from "../runtime/instant.js";
import type { HoldState } from "../threads/held.js";
import type { Hold } from "../threads/stay.js";
import type { SingleLock } from "./single-lock.js";

/** One of the locks that count as one, and its hold. */
export interface JointMember {
  readonly lock: SingleLock;
  readonly hold: Hold;
}

/**
 * Holds of several locks that count as one hold: it is held while at least `quorum` of them are. Once lost, it stays lost, whatever happens
 * to the single holds.
 */
export class JointHold {
  readonly name: string;
  readonly locks: readonly SingleLock[];
  readonly quorum: number;
  readonly #holds = new Map<SingleLock, Hold>();
  /** The hold that was taken first, whatever has happened to it. */
  readonly #first: Hold | undefined;
  #released = false;
  #loss: LeaseLostError | undefined;
  #abort: AbortController | undefined;

  constructor(name: string, locks: readonly SingleLock[], members: readonly JointMember[], quorum: number) {
    this.name = name;
    this.locks = locks;
    this.quorum = quorum;
    for (const { lock, hold } of members) this.#holds.set(lock, hold);
    this.#first = members.map(({ hold }) => hold).toSorted((a, b) => b.heldMs - a.heldMs)[0];
    this.#acquaint();
  }

  get members(): readonly JointMember[] {
    return [...this.#holds].map(([lock, hold]) => ({ lock, hold }));
  }

  get holders(): string {
    return [...this.#holds.values()].map(({ stay }) => stay.field).join(", ");
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
    return this.#first?.heldMs ?? 0;
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

  /** The current or former hold of a lock. */
  of(lock: SingleLock): Hold | undefined {
    return this.#holds.get(lock);
  }

  /** Like `of`, but says "to come" for a missing member of a live lease: it may still be acquired while the body runs. */
  find(lock: SingleLock): Hold | "to come" | undefined {
    return this.#holds.get(lock) ?? (this.state === "held" ? "to come" : undefined);
  }

  /** A missing lock is now held, for the first time or again. */
  put({ lock, hold }: JointMember): void {
    this.#holds.set(lock, hold);
    this.#acquaint();
    if (this.#abort !== undefined) this.#follow(hold);
  }

  /** Milliseconds for which at least `quorum` holds certainly last; 0 when the joint hold is over. */
  checkMs(): number {
    if (this.#isOver) return 0;
    const leftMs = this.#ofQuorumMs((hold) => hold.checkMs());
    if (leftMs > 0) return leftMs;
    // Too few holds are left: the missing ones were lost, or released one by one by their owner.
    if (this.#tooManyLost()) this.#lose();
    else this.#released = true;
    return 0;
  }

  /** Like `checkMs`, but changes nothing. @param at default: the current time on the clock of each hold's client */
  believedMs(at?: Instant): number {
    return this.#isOver ? 0 : this.#ofQuorumMs((hold) => hold.believedMs(at));
  }

  get #isOver(): boolean {
    return this.#released || this.#loss !== undefined;
  }

  /** Milliseconds for which at least `quorum` holds last. `leftMsOf` gives the time left of each hold. */
  #ofQuorumMs(leftMsOf: (hold: Hold) => number): number {
    const left = [...this.#holds.values()].map(leftMsOf).sort((a, b) => b - a);
    return left[this.quorum - 1] ?? 0;
  }

  release(): void {
    this.checkMs();
    this.#released = true;
  }

  /** Called after the single holds were released: the releases may have found that holds were lost. */
  wasReleased(): void {
    if (this.#loss === undefined && this.#tooManyLost()) this.#lose();
  }

  #tooManyLost(): boolean {
    const holds = [...this.#holds.values()];
    return holds.filter(({ loss }) => loss === undefined).length < this.quorum;
  }

  /** Links the stays as companions, so that the threadId of one can be used for all. */
  #acquaint(): void {
    const stays = [...this.#holds.values()].map(({ stay }) => stay);
    for (const stay of stays) {
      const others = [...stay.companions].filter((other) => !other.isIdle);
      stay.companions = new Set([...others, ...stays]);
    }
  }

  #follow({ signal }: Hold): void {
    // The hold may have ended at the moment when its signal was read; a listener that is added now would then never be called.
    if (signal.aborted) this.checkMs();
    else signal.addEventListener("abort", () => this.checkMs(), { once: true });
  }

  #lose(): void {
    const holds = [...this.#holds.values()];
    // The losses, the earliest first. They are compared by how long ago they happened, because the clocks of the clients may differ. Of two
    // losses in the same millisecond, the one of a hold whose time was over comes first.
    const losses = holds
      .flatMap(({ loss, heldMs }) =>
        loss === undefined ? [] : [{ loss, agoMs: Math.round(heldMs) - loss.heldMs }],
      )
      .sort((a, b) => b.agoMs - a.agoMs || Number(isByTime(b.loss)) - Number(isByTime(a.loss)));
    // Reading the holds may have published a loss and so run this method already.
    if (this.#loss !== undefined) return;
    // The first loss that left too few holds.
    const { loss, agoMs = 0 } = losses[holds.length - this.quorum] ?? {};
    const { reason = "released" } = loss ?? {};
    const heldMs = this.heldMs - agoMs;
    this.#loss = frameless(
      () => new LeaseLostError(this.name, this.holders, reason, heldMs, { cause: loss }),
    );
    // Otherwise the remaining holds would exclude other owners until the joint lease is released.
    for (const hold of holds) hold.letLapse();
    this.#abort?.abort(this.#loss);
  }
}

/** Whether the hold was lost because its time was over. */
function isByTime({ reason }: LeaseLostError): boolean {
  return reason === "expired" || reason === "unreachable" || reason === "max-hold";
}
