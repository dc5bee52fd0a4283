import { checkFlag, checkObject, duration, known, refuseUnknown } from "./checks.js";

/** How to close a client. */
export interface CloseOptions {
  /**
   * Also releases everything that is still held. Otherwise other clients wait until the TTL ends; for permits of a plain semaphore, they
   * wait for ever. Default: false.
   */
  readonly releaseHeld?: boolean;
  /** How long the bodies of `using`, `run` and `asThread` may go on, in milliseconds. Default: 0. */
  readonly graceMs?: number;
}

const CLOSE_OPTIONS = known<CloseOptions>("option", "close", { releaseHeld: true, graceMs: true });

/** @throws TypeError, RangeError naming the option that is wrong */
export function closeSettings(options: CloseOptions): Required<CloseOptions> {
  checkObject("options", options);
  const { graceMs = 0, releaseHeld = false, ...unknown } = options;
  refuseUnknown(CLOSE_OPTIONS, unknown);
  duration("graceMs", graceMs, 0);
  checkFlag("releaseHeld", releaseHeld);
  return { graceMs, releaseHeld };
}
