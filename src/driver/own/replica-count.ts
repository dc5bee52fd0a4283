import { type Clock, systemClock } from "../../clock.js";
import { type ReplicaDemand, ServerReplyError } from "../driver.js";
import type { CommandConnection } from "./connection.js";

/** After this many milliseconds the replicas are counted again. */
const COUNT_AGAIN_MS = 5_000;
const MORE_THAN_THERE_ARE = 1_000;
const AT_ONCE_MS = 10;
/**
 * After some replicas have been slow, a call now and then waits for all replicas again. Such a call is a trial. The first trial lasts 100
 * ms and each next one twice as long, up to 1.6 s, because acknowledgements may take that long.
 */
const FIRST_TRIAL_MS = 100;
const LONGEST_TRIAL_MS = 1_600;
/** The pause between two trials is this many times as long as a trial, so that trials take about a tenth of the time. */
const PAUSE_PER_TRIAL = 10;

/** How many replicas a call wants, and for how many of them it waits. */
export interface WantedReplicas {
  readonly wanted: number;
  readonly needed: number;
  /** When the wait ends, on the monotonic clock. */
  readonly untilMs: number;
}

/** How many replicas one master has, and how many of them keep up. */
export class ReplicaCount {
  readonly #clock: Clock;
  /** The number of connected replicas; undefined while it is unknown. */
  #connected: { readonly count: number; readonly atMs: number } | undefined;
  /** The largest number of connected replicas since the Sentinels last confirmed this master. */
  #expected = 0;
  /** Whether any replica was ever connected. */
  #hadAny = false;
  /** How many replicas acknowledged in time on the last occasion when some of them were too slow; undefined while all keep up. */
  #keepUp: { readonly count: number; readonly trialMs: number; readonly untilMs: number } | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Counts the connected replicas, if one of these demands depends on their number. Rejects when the connection is lost. */
  async look(
    link: CommandConnection,
    demands: readonly ReplicaDemand[],
    toError: (error: unknown) => unknown,
  ): Promise<void> {
    if (demands.every(({ replicas }) => typeof replicas === "number")) return;
    const nowMs = this.#clock.monotonicMs();
    if (this.#connected !== undefined && nowMs - this.#connected.atMs < COUNT_AGAIN_MS) return;
    const info = await link.send(["INFO", "replication"]).catch((error: unknown) => {
      if (toError(error) instanceof ServerReplyError) return "";
      throw error;
    });
    const [, told] = /connected_slaves:(\d+)/.exec(String(info)) ?? [];
    // If this user lacks the right to run INFO, WAIT counts the replicas that have the latest write by now.
    const count = Number(told ?? (await askReplicas(link, MORE_THAN_THERE_ARE, AT_ONCE_MS)) ?? 0);
    this.#connected = { count, atMs: nowMs };
    this.#expected = Math.max(this.#expected, count);
    if (count > 0) this.#hadAny = true;
  }

  get connected(): number | undefined {
    return this.#connected?.count;
  }

  /** Whether fewer replicas are connected than when this master was last confirmed: the missing ones may follow another master. */
  get hasFewer(): boolean {
    return (this.connected ?? 0) < this.#expected;
  }

  /** The Sentinels have confirmed that this server is the master, at a time when this many replicas were connected. */
  confirmed(connected: number): void {
    this.#expected = Math.max(connected, this.connected ?? 0);
  }

  /** What a call that is sent now wants. */
  of({ replicas, timeoutMs }: ReplicaDemand): WantedReplicas {
    const nowMs = this.#clock.monotonicMs();
    const connected = this.#connected?.count ?? 0;
    // A master that has lost all its replicas may have been replaced: the replicas may follow another master by now.
    if (replicas === "connected" && connected === 0 && this.#hadAny)
      return { wanted: 1, needed: 0, untilMs: nowMs };
    const wanted = numberOf(replicas, connected);
    const keepUp = replicas === "connected" ? this.#keepUp : undefined;
    if (keepUp === undefined) return { wanted, needed: wanted, untilMs: nowMs + timeoutMs };
    // `connected` waits only for the replicas that keep up, and now and then tries whether all replicas keep up again.
    if (nowMs < keepUp.untilMs) {
      return { wanted, needed: Math.min(wanted, keepUp.count), untilMs: nowMs + timeoutMs };
    }
    return { wanted, needed: wanted, untilMs: nowMs + Math.min(timeoutMs, keepUp.trialMs) };
  }

  /** A call was answered after `acknowledged` replicas had acknowledged. */
  answered(acknowledged: number, { wanted, needed }: WantedReplicas): void {
    if (acknowledged >= wanted) {
      this.#keepUp = undefined;
    } else if (acknowledged < needed) {
      this.#connected = undefined;
      const nowMs = this.#clock.monotonicMs();
      const trialMs = this.#nextTrialMs(nowMs);
      this.#keepUp = { count: acknowledged, trialMs, untilMs: nowMs + PAUSE_PER_TRIAL * trialMs };
    }
  }

  #nextTrialMs(nowMs: number): number {
    if (this.#keepUp === undefined) return FIRST_TRIAL_MS;
    const { trialMs, untilMs } = this.#keepUp;
    return nowMs < untilMs ? trialMs : Math.min(2 * trialMs, LONGEST_TRIAL_MS);
  }

  forget(): void {
    this.#connected = undefined;
    this.#keepUp = undefined;
  }
}

/** How many replicas have all writes of this connection; undefined when WAIT fails. */
export function askReplicas(
  link: CommandConnection,
  replicas: number,
  timeoutMs: number,
): Promise<number | undefined> {
  return link.send(["WAIT", String(replicas), String(timeoutMs)]).then(Number, () => undefined);
}

function numberOf(replicas: ReplicaDemand["replicas"], connected: number): number {
  switch (replicas) {
    case "connected":
      return connected;
    case "all":
      return Math.max(1, connected);
    case "majority":
      return Math.floor(connected / 2) + 1;
    default:
      return replicas;
  }
}
