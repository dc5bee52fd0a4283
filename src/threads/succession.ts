import { UnavailableError } from "../errors.js";
import type { SuccessionAnswer } from "../protocol/lock-calls.js";
import { lockSucceed } from "../protocol/lock-scripts.js";
import type { Commands, Exchanged } from "../runtime/commands.js";
import type { Hold } from "./hold.js";
import type { Holding } from "./holding.js";

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

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
  #isNaming = false;

  /** @param sinceMs on the monotonic clock */
  constructor(commands: Commands, first: Hold, sinceMs: number) {
    this.#commands = commands;
    this.#latest = first;
    this.#names = [first.holding.field];
    this.sinceMs = sinceMs;
  }

  /** The fields of which Redis may have one for a stay. */
  namesOf(holding: Holding): readonly string[] {
    return this.#latest.holding === holding ? [...new Set([...this.#names, holding.field])] : [holding.field];
  }

  hasNamed({ field }: Holding): boolean {
    return this.#names.length === 1 && this.#names[0] === field;
  }

  /** One more holder has the lock, and the one before it has left. To be followed by {@link name}. */
  pass(next: Hold): void {
    this.#latest.holding.inRedis.endTurn();
    next.holding.inRedis.beginTurn();
    next.holding.succession = this;
    this.#latest = next;
    this.count += 1;
  }

  /**
   * Has Redis name the latest holder. Never rejects. What can not be known in time is lost with the trust in the holder.
   * @param free what frees the lock from those of whom Redis may have one
   */
  async name(free: (names: readonly string[]) => void): Promise<void> {
    if (this.#isNaming) return;
    this.#isNaming = true;
    for (let pauseMs = FIRST_PAUSE_MS; ; ) {
      const hold = this.#latest;
      try {
        const sent = await this.#send(hold);
        if (this.#isDone(hold, sent)) break;
        if (hold !== this.#latest) continue;
      } catch (error) {
        if (!(error instanceof UnavailableError) || this.#latest.state !== "held") {
          this.#giveUp(free);
          break;
        }
      }
      await this.#commands.pause(pauseMs).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
    this.#isNaming = false;
  }

  #send({ holding: { key, field }, terms: { leaseMs } }: Hold): Promise<Exchanged<SuccessionAnswer>> {
    const predecessors = this.#names.filter((name) => name !== field);
    this.#names = [...predecessors, field];
    return this.#commands.exchange(
      lockSucceed,
      key,
      () => ({ notAfterMs: this.#commands.notAfterMs(key), key, leaseMs, successor: field, predecessors }),
      { leaseMs },
    );
  }

  /** @returns false when there is something left to tell */
  #isDone(hold: Hold, { reply, sentAt, shortfall }: Exchanged<SuccessionAnswer>): boolean {
    const { holding } = this.#latest;
    switch (reply.status) {
      case "late":
        return false;
      case "held":
        if (shortfall !== undefined) return false;
        this.#names = [hold.holding.field];
        if (hold !== this.#latest) return false;
        holding.named(sentAt);
        break;
      default:
        this.#names = [holding.field];
        holding.loseAll("stolen");
    }
    holding.inRedis.endTurn();
    return true;
  }

  #giveUp(free: (names: readonly string[]) => void): void {
    const { holding } = this.#latest;
    free(this.#names);
    this.#names = [holding.field];
    holding.inRedis.endTurn();
  }
}
