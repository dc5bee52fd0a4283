import { checkBody, checkCount } from "../checks.js";
import { WaitTimeoutError } from "../errors.js";
import { checkSemaphoreSettings, type SemaphoreSettings, type WaitOptions } from "../options.js";
import { showInLogs } from "../printed.js";
import { savedPermitsKey } from "../protocol/names.js";
import { semaphoreAdd } from "../protocol/semaphore-scripts.js";
import { reasonOf } from "../runtime/abort-signals.js";
import { acquirePermits, type InVain } from "./acquire-permits.js";
import { type Count, change } from "./count.js";
import type { PermitSource } from "./permit-command.js";

/** The most that a JVM can count. */
export const MOST_PERMITS: number = 2 ** 31 - 1;

/** The arguments of a call for permits. */
export interface AskedPermits<Options> {
  readonly permits: number;
  readonly options: Options;
}

/** Reads the arguments of `acquire(permits?, options?)` and `acquire(options)`. */
export function askedFor<Options extends object>(
  first: number | Options = 1,
  second?: Options,
): AskedPermits<Options> {
  if (typeof first !== "object") {
    return { permits: first, options: second === undefined ? ({} as Options) : second };
  }
  if (second !== undefined) throw new TypeError("permits must be a number");
  return { permits: 1, options: first };
}

export interface AskedPermitsToUse<Options, Body> extends AskedPermits<Options> {
  readonly body: Body;
}

/** Reads the arguments of `using(permits?, options?, body)` and `tryUsing`. */
export function askedToUse<Options extends object, Body>(
  method: "using" | "tryUsing",
  given: readonly unknown[],
): AskedPermitsToUse<Options, Body> {
  const body = given.at(-1);
  checkBody(method, body);
  const [first, second] = given.slice(0, -1) as [(number | Options)?, Options?];
  return { ...askedFor(first, second), body: body as Body };
}

/** The facts for a call that wants no permits. */
const WANTS_NOTHING: InVain = { permits: 0, waitedMs: 0, available: 0 };

/** The common part of both kinds of semaphores. */
export abstract class AnySemaphore<Granted, Options extends WaitOptions> {
  protected readonly count: Count;

  constructor(count: Count) {
    this.count = count;
  }

  get name(): string {
    return this.count.name;
  }

  toJSON(): object {
    const { name, kind } = this.count;
    return { name, kind };
  }

  /** The additional keys of the semaphore. */
  protected get belongings(): readonly string[] {
    return [savedPermitsKey(this.count.key)];
  }

  async trySetPermits(permits: number, settings: SemaphoreSettings = {}): Promise<boolean> {
    checkCount("permits", permits, 0, MOST_PERMITS);
    checkSemaphoreSettings(settings);
    const { client, key, channel } = this.count;
    client.assertOpen(this.count);
    const { ttlMs = 0 } = settings;
    const message = permits > 0 ? String(permits) : "";
    const { countTrySet } = await import("../protocol/later-count-scripts.js");
    const { status } = await change(this.count, countTrySet, (request) => ({
      count: key,
      request,
      value: permits,
      ttlMs,
      channel,
      message,
    }));
    return status === "set";
  }

  async addPermits(permits: number): Promise<void> {
    checkCount("permits", permits, -MOST_PERMITS, MOST_PERMITS);
    this.count.client.assertOpen(this.count);
    await this.add(permits);
  }

  async delete(): Promise<boolean> {
    const { client, key, channel } = this.count;
    client.assertOpen(this.count);
    const others = this.belongings;
    // Waiters are not notified: there are no permits.
    const deletion = { count: key, others, channel, message: "" };
    const { countDelete } = await import("../protocol/later-count-scripts.js");
    const { status } = await change(this.count, countDelete, (request) => ({ ...deletion, request }));
    return status === "deleted";
  }

  /**
   * Changes how many permits are available.
   * @returns whether the semaphore existed, or was created
   * @throws RangeError if there would be too many
   */
  protected async add(
    permits: number,
    { mustExist = false, goesOn = false }: { readonly mustExist?: boolean; readonly goesOn?: boolean } = {},
  ): Promise<boolean> {
    const { client, key, channel } = this.count;
    const { lines } = client;
    const looks = lines.waitedFor.has(channel) ? lines.look(channel) : undefined;
    const addition = { count: key, channel, permits, mustExist, most: MOST_PERMITS, looks };
    const added = await change(this.count, semaphoreAdd, (request) => ({ ...addition, request }), {
      goesOn,
      looks,
    });
    if (added.status === "too-many") {
      throw new RangeError(
        `"${this.name}" can not have more than ${MOST_PERMITS} permits: it has ${added.available}, and ${permits} were to be added`,
      );
    }
    return added.status === "added";
  }

  /** @throws TypeError, RangeError for wrong arguments */
  protected abstract sourceOf(asked: AskedPermits<Options>): PermitSource<Granted>;

  /**
   * @param asking throws for wrong arguments
   * @param defaultWaitMs how long to wait if the options do not say. Default: the client's `waitMs`
   * @param come makes the call's result, without permits if there were not enough in time; called in the caller's async context
   */
  protected take<T, A extends AskedPermits<Options>>(
    asking: () => A,
    defaultWaitMs: number | undefined,
    come: (granted: Granted | undefined, call: InVain, asked: A) => T | Promise<T>,
  ): Promise<T> {
    try {
      const asked = asking();
      const { permits, options } = asked;
      const source = this.sourceOf(asked);
      const { client } = this.count;
      client.assertOpen(this.count);
      const comeTo = (granted: Granted | undefined, call: InVain) => come(granted, call, asked);
      const { nothing } = source;
      if (nothing !== undefined) return Promise.resolve().then(() => comeTo(nothing, WANTS_NOTHING));
      if (options.signal?.aborted) throw reasonOf(options.signal);
      const waitMs = options.waitMs ?? defaultWaitMs ?? client.settings.waitMs;
      const waiter = client.newWaiter(waitMs, options.signal, this.count);
      waiter.note = source.terms.note;
      return acquirePermits(source, { permits, waiter, waits: waitMs !== 0 }, comeTo);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  protected orThrow(granted: Granted | undefined, { permits, waitedMs, available }: InVain): Granted {
    if (granted !== undefined) return granted;
    const wanted = `${permits === 1 ? "a permit" : `${permits} permits`} of "${this.name}"`;
    let seen = "";
    if (available === "unset") seen = ", which was never set: call trySetPermits(n) first";
    else if (available !== undefined) seen = ` (${available} available)`;
    throw new WaitTimeoutError(this.name, waitedMs, undefined, wanted + seen);
  }
}

showInLogs(AnySemaphore, "Semaphore");
