import { checkWait, shown } from "../checks.js";

/**
 * What a call does while another caller has the lock. `wait`: it waits up to `waitMs`. `skip`: it does not run the body, and its result
 * says so. `throw`: it rejects with a WaitTimeoutError at once.
 */
export type OnBusy = "wait" | "skip" | "throw";

/** How a call of a recipe reacts if another caller has the lock. */
export interface BusyOptions {
  /** Default: see the recipe. */
  readonly onBusy?: OnBusy | undefined;
  /** How long `onBusy: "wait"` waits, in milliseconds, until the call rejects with a WaitTimeoutError; `Infinity`: for ever. */
  readonly waitMs?: number | undefined;
}

const WAYS: readonly unknown[] = ["wait", "skip", "throw"] satisfies OnBusy[];

/**
 * `waitMs` alone means that the call waits.
 * @throws TypeError, RangeError
 */
export function onBusyOf({ onBusy, waitMs }: BusyOptions, usually: Exclude<OnBusy, "wait">): OnBusy {
  if (onBusy !== undefined && !WAYS.includes(onBusy))
    throw new TypeError(`onBusy must be "wait", "skip" or "throw", got ${shown(onBusy)}`);
  checkWait(waitMs);
  if (waitMs === undefined) {
    if (onBusy === "wait")
      throw new TypeError('onBusy: "wait" needs waitMs; { waitMs: Infinity } waits for ever');
    return onBusy ?? usually;
  }
  if (onBusy === "skip" || onBusy === "throw")
    throw new TypeError(`waitMs and onBusy: "${onBusy}" exclude each other: only onBusy: "wait" waits`);
  return "wait";
}
