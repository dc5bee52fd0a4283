import { AsyncResource } from "node:async_hooks";
import type { Clock } from "./clock.js";

/** The context in which holdfast was loaded. Code that does not belong to a single call runs in it. */
export const rootContext: AsyncResource = /* @__PURE__ */ new AsyncResource("holdfast", {
  requireManualDestroy: true,
});

/**
 * Runs `body` in the asynchronous context in which holdfast was loaded, not in the caller's. A socket, a timer or a loop that outlives a
 * call is started here. Otherwise it would keep the `AsyncLocalStorage` values of the request that started it, and run with them, as long
 * as it lives.
 */
export function inRootContext<T>(body: () => T): T {
  return rootContext.runInAsyncScope(body);
}

/** Captures the caller's async context, so that work can run in it later. */
export function presentContext(): AsyncResource {
  return new AsyncResource("holdfast", { requireManualDestroy: true });
}

/** A timer outlives the call that starts it, so it must not keep the call's async context, or run in it. */
export function clockInRootContext(clock: Clock): Clock {
  return {
    monotonicMs: clock.monotonicMs.bind(clock),
    wallMs: clock.wallMs.bind(clock),
    schedule: (delayMs, callback, keepAlive) =>
      inRootContext(() => clock.schedule(delayMs, () => inRootContext(callback), keepAlive)),
  };
}
