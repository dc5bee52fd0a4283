import type { Clock, Timer } from "../clock.js";
import { events } from "../events.js";
import type { Script } from "../protocol/define-script.js";
import type { RenewAnswer, Renewal } from "../protocol/lock-calls.js";
import { batches } from "./batches.js";
import { wasRefused } from "./command-failures.js";
import type { Commands } from "./commands.js";
import type { HashedWheelTimer } from "./hashed-wheel-timer.js";
import { type Instant, now } from "./instant.js";
import type { Shortfall } from "./replication.js";

/** One lock's field in Redis, which the watchdog keeps alive. */
export interface Renewable {
  readonly key: string;
  /** The watchdog that renews the field; undefined: none does. Set by the watchdog. */
  watchdog: Watchdog | undefined;
  /**
   * True while the field is being renewed, or waits for the next try. The regular renewal skips the field meanwhile. Set by the watchdog.
   */
  underRenewal: boolean;
  /** The renewal that the field needs now, just after it was seen alive. */
  renewal(): Renewal;
  /**
   * False: the field is lost or released, and must not be renewed any more.
   * @param at the current time
   */
  isAlive(at: Instant): boolean;
  /**
   * @param sentAt just before the renewal was sent
   * @param at the current time
   */
  renewed(sentAt: Instant, at: Instant): void;
  /** The field is gone in Redis. @returns false if the renewal is outdated */
  gone(): boolean;
  /** A renewal is about to be sent. */
  renewing(): void;
  /** How much longer the shortest renewed lease certainly lasts; Infinity if there is none. @param at the current time */
  leastMs(at: Instant): number;
}

/** Like Redisson's lockWatchdogBatchSize: a script call for more would keep the server from other commands for too long. */
const BATCH_SIZE = 100;
/** The lease is renewed every third of its length, so that two renewals in a row may fail. */
const RENEWALS_PER_LEASE = 3;
const FIRST_RETRY_MS = 100;
/** The pauses between tries grow up to this part of the lease, so that a recovered server is asked in time. */
const RETRIES_PER_LEASE = 30;
/** A renewal without an answer is given up after this part of the lease at the latest, so that further tries fit into the lease. */
const ANSWERS_PER_LEASE = 6;

/**
 * Renews its fields together, at a beat every third of the lease, so that n locks cost n / 100 commands. Without fields to renew, it has no
 * timer. It keeps no list of its own, because most locks are taken and released between two beats: see decision 23.
 */
export class Watchdog {
  readonly #commands: Commands;
  readonly #clock: Clock;
  readonly #wheel: HashedWheelTimer;
  readonly #script: Script<readonly Renewal[], readonly RenewAnswer[]>;
  /** The shortest lease that has to be kept alive. */
  readonly leaseMs: number;
  readonly #held: () => Iterable<Renewable>;
  #beat: Timer | undefined;

  /**
   * @param leaseMs the shortest lease that has to be kept alive
   * @param held everything that may be watched
   */
  constructor(
    commands: Commands,
    clock: Clock,
    wheel: HashedWheelTimer,
    script: Script<readonly Renewal[], readonly RenewAnswer[]>,
    leaseMs: number,
    held: () => Iterable<Renewable>,
  ) {
    this.#commands = commands;
    this.#clock = clock;
    this.#wheel = wheel;
    this.#script = script;
    this.leaseMs = leaseMs;
    this.#held = held;
  }

  add(renewable: Renewable): void {
    renewable.watchdog = this;
    if (this.#beat === undefined) this.#schedule();
  }

  remove(renewable: Renewable): void {
    if (renewable.watchdog === undefined) return;
    renewable.watchdog = undefined;
    renewable.underRenewal = false;
  }

  stop(): void {
    for (const renewable of this.#watched) this.remove(renewable);
    this.#beat?.cancel();
    this.#beat = undefined;
  }

  get #watched(): readonly Renewable[] {
    return [...this.#held()].filter(({ watchdog }) => watchdog === this);
  }

  /** A beat that finds nothing to renew sets no further timer. Locks that are taken and released between two beats set no timer. */
  #schedule(): void {
    const periodMs = this.leaseMs / RENEWALS_PER_LEASE;
    const beatMs = this.#clock.monotonicMs() + periodMs;
    this.#beat = this.#wheel.schedule(periodMs, () => {
      this.#beat = undefined;
      const watched = this.#watched;
      if (watched.length === 0) return;
      this.#schedule();
      const due = watched.filter(({ underRenewal }) => !underRenewal);
      for (const batch of batches(this.#commands, due, BATCH_SIZE)) {
        void this.#renew(batch, { beatMs, retryMs: FIRST_RETRY_MS });
      }
    });
  }

