import type { Client } from "../client.js";
import type { Around } from "../client-options.js";
import { NotHeldError } from "../errors.js";
import { events } from "../events.js";
import { AnyLease } from "../lease.js";
import { showInLogs } from "../printed.js";
import { guard } from "../threads/abandonment.js";
import type { HoldState } from "../threads/held.js";
import type { PermitHold } from "../threads/permit-holds.js";
import { surrounded } from "../threads/surrounded.js";
import type { AfterBody } from "../threads/threads.js";

/** Permits of a permit-expirable semaphore: proof, deadline, loss signal, and the way to give them back. */
export interface Permits extends AsyncDisposable {
  /** The name of the semaphore. */
  readonly name: string;
  /** One for each permit: 32 lower-case hexadecimal digits. Whoever has them may release the permits. */
  readonly ids: readonly string[];
  /** Looks at the clocks, and so is true however long the event loop was blocked or the process stopped. */
  readonly state: HoldState;
  /**
   * Aborts with a {@link LeaseLostError} when the permits are lost, never later than the end of the time for which their lease
   * may be trusted. It does not abort when they are released.
   */
  readonly signal: AbortSignal;
  /** Milliseconds for which the permits may surely be trusted; Infinity of permanent ones, 0 when they are over. */
  remainingMs(): number;
  /** @throws LeaseLostError when the permits were lost; NotHeldError when they were released */
  assertHeld(): void;
  /**
   * Gives the permits back. Twice is harmless.
   * @throws NotHeldError when they were lost before; UnavailableError when Redis did not answer: the release is then tried on
   * behind the scenes
   */
  release(): Promise<void>;
}

/** Leased permits that somebody is to release, or to have, and that are not there. */
export function permitsNotHeld(name: string, why: string, options?: ErrorOptions): NotHeldError {
  return new NotHeldError(name, why, options, `permits of "${name}" are`);
}

/** Permits that are to be released after they were lost. */
export function lateRelease(name: string, { loss }: PermitHold): NotHeldError {
  const why = `${loss?.message ?? "the lease is over"}; others may have been let in`;
  return permitsNotHeld(name, why, { cause: loss });
}

/** What a caller gets for leased permits. */
export class PermitsLease extends AnyLease implements Permits {
  readonly #hold: PermitHold;
  readonly #client: Client;
  readonly #release: () => Promise<void>;

  constructor(client: Client, hold: PermitHold, release: () => Promise<void>) {
    super();
    this.#client = client;
    this.#hold = hold;
    this.#release = release;
    guard(this, hold);
    client.permits.keepWith(this, hold);
  }

  get name(): string {
    return this.#hold.count.name;
  }

  get ids(): readonly string[] {
    return this.#hold.ids;
  }

  protected within<T>(body: () => T | Promise<T>, after?: AfterBody): Promise<T> {
    const { settings, threads } = this.#client;
    const run = settings.around === undefined ? body : this.#surrounded(settings.around, body);
    return threads.runBeside(this, run, after);
  }

  #surrounded<T>(around: Around, body: () => T | Promise<T>): () => T | Promise<T> {
    const { about, terms } = this.#hold;
    return surrounded(around, { ...about, note: terms.note }, body);
  }

  release(): Promise<void> {
    return this.#release();
  }

  protected giveBack(): Promise<void> {
    return this.release();
  }

  protected get releasing(): Promise<void> | undefined {
    return this.#hold.releasing;
  }

  protected get believed(): PermitHold {
    return this.#hold;
  }

  protected get values(): object {
    return { ids: this.ids };
  }

  protected override notHeld(why: string): NotHeldError {
    return permitsNotHeld(this.name, why);
  }

  protected failed(error: unknown): void {
    events.releaseFailed.publish({ ...this.#hold.about, error });
  }
}

showInLogs(PermitsLease, "Permits");
