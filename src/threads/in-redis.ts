import type { Deadline } from "../runtime/deadline.js";
import type { ServerClock } from "../runtime/server-clocks.js";

/** Long after a lease no copy of a command is under way any more. */
const COPIES_MS = 60_000;

/** What Redis has of a stay, or may have: the outcome of a command is not always known. */
export class InRedis {
  /** The hold count that Redis has or is to have. Holds that were lost are in it until the next release. */
  count = 0;
  /** How often releases have lowered it, each for all that were being released by then. */
  lowerings = 0;
  /** The hold count that Redis may have at most: a command that lowers it may have been lost. */
  highestCount = 0;
  /** When it was known to be freed by force: what was asked for before is gone as well. On the monotonic clock. */
  freedMs = 0;
  /** Until then, copies of commands with an unknown outcome may arrive; undefined: none can. */
  #copiesUntil: Deadline | undefined;
  /** The longest lease that was ever asked for: nothing in Redis lives longer without us. */
  #longestLeaseMs = 0;
  /** On the monotonic clock: from then on nothing can be there. */
  #outlivedMs: number | undefined;
  /** The latest command; true for one that nobody waits behind yet. */
  #turn: Promise<unknown> | true | undefined;
  #turnEnds: (() => void) | undefined;

  /** Until then, copies of commands with an unknown outcome may arrive; 0: none can. On the clock of the server that answered last. */
  get copiesUntilMs(): number {
    return this.#copiesUntil?.ms ?? 0;
  }

  get longestLeaseMs(): number {
    return this.#longestLeaseMs;
  }

  /** True when something may be there. */
  get isPossible(): boolean {
    return this.count > 0 || this.#copiesUntil !== undefined;
  }

  /** Nothing is asked for any more for now. @param nowMs on the monotonic clock */
  rests(nowMs: number): void {
    this.#outlivedMs = nowMs + this.#longestLeaseMs + COPIES_MS;
  }

  /** True when nothing can be there any more, unless something was asked for since. */
  isOutlived(nowMs: number): boolean {
    return this.#outlivedMs !== undefined && nowMs > this.#outlivedMs;
  }

  /** @param leaseMs of an acquisition that is about to be sent */
  asking(leaseMs: number): void {
    this.#longestLeaseMs = Math.max(this.#longestLeaseMs, leaseMs);
    this.highestCount = Math.max(this.highestCount, this.count + 1);
  }

  /** A command has an unknown outcome, or may have been sent twice. @param deadline its own */
  copyMayArrive(deadline: Deadline): void {
    this.#copiesUntil = deadline.orLater(this.#copiesUntil);
  }

  /** A server's clock has been seen. @param clock undefined when nobody knows which server's */
  seenServer(clock: ServerClock | undefined, serverMs: number): void {
    if (this.#copiesUntil === undefined || clock === undefined) return;
    const until = this.#copiesUntil.on(clock, serverMs);
    this.#copiesUntil = serverMs > until.ms ? undefined : until;
  }

  /** There is surely nothing any more. */
  empty(): void {
    this.count = 0;
    this.highestCount = 0;
    this.#copiesUntil = undefined;
  }

  /** Whether a command about it is under way. */
  get isChanging(): boolean {
    return this.#turn !== undefined;
  }

  /** Runs commands about it one after the other, so that each knows the hold count before it. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#turn === true ? this.#endOfTurn() : this.#turn;
    const mine = before === undefined ? work() : before.then(work, work);
    this.#turn = mine;
    try {
      return await mine;
    } finally {
      if (this.#turn === mine) this.#turn = undefined;
    }
  }

  /** A command is sent without {@link inTurn}; nobody else's may be under way. */
  beginTurn(): void {
    this.#turn = true;
  }

  /** Whether anybody waits for the end of a turn. */
  get isAwaited(): boolean {
    return this.#turn !== undefined && (this.#turn !== true || this.#turnEnds !== undefined);
  }

  endTurn(): void {
    if (this.#turn === true) this.#turn = undefined;
    this.#turnEnds?.();
    this.#turnEnds = undefined;
  }

  #endOfTurn(): Promise<void> {
    return new Promise((resolve) => {
      this.#turnEnds = resolve;
    });
  }
}