  /** Never rejects. Tries again until each field is renewed or no longer held. */
  async #renew(batch: readonly Renewable[], turn: BeatTry): Promise<void> {
    let wanted = this.#wantedOf(batch);
    if (wanted.length === 0) return;
    for (const renewable of wanted) {
      renewable.underRenewal = true;
      renewable.renewing();
    }
    try {
      let isFresh = true;
      let leastMs: number | undefined;
      const renewals = () => {
        // A later sending leaves out the fields that were released meanwhile, perhaps all of them.
        if (!isFresh) wanted = this.#wantedOf(wanted);
        leastMs = events.renewalDone.hasSubscribers ? leastOf(wanted, now(this.#clock)) : undefined;
        return wanted.map((renewable) => renewable.renewal());
      };
      const timeoutMs = Math.min(this.#commands.timeoutMs, this.leaseMs / ANSWERS_PER_LEASE);
      const patience = { timeoutMs, divisible: wanted.length > 1 };
      const [{ key = "" } = {}] = wanted;
      const exchanged = this.#commands.exchange(this.#script, key, renewals, patience);
      isFresh = false;
      const { reply, sentAt, shortfall } = await exchanged;
      const last = reply.at(-1);
      const answered = { sentAt, at: now(this.#clock), shortfall };
      // All of its fields may have been released meanwhile.
      if (leastMs !== undefined && wanted.length > 0) this.#tell(wanted.length, turn, answered, leastMs);
      const unsettled = wanted.filter((renewable, i) => !this.#settle(renewable, reply[i] ?? last, answered));
      if (unsettled.length > 0) this.#retry(unsettled, turn, new Error(complaint(shortfall)));
    } catch (error) {
      if (wanted.length > 1 && wasRefused(error)) {
        // One bad key may fail a whole call. So each field is sent by itself, and the good ones are renewed.
        for (const renewable of wanted) void this.#renew([renewable], turn);
      } else {
        this.#retry(wanted, turn, error);
      }
    }
  }

  /** @returns false if the renewal must be tried again */
  #settle(
    renewable: Renewable,
    answer: RenewAnswer | undefined,
    { sentAt, at, shortfall }: RenewalFacts,
  ): boolean {
    // The watchdog gave up the field while the renewal was under way, for example because the hold was released: the answer no longer
    // matters.
    if (renewable.watchdog !== this) return true;
    // If too few replicas have the renewal, it does not count.
    const short = answer?.status === "renewed" && shortfall !== undefined;
    if (answer?.status !== "refused" && !short) renewable.underRenewal = false;
    switch (answer?.status) {
      case "renewed":
        if (!short) renewable.renewed(sentAt, at);
        return !short;
      case "lost":
        // A renewal that a release has overtaken is sent again at the next beat.
        if (renewable.gone()) this.remove(renewable);
        return true;
      default:
        return false;
    }
  }

  #retry(batch: readonly Renewable[], turn: BeatTry, error: unknown): void {
    const wanted = this.#wantedOf(batch);
    if (wanted.length === 0) return;
    if (events.renewalFailed.hasSubscribers) {
      events.renewalFailed.publish({ ...this.#commands.about, locks: wanted.length, error });
    }
    const retryMs = Math.min(2 * turn.retryMs, this.leaseMs / RETRIES_PER_LEASE);
    this.#wheel.schedule(turn.retryMs, () => void this.#renew(wanted, { ...turn, retryMs }));
  }

  #tell(locks: number, { beatMs }: BeatTry, { sentAt, at }: RenewalFacts, leastMs: number): void {
    events.renewalDone.publish({
      ...this.#commands.about,
      locks,
      lateMs: Math.max(0, Math.round(sentAt.monotonicMs - beatMs)),
      durationMs: Math.round(at.monotonicMs - sentAt.monotonicMs),
      leastRemainingMs: Math.floor(leastMs),
    });
  }

  #wantedOf(batch: readonly Renewable[]): readonly Renewable[] {
    const at = now(this.#clock);
    return batch.filter((renewable) => {
      if (renewable.watchdog !== this) return false;
      const isWanted = renewable.isAlive(at);
      if (!isWanted) this.remove(renewable);
      return isWanted;
    });
  }
}

/** One try of a beat's renewals. */
interface BeatTry {
  /** When the beat was due, on the monotonic clock. */
  readonly beatMs: number;
  /** The pause before the next try. */
  readonly retryMs: number;
}

/** The facts that all renewals of one command share. */
interface RenewalFacts {
  readonly sentAt: Instant;
  /** When the answer came. */
  readonly at: Instant;
  readonly shortfall: Shortfall | undefined;
}

function leastOf(wanted: readonly Renewable[], at: Instant): number {
  return wanted.reduce((ms, renewable) => Math.min(ms, renewable.leastMs(at)), Number.POSITIVE_INFINITY);
}

function complaint(shortfall: Shortfall | undefined): string {
  if (shortfall === undefined) return "the server refused to renew some locks";
  return `${shortfall.acknowledged} of ${shortfall.wanted} required replicas acknowledged the renewal in time`;
}
