// #region logs
import { events } from "holdfast";
import type { Logger } from "pino";

export function logLocks(log: Logger): void {
  events.leaseLost.subscribe((event) => {
    if (event.reason === "closed") log.info(event, "lease ended with its client");
    else log.error(event, "lease lost");
  });
  events.leaseAbandoned.subscribe((event) => log.error(event, "lease forgotten without a release"));
  events.forced.subscribe((event) => log.warn(event, "lock freed by force"));
  events.serverUnsuited.subscribe((event) => log.warn(event, "server is no place for locks"));
  // `err` is what pino writes with its stack.
  events.releaseFailed.subscribe(({ error: err, ...event }) => log.warn({ ...event, err }, "release failed"));
  events.renewalFailed.subscribe(({ error: err, ...event }) => log.warn({ ...event, err }, "renewal failed"));
  events.subscriptionFailed.subscribe(({ error: err, ...event }) =>
    log.warn({ ...event, err }, "no messages for a while"),
  );
}
// #endregion
