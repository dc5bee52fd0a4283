// @ts-check
import { locks } from "./locks.js";

/**
 * Next's own handler of SIGTERM stops the server, lets open requests finish and exits. This one runs beside it: requests that wait for a lock are
 * rejected at once and do not hold that up, and those with a lock have ten seconds to finish.
 */
export function closeAtEnd() {
  process.once("SIGTERM", () => void locks().holdfast.close({ graceMs: 10_000 }));
}
