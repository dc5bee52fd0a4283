import { AsyncLocalStorage } from "node:async_hooks";
import {
  type AcquireEvent,
  type ContendedEvent,
  events,
  type RenewalDoneEvent,
  type WaitEnd,
} from "../../../src/events.js";
import type { Checker } from "./checker.js";

/**
 * What only ends the wait of a call that was told as contended. A call may also wait by its own clock to give back what came too late, and
 * for the release of an earlier hold under its chosen id.
 */
const ENDS_OF_WAITS: ReadonlySet<WaitEnd | undefined> = new Set<WaitEnd>([
  "message",
  "grant",
  "hand-off",
  "reconnect",
]);

/** Compares what events tell of the wait of each call: that it was contended, and what ended it. */
export class Waits {
  readonly #checker: Checker;
  /** The acquisition in whose async context something happens. */
  readonly #call = new AsyncLocalStorage<AcquireEvent>();
  /** Those that were told as contended. */
  readonly #contended = new WeakSet<AcquireEvent>();

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  begin(): void {
    events.acquire.start.bindStore(this.#call);
  }

  end(): void {
    events.acquire.start.unbindStore(this.#call);
    this.#call.disable();
  }

  contended({ name, kind, behind, holder, ttlMs }: ContendedEvent): void {
    const call = this.#call.getStore();
    // A red lock takes members again in the background, for a call that has ended.
    if (call === undefined || call.outcome !== undefined) return;
    const isWhole = behind >= 0 && (holder !== "" || ttlMs === -1);
    if (!isWhole)
      this.#fail(`${kind} "${name}" was told as contended by ${holder} for ${ttlMs} ms, ${behind} before it`);
    if (call.kind !== kind || call.name !== name) return;
    if (this.#contended.has(call)) this.#fail(`a call for ${kind} "${name}" was told as contended twice`);
    this.#contended.add(call);
  }

  ended(event: AcquireEvent): void {
    const { name, kind, outcome, via } = event;
    const about = `an acquisition of ${kind} "${name}"`;
    if ((outcome === "acquired") !== (via !== undefined))
      this.#fail(`${about} was told as ${outcome} by ${via}`);
    // Of several locks each is told by itself.
    if (/^(multi|red)-/.test(kind)) return;
    const isContended = this.#contended.has(event);
    if (via === "free" && isContended) this.#fail(`${about} was told as free at once, and as contended`);
    if (ENDS_OF_WAITS.has(via) && !isContended)
      this.#fail(`${about} waited for ${via}, and was not contended`);
  }

  renewed({ locks, lateMs, durationMs, leastRemainingMs }: RenewalDoneEvent): void {
    if (locks >= 1 && lateMs >= 0 && durationMs >= 0 && leastRemainingMs >= 0) return;
    this.#fail(
      `a renewal of ${locks} was ${lateMs} ms late, took ${durationMs} ms and left ${leastRemainingMs} ms`,
    );
  }

  #fail(what: string): void {
    this.#checker.fail("truth", what);
  }
}
