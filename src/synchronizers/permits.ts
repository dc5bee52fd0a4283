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
  /** One for each permit: 32 lower-case hexadecimal digits. Any code that has them may release the permits. */
  readonly ids: readonly string[];
  /** Reads the clocks, so the state is right even after a blocked event loop or a stopped process. */
  readonly state: HoldState;
  /**
   * Aborts with a {@link LeaseLostError} when the permits are lost, at the latest when their lease may no longer be trusted. Does not abort
   * when they are released.
   */
  readonly signal: AbortSignal;
  /**
   * Milliseconds for which the permits may be trusted; Infinity for permanent permits, 0 when they are over.
   * @example const leftMs = permits.remainingMs();
   */
  remainingMs(): number;
  /**
   * @throws LeaseLostError if the permits were lost; NotHeldError if they were released
   * @example
   * permits.assertHeld();
   * await pay();
   */
  assertHeld(): void;
  /**
   * Gives the permits back. A second call is harmless.
   * @throws NotHeldError if they were lost before; UnavailableError if Redis did not answer: the release is then repeated in the background
   * @example await permits.release();
   */
  release(): Promise<void>;
}

/** The error for leased permits that are not held. */
export function permitsNotHeld(name: string, why: string, options?: ErrorOptions): NotHeldError {
  return new NotHeldError(name, why, options, `permits of "${name}" are`);
}

/** The error of a release of lost permits. */
export function lateRelease(name: string, { loss }: PermitHold): NotHeldError {
  const why = `${loss?.message ?? "the lease is over"}; other calls may have taken them`;
  return permitsNotHeld(name, why, { cause: loss });
}

/** The lease of permits, for their caller. */
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
