import type { Clock } from "../clock.js";
import type { Confirmations } from "../runtime/confirmations.js";
import type { ExpiryAlarms } from "../runtime/expiry-alarms.js";
import type { Watchdogs } from "../runtime/watchdogs.js";
import type { TellLoss } from "./held.js";
import type { Occupancy } from "./occupancy.js";

/** The services that a stay gets from its client. */
export interface Custody<Stay> {
  readonly clock: Clock;
  readonly alarms: ExpiryAlarms;
  /** Renew the holds. Shared locks have their own watchdogs. */
  readonly watchdogs: Watchdogs;
  /** How many stays have live holds of each lock. */
  readonly occupancy: Occupancy;
  /** Undefined if one server has all keys and never changes. */
  readonly confirmations: Confirmations | undefined;
  readonly tellLoss: TellLoss;
  /** Called each time a stay may have ended; harmless if called twice. */
  over(stay: Stay): void;
}
