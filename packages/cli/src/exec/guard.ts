import type { Clock, Lease, LossReason, Timer } from "holdfast";
import { LeaseLostError } from "holdfast";

/**
 * The state of a command that runs under a lock.
 * - `running`: the lock is held.
 * - `lingering`: the command has ended, and other members of its group run on; they keep the lock.
 * - `stopping`: the lock is lost, or will be, and SIGTERM was sent.
 * - `killing`: SIGKILL was sent.
 * - `gone`: no process is left.
 */
export type GuardState = "running" | "lingering" | "stopping" | "killing" | "gone";

/** The command under the lock. */
export interface Guarded {
  send(signal: NodeJS.Signals): void;
  /** The processes that still run. */
  living(): readonly number[];
}

export interface GuardTerms {
  /** The time between SIGTERM and SIGKILL. */
  readonly killAfterMs: number;
  /** SIGKILL is sent when `remainingMs()` of the lease has fallen to this. */
  readonly lastMs: number;
}

/** Why the command was stopped. */
export interface Loss {
  readonly reason: LossReason | "unconfirmed" | "lease-ends" | "max-hold-ends";
}

/** A limit that the user has set: the lease then ends even if Redis answers. */
export interface Cap {
  readonly reason: "lease-ends" | "max-hold-ends";
  /** The approximate time, on the monotonic clock. */
  readonly endsAtMs: number;
}

/** Reports to the caller of the guard. */
export interface GuardNews {
  stopping(loss: Loss, killInMs: number): void;
  killing(loss: Loss | undefined): void;
  /** The command has ended; these processes still run. */
  lingering(pids: readonly number[]): void;
  /** SIGKILL has not ended these processes. */
  surviving(pids: readonly number[]): void;
}

/** A jump of the wall clock is noticed within this time. */
const LONGEST_PAUSE_MS = 1_000;
const SHORTEST_PAUSE_MS = 5;
/** A lease begins when the lock is requested, so it ends a little earlier than if it had begun when the lock was acquired. */
const CAP_TOLERANCE_MS = 1_000;

/**
 * Ends a command before `remainingMs()` of its lease reaches 0. It reads only the lease and the local clocks, and sends nothing to Redis.
 *
 * If renewals fail, SIGTERM is sent when `killAfterMs` plus `lastMs` remain, and SIGKILL when `lastMs` remains. If the lock was taken
 * away, SIGTERM is sent when the lease reports the loss, and SIGKILL after `killAfterMs`. Once SIGTERM was sent, a renewal that succeeds
 * changes nothing.
 */
export class Guard {
  /** Resolves when no process is left, with the loss if the lock was lost by then. */
  readonly over: Promise<Loss | undefined>;
  readonly #lease: Pick<Lease, "remainingMs" | "signal">;
  readonly #guarded: Guarded;
  readonly #terms: GuardTerms;
  readonly #clock: Clock;
  readonly #news: GuardNews;
  readonly #cap: Cap | undefined;
  #state: GuardState = "running";
  #loss: Loss | undefined;
  #hasEnded = false;
  /** When SIGKILL will be sent, on the monotonic clock. */
  #killAtMs = Number.POSITIVE_INFINITY;
  #pauseMs = SHORTEST_PAUSE_MS;
  #hasToldSurvivors = false;
  #timer: Timer | undefined;
  #resolve: (loss: Loss | undefined) => void = () => undefined;

  constructor(options: {
    readonly lease: Pick<Lease, "remainingMs" | "signal">;
    readonly guarded: Guarded;
    readonly terms: GuardTerms;
    readonly clock: Clock;
    readonly news: GuardNews;
    readonly cap: Cap | undefined;
  }) {
    this.#lease = options.lease;
    this.#guarded = options.guarded;
    this.#terms = options.terms;
    this.#clock = options.clock;
    this.#news = options.news;
    this.#cap = options.cap;
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#lease.signal.addEventListener("abort", this.look);
    this.look();
  }

  get state(): GuardState {
    return this.#state;
  }

