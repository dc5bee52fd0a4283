import { afterEach } from "vitest";
import type { HoldfastOptions } from "../../../src/client-options.js";
import type { Holdfast } from "../../../src/holdfast.js";
import { type FakeTime, fakeTime } from "./fake-time.js";

export type PermitExpirableSemaphore = ReturnType<Holdfast["getPermitExpirableSemaphore"]>;
export type Permits = Awaited<ReturnType<PermitExpirableSemaphore["acquire"]>>;

/** Where Redis keeps when the permits of the semaphore "a" expire. */
export const EXPIRIES = "{a}:timeout";
/** Where the waiters of the semaphore "a" listen. */
export const CHANNEL = "redisson_sc:{a}";
/** The score of permits that never expire. */
export const PERMANENT = 922_337_203_685_477;

/** What Redis knows of the semaphore "a". */
export interface StoredPermits {
  /** Undefined when there is no semaphore. */
  readonly available: number | undefined;
  /** How many are acquired, those included that have expired and were not taken back yet. */
  readonly acquired: number;
}

/** A server on which the semaphore "a" is tried, at a time of its own. */
export interface PermitTime extends FakeTime {
  /** "a" of the first client. */
  readonly semaphore: PermitExpirableSemaphore;
  stored(): StoredPermits;
  /** In how many milliseconds each acquired permit expires, the soonest first; infinite for permanent ones. */
  expiriesMs(): readonly number[];
}

/** As {@link fakeTime}; deletes the semaphore "a" after the test. */
export function permitTime(
  how: Parameters<typeof fakeTime>[0] = {},
): (options?: HoldfastOptions) => PermitTime {
  const open = fakeTime(how);
  const opened: FakeTime[] = [];
  // Before that of `fakeTime`: what is registered last runs first.
  afterEach(async () => {
    for (const { server, clock } of opened.splice(0)) {
      await clock.advance(0);
      server.command("DEL", "a", EXPIRIES);
    }
  });
  return (options) => {
    const time = open(options);
    opened.push(time);
    const { server, clock } = time;
    return {
      ...time,
      semaphore: time.holdfast.getPermitExpirableSemaphore("a"),
      stored() {
        const available = server.command("GET", "a");
        return {
          available: available === null ? undefined : Number(available),
          acquired: Number(server.command("ZCARD", EXPIRIES)),
        };
      },
      expiriesMs() {
        const flat = server.command("ZRANGE", EXPIRIES, 0, -1, "WITHSCORES");
        if (!Array.isArray(flat)) throw new TypeError("not a list");
        const scores = flat.filter((_, at) => at % 2 === 1).map(Number);
        return scores.map((score) =>
          score === PERMANENT ? Number.POSITIVE_INFINITY : score - clock.wallMs(),
        );
      },
    };
  };
}
