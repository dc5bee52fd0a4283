import { UnavailableError } from "../errors.js";
import type { SuccessionAnswer } from "../protocol/lock-calls.js";
import { lockSucceed } from "../protocol/lock-scripts.js";
import type { Commands, Exchanged } from "../runtime/commands.js";
import type { Hold } from "./hold.js";
import type { Holding } from "./holding.js";

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** What follows when Redis could not be told. */
export interface Aftermath {
  /** Redis may have one of these, who nobody is any more, for so many milliseconds. */
  free(names: readonly string[], leaseMs: number): void;
  /** Redis has none of them: the lock may be anybody's. */
  gone(): void;
}

/**
 * The holders of one lock who follow each other inside one client without the lock being free in between. Redis is told of it
 * behind: one command at a time names the latest, whoever it is by then, and lists all those of whom Redis may have
 * one. Until it is named, a holder lives within the time for which the one before it was trusted, and its own commands
 * wait.
 */
export class Succession {
  /** How many have followed. */
  count = 0;
  readonly sinceMs: number;
  readonly #commands: Commands;
  #latest: Hold;
  /** Redis has one of them. */
  #names: readonly string[];
  /** The longest lease of any of them. */
  #leaseMs: number;
  #isNaming = false;
  /** Whether the latest has left, and sees to the names itself. */
  #isOver = false;

  /** @param sinceMs on the monotonic clock */
  constructor(commands: Commands, first: Hold, sinceMs: number) {
    this.#commands = commands;
    this.#latest = first;
    this.#names = [first.holding.field];
    this.#leaseMs = first.holding.inRedis.longestLeaseMs;
    this.sinceMs = sinceMs;
  }

  /** The fields of which Redis may have one for a stay. */
  namesOf(holding: Holding): readonly string[] {
    return this.#latest.holding === holding ? [...new Set([...this.#names, holding.field])] : [holding.field];
  }

  hasNamed({ field }: Holding): boolean {
    return this.#names.length === 1 && this.#names[0] === field;
  }

  /** The longest lease that Redis may have for any of them. */
  get leaseMs(): number {
    return this.#leaseMs;
  }

  /** One more holder has the lock, and the one before it has left. To be followed by {@link name}. */
  pass(next: Hold): void {
    this.#latest.holding.inRedis.endTurn();
    next.holding.inRedis.beginTurn();
    next.holding.succession = this;
    this.#latest = next;
    this.#leaseMs = Math.max(this.#leaseMs, next.terms.leaseMs);
    this.count += 1;
  }

  /** The latest frees the lock from all of whom Redis may have one. @returns them */
  leave(): readonly string[] {
    const { holding } = this.#latest;
    const names = this.namesOf(holding);
    this.#isOver = true;
    holding.inRedis.endTurn();
    return names;
  }

  /** Whether {@link name} is at work: it sees to whoever follows. */
  get isNaming(): boolean {
    return this.#isNaming;
  }

  /** Has Redis name the latest holder, for as long as that is held. Never rejects. To be called once at a time. */
  async name(aftermath: Aftermath): Promise<void> {
    this.#isNaming = true;
    for (let pauseMs = FIRST_PAUSE_MS; this.#goesOn; ) {
      const hold = this.#latest;
      try {
        if (this.#isSettled(hold, await this.#send(hold), aftermath)) break;
        if (hold !== this.#latest) continue;
      } catch (error) {
        if (!(error instanceof UnavailableError)) break;
      }
      if (this.#goesOn) await this.#commands.pause(pauseMs).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
    this.#isNaming = false;
    this.#end(aftermath);
  }

  get #goesOn(): boolean {
    return !this.#isOver && this.#latest.state === "held";
  }

  #send({ holding, terms: { leaseMs } }: Hold): Promise<Exchanged<SuccessionAnswer>> {
    const { key, field } = holding;
    const predecessors = this.#names.filter((name) => name !== field);
    this.#names = [...predecessors, field];
    holding.renewing();
    return this.#commands.exchange(
      lockSucceed,
      key,
      () => ({ notAfterMs: this.#commands.notAfterMs(key), key, leaseMs, successor: field, predecessors }),
      { leaseMs },
    );
  }

  /** @returns false when there is something left to tell */
  #isSettled(
    hold: Hold,
    { reply, sentAt, shortfall }: Exchanged<SuccessionAnswer>,
    { gone }: Aftermath,
  ): boolean {
    if (this.#isOver) return true;
    const { holding } = this.#latest;
    switch (reply.status) {
      case "late":
        return false;
      case "held":
        if (shortfall !== undefined) return false;
        this.#names = [hold.holding.field];
        if (hold !== this.#latest) return false;
        holding.named(sentAt);
        return true;
      default:
        this.#names = [holding.field];
        holding.loseAll("stolen");
        gone();
        return true;
    }
  }

  /** What waits for the latest holder's turn goes on. A holder that was lost unnamed leaves nothing behind. */
  #end({ free }: Aftermath): void {
    if (this.#isOver) return;
    const { holding, loss } = this.#latest;
    // Of a client that closes the leases are left to their TTLs: bodies may still run.
    if (loss !== undefined && loss.reason !== "closed" && !this.hasNamed(holding)) {
      free(this.#names, this.#leaseMs);
      this.#names = [holding.field];
      // Who waits to enter once more would be freed with them.
      holding.inRedis.count = 0;
    }
    holding.inRedis.endTurn();
  }
}