  /** The command itself has ended; other members of its group may live. */
  commandEnded(): void {
    this.#hasEnded = true;
    this.#pauseMs = SHORTEST_PAUSE_MS;
    this.look();
    if (this.#state !== "running") return;
    this.#state = "lingering";
    this.#news.lingering(this.#guarded.living());
  }

  /** Sends SIGKILL after `killAfterMs`, or earlier if an earlier time was already set. @returns the milliseconds until then */
  killLater(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#killAtMs = Math.min(this.#killAtMs, nowMs + this.#terms.killAfterMs);
    this.look();
    return Math.max(0, this.#killAtMs - nowMs);
  }

  /** Sends SIGKILL at once. */
  kill(): void {
    this.#killAtMs = Number.NEGATIVE_INFINITY;
    this.look();
  }

  /** Checks the lease and the running processes, and sends the signals that are due. */
  readonly look = (): void => {
    if (this.#state === "gone") return;
    this.#timer?.cancel();
    const trustedMs = this.#lease.remainingMs();
    if (this.#hasEnded && this.#guarded.living().length === 0) {
      this.#end(trustedMs);
      return;
    }
    this.#noticeLoss(trustedMs);
    if (this.#isKillDue(trustedMs)) this.#kill();
    this.#timer = this.#clock.schedule(this.#nextLookMs(trustedMs), this.look, true);
  };

  #noticeLoss(trustedMs: number): void {
    const { killAfterMs, lastMs } = this.#terms;
    if (this.#loss !== undefined || trustedMs > killAfterMs + lastMs) return;
    const loss: Loss = { reason: this.#reasonOf(trustedMs) };
    this.#loss = loss;
    if (this.#state !== "killing") this.#state = "stopping";
    const nowMs = this.#clock.monotonicMs();
    const killAtMs = isSudden(loss) ? nowMs + killAfterMs : nowMs + trustedMs - lastMs;
    this.#killAtMs = Math.min(this.#killAtMs, killAtMs);
    if (this.#killAtMs <= nowMs) return;
    this.#guarded.send("SIGTERM");
    this.#news.stopping(loss, this.#killAtMs - nowMs);
  }

  #reasonOf(trustedMs: number): Loss["reason"] {
    if (trustedMs > 0) {
      const cap = this.#cap;
      const endMs = this.#clock.monotonicMs() + trustedMs;
      return cap !== undefined && endMs > cap.endsAtMs - CAP_TOLERANCE_MS ? cap.reason : "unconfirmed";
    }
    const { reason } = this.#lease.signal;
    return reason instanceof LeaseLostError ? reason.reason : "expired";
  }

  #isKillDue(trustedMs: number): boolean {
    if (this.#clock.monotonicMs() >= this.#killAtMs) return true;
    // The lease may end earlier than was expected when SIGTERM was sent, for example after a jump of the wall clock.
    return this.#loss !== undefined && !isSudden(this.#loss) && trustedMs <= this.#terms.lastMs;
  }

  #kill(): void {
    // Repeated, because another process may just have joined the group.
    this.#guarded.send("SIGKILL");
    if (this.#state !== "killing") {
      this.#state = "killing";
      this.#pauseMs = SHORTEST_PAUSE_MS;
      this.#news.killing(this.#loss);
    }
    if (this.#hasToldSurvivors || this.#pauseMs < LONGEST_PAUSE_MS) return;
    const pids = this.#guarded.living();
    this.#hasToldSurvivors = pids.length > 0;
    if (pids.length > 0) this.#news.surviving(pids);
  }

  #nextLookMs(trustedMs: number): number {
    const { killAfterMs, lastMs } = this.#terms;
    const isWaiting = this.#hasEnded || this.#state === "killing";
    if (isWaiting) this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    const ends = [
      LONGEST_PAUSE_MS,
      isWaiting ? this.#pauseMs : LONGEST_PAUSE_MS,
      this.#state === "killing" ? LONGEST_PAUSE_MS : this.#killAtMs - this.#clock.monotonicMs(),
      this.#loss === undefined ? trustedMs - killAfterMs - lastMs : LONGEST_PAUSE_MS,
    ];
    return Math.max(0, Math.min(...ends));
  }

  #end(trustedMs: number): void {
    this.#state = "gone";
    // The lease is over, so this process was suspended. The last process of the command may have outlived the lease.
    if (trustedMs <= 0) this.#loss ??= { reason: this.#reasonOf(trustedMs) };
    this.#lease.signal.removeEventListener("abort", this.look);
    this.#resolve(this.#loss);
  }
}

/** Whether the lock was taken away although its lease was not over. */
function isSudden({ reason }: Loss): boolean {
  return reason === "stolen" || reason === "server-changed" || reason === "closed";
}
