import { environment, OfEnvironment, type Weak } from "../environment.js";
import { events } from "../events.js";

/** A client, whose leases have no alarms while `holdfast:lease:lost` has no subscriber. */
export interface Teller {
  tellEnds(): void;
}

/** Weak, so that a client that was never closed can be collected. */
const tellers = new OfEnvironment(() => new Set<Weak<Teller>>());
let isWrapped = false;

/**
 * Calls `tellEnds` each time `holdfast:lease:lost` gets a subscriber, because earlier leases have no alarms yet.
 * @returns a function that stops these calls
 */
export function whenListened(teller: Teller): () => void {
  if (!isWrapped) wrapSubscribe();
  const ref = environment.weak(teller);
  const others = tellers.current;
  others.add(ref);
  return () => void others.delete(ref);
}

/**
 * Node has no event for a new subscriber, and polling would take a timer for each client with fixed leases. So the channel gets its own
 * `subscribe` method, which `diagnostics_channel.subscribe` also calls. See decision 31.
 */
function wrapSubscribe(): void {
  isWrapped = true;
  const { leaseLost } = events;
  // The channel may already have a method from another copy of this module: an ES module and a CommonJS module can be loaded together.
  const other = Object.hasOwn(leaseLost, "subscribe") ? leaseLost.subscribe : undefined;
  leaseLost.subscribe = (listener) => {
    // The channel changes its prototype at its first subscriber, so the prototype's `subscribe` is read each time.
    const subscribe = other ?? Object.getPrototypeOf(leaseLost).subscribe;
    subscribe.call(leaseLost, listener);
    for (const teller of tellers.current) teller.deref()?.tellEnds();
  };
}
