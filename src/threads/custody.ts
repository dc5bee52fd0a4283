import type { Clock } from "../clock.js";
import type { Confirmations } from "../runtime/confirmations.js";
import type { ExpiryAlarms } from "../runtime/expiry-alarms.js";
import type { Watchdog } from "../runtime/watchdog.js";
import type { Holding } from "./holding.js";
import type { Occupancy } from "./occupancy.js";

/** What a holding needs of its client. */
export interface Custody {
  readonly clock: Clock;
  readonly alarms: ExpiryAlarms;
  readonly watchdog: Watchdog;
  /** Keeps alive the holds of locks that several have at once. */
  readonly sharedWatchdog: Watchdog;
  /** How many stays have live holds of each lock. */
  readonly occupancy: Occupancy;
  /** Undefined where one server has all keys and never changes. */
  readonly confirmations: Confirmations | undefined;
  /** Is told each time that a holding may be over; harmless twice. */
  over(holding: Holding): void;
}
