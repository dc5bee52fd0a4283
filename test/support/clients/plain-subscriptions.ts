import type { Clock } from "../../../src/clock.js";
import type { Driver } from "../../../src/driver/driver.js";
import { HashedWheelTimer } from "../../../src/runtime/hashed-wheel-timer.js";
import { Subscriptions } from "../../../src/runtime/subscriptions.js";

/** The subscriptions of a client of one server. */
export function plainSubscriptions(driver: Driver, clock: Clock, timeoutMs: number): Subscriptions {
  const about = { clientId: "client", server: driver.traits.server };
  const commands = { about, timeoutMs, publishes: () => "classic" as const };
  return new Subscriptions({ driver, commands, wheel: new HashedWheelTimer(clock, 100) });
}
