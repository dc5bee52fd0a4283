import type { Clock, Timer } from "../clock.js";
import type { Driver } from "../driver/driver.js";
import type { Script } from "../protocol/define-script.js";
import type { Confirmation, RenewAnswer } from "../protocol/lock-calls.js";
import { batches } from "./batches.js";
import { wasRefused } from "./command-failures.js";
import type { Commands } from "./commands.js";
import type { HashedWheelTimer } from "./hashed-wheel-timer.js";
import { type Instant, later, now } from "./instant.js";

/** A stay or permits that are held. When the key moves to another server, that server is asked whether it has them. */
export interface Confirmable {
  readonly key: string;
  /** The server known to have the key; "" while no server is known to have it. Set by `Confirmations`. */
  place: string;
  /** True from a change of the server until the new server has confirmed the holds. Set by `Confirmations`. */
  isMoved: boolean;
  readonly confirmScript: Script<readonly Confirmation[], readonly RenewAnswer[]>;
  /** Whether at least one of its holds is neither released nor lost. */
  readonly isHeld: boolean;
  /** The question to send to the server now. */
  question(): Question;
  /** The key's server has changed: a hold that is not confirmed by `until` is lost. */
  doubt(until: Instant): void;
  /** The server has confirmed the holds. @returns false if a hold in doubt was not part of the question */
  found(question: Question): boolean;
  /** The new server does not have the holds. @returns false if the question is outdated */
  missing(question: Question): boolean;
}

export interface Question {
  readonly confirmation: Confirmation;
  /** The holds that the answer is valid for. */
  readonly holds: readonly unknown[];
  /** The number of changes when the question was sent; undefined if a change was under way. */
  readonly changes: number | undefined;
}

/** As many as in a renewal command: more would keep the server from other commands for too long. */
const BATCH_SIZE = 100;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** How often the cluster is asked for its slots, while something is held and replicas are required. */
const LOOK_MS = 1_000;

interface ConfirmationServices {
  readonly driver: Driver;
  readonly clock: Clock;
  readonly wheel: HashedWheelTimer;
  readonly commands: Commands;
  /** Whether a hold is lost if too few replicas of the new server have it. */
  readonly required: boolean;
  /** All that is held. */
  readonly held: () => Iterable<Confirmable>;
}

/**
 * When the server of a key changes, asks the new server whether it has the holds. A moved slot is copied to its new master, but not to that
 * master's replicas; and a promoted replica may lack writes that the old master had confirmed. A hold that the new server does not have is
 * lost at once. If replicas are required, a hold that the replicas have not acknowledged within one command timeout is lost too. As long as
 * no server changes, nothing is sent.
 */
export class Confirmations {
  readonly #services: ConfirmationServices;
  readonly #end: (() => void) | undefined;
  /** When a server last changed, on the monotonic clock. */
  #movedMs = Number.NEGATIVE_INFINITY;
  #looking: Timer | undefined;
  #stopped = false;

  constructor(services: ConfirmationServices) {
    this.#services = services;
    this.#end = services.driver.onMoved?.(this.#onMoved);
  }

  /** A hold was taken by a command sent at `sentAt`. */
  taken(one: Confirmable, sentAt: Instant): void {
    // The server that answered may no longer be the one that has the key.
    if (sentAt.monotonicMs <= this.#movedMs) this.#confirm([one]);
    else one.place = this.#placeOf(one);
    this.#lookLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#end?.();
    this.#looking?.cancel();
  }

  #placeOf({ key }: Confirmable): string {
    return this.#services.driver.placeOf?.(key) ?? "";
  }

  readonly #onMoved = (): void => {
    this.#movedMs = this.#services.clock.monotonicMs();
    this.#confirm([...this.#services.held()].filter((one) => one.isHeld && this.#isElsewhere(one)));
  };

  /** The master of a slot may be unknown for a while: this does not count as moved. */
  #isElsewhere(one: Confirmable): boolean {
    const place = this.#placeOf(one);
    return place !== "" && place !== one.place;
  }

  #confirm(moved: readonly Confirmable[]): void {
    const { clock, commands, required } = this.#services;
    if (moved.length === 0) return;
    if (required) {
      const until = later(now(clock), commands.timeoutMs);
      for (const one of moved) one.doubt(until);
    }
    const due = new Map<Confirmable["confirmScript"], Confirmable[]>();
    for (const one of moved) {
      if (one.isMoved) continue;
      one.isMoved = true;
      const alike = due.get(one.confirmScript);
      if (alike === undefined) due.set(one.confirmScript, [one]);
      else alike.push(one);
    }
    for (const alike of due.values()) this.#askAll(alike, FIRST_PAUSE_MS);
  }

  #askAll(moved: readonly Confirmable[], pauseMs: number): void {
    for (const batch of batches(this.#services.commands, moved, BATCH_SIZE)) void this.#ask(batch, pauseMs);
  }

  /** Never rejects. Asks again until each hold is confirmed or no longer held. */
  async #ask(batch: readonly Confirmable[], pauseMs: number): Promise<void> {
    const wanted = batch.filter((one) => this.#isWanted(one));
    const [first] = wanted;
    if (first === undefined) return;
    let asked: readonly AskedQuestion[] = [];
    const input = () => {
      asked = wanted.map((one) => ({ one, place: this.#placeOf(one), question: one.question() }));
      return asked.map(({ question }) => question.confirmation);
    };
    const patience = { divisible: wanted.length > 1 };
    try {
      const { commands } = this.#services;
      const { reply, shortfall } = await commands.exchange(first.confirmScript, first.key, input, patience);
      const left = asked.filter((each, at) => !this.#settle(each, reply[at], shortfall !== undefined));
      this.#askLater(
        left.map(({ one }) => one),
        pauseMs,
      );
    } catch (error) {
      if (wanted.length > 1 && wasRefused(error)) for (const one of wanted) void this.#ask([one], pauseMs);
      else this.#askLater(wanted, pauseMs);
    }
  }

  #askLater(moved: readonly Confirmable[], pauseMs: number): void {
    if (moved.length === 0 || this.#stopped) return;
    const nextMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    this.#services.wheel.schedule(pauseMs, () => this.#askAll(moved, nextMs));
  }

  #isWanted(one: Confirmable): boolean {
    if (!one.isHeld || this.#stopped) one.isMoved = false;
    return one.isMoved;
  }

  /** @returns false if the new server must be asked again */
  #settle(
    { one, place, question }: AskedQuestion,
    answer: RenewAnswer | undefined,
    isShort: boolean,
  ): boolean {
    if (answer?.status === "lost") return one.missing(question);
    // The key may have moved again: only the server that has it now can confirm it.
    if (answer?.status !== "renewed" || isShort || place !== this.#placeOf(one)) return false;
    if (!one.found(question)) return false;
    one.place = place;
    one.isMoved = false;
    return true;
  }

  #lookLater(): void {
    const { driver, wheel, required, held } = this.#services;
    if (!required || driver.lookForMoves === undefined || this.#stopped) return;
    this.#looking ??= wheel.schedule(LOOK_MS, () => {
      this.#looking = undefined;
      // Reading `isHeld` may end an expired hold and remove it from the list, so this loop reads a copy.
      if (![...held()].some(({ isHeld }) => isHeld)) return;
      void driver.lookForMoves?.();
      this.#lookLater();
    });
  }
}

interface AskedQuestion {
  readonly one: Confirmable;
  /** The server of the key when the question was sent. */
  readonly place: string;
  readonly question: Question;
}
