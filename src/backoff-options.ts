import { checkObject, duration, known, refuseUnknown } from "./checks.js";

/** How a spin lock sleeps between attempts. */
export type Backoff = ExponentialBackoff | ConstantBackoff;

/** Each pause is a multiple of the one before, with a growing random part on top, up to `maxDelayMs`. */
export interface ExponentialBackoff {
  readonly type: "exponential";
  /** Milliseconds. Default: 1. */
  readonly initialDelayMs?: number;
  /** Milliseconds. Default: 128, or `initialDelayMs` if that is longer. */
  readonly maxDelayMs?: number;
  /** Default: 2. */
  readonly multiplier?: number;
}

/** All pauses are equal. */
export interface ConstantBackoff {
  readonly type: "constant";
  /** Milliseconds. Default: 64. */
  readonly delayMs?: number;
}

const CONSTANT_BACKOFF = known<ConstantBackoff>("setting", "backoff", { type: true, delayMs: true });
const EXPONENTIAL_BACKOFF = known<ExponentialBackoff>("setting", "backoff", {
  type: true,
  initialDelayMs: true,
  maxDelayMs: true,
  multiplier: true,
});

/** @throws TypeError, RangeError naming the setting that is wrong */
export function checkBackoff(backoff: Backoff): void {
  checkObject("backoff", backoff);
  switch (backoff.type) {
    case "constant": {
      const { type: _, delayMs, ...unknown } = backoff;
      refuseUnknown(CONSTANT_BACKOFF, unknown);
      duration("backoff.delayMs", delayMs, 1);
      return;
    }
    case "exponential": {
      const { type: _, initialDelayMs, maxDelayMs, multiplier = 1, ...unknown } = backoff;
      refuseUnknown(EXPONENTIAL_BACKOFF, unknown);
      duration("backoff.initialDelayMs", initialDelayMs, 1);
      duration("backoff.maxDelayMs", maxDelayMs, initialDelayMs ?? 1);
      if (typeof multiplier !== "number") throw new TypeError("backoff.multiplier must be a number");
      if (!(multiplier >= 1 && multiplier < Number.POSITIVE_INFINITY)) {
        throw new RangeError(`backoff.multiplier must be at least 1, got ${multiplier}`);
      }
      return;
    }
    default:
      throw new TypeError('backoff.type must be "exponential" or "constant"');
  }
}
