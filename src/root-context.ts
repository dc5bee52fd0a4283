import { AsyncResource } from "node:async_hooks";
import type { Clock } from "./clock.js";

/** The context in which holdfast was loaded: that of what belongs to no single call. */
export const rootContext: AsyncResource = /* @__PURE__ */ new AsyncResource("holdfast", {
  requireManualDestroy: true,
});

/**
 * Runs `body` in the asynchronous context in which holdfast was loaded, not in the caller's. Whatever outlives a
 * call (a socket, a timer, a loop) is started in here; else it would keep the `AsyncLocalStorage` values of the
 * request that happened to start it, and run in them, for as long as it lives.
 */
export function inRootContext<T>(body: () => T): T {
  return rootContext.runInAsyncScope(body);
}

/** The async context of the code that calls this, to run in it later. */
export function presentContext(): AsyncResource {
  return new AsyncResource("holdfast", { requireManualDestroy: true });
}

/** A timer outlives the call that starts it, and so may not keep its async context, or run in it. */
export function clockInRootContext(clock: Clock): Clock {
  return {
    monotonicMs: clock.monotonicMs.bind(clock),
    wallMs: clock.wallMs.bind(clock),
    schedule: (delayMs, callback, keepAlive) =>
      inRootContext(() => clock.schedule(delayMs, () => inRootContext(callback), keepAlive)),
  };
}
