import { events } from "../events.js";

/** A client, with leases whose ends somebody may want to hear of. */
export interface Teller {
  tellEnds(): void;
}

/** Not kept alive by being here. */
const tellers = new Set<WeakRef<Teller>>();
let isWrapped = false;

/**
 * Calls `tellEnds` each time that somebody begins to listen to `holdfast:lease:lost`: leases that were taken before have no
 * alarms yet.
 * @returns what ends that
 */
export function whenListened(teller: Teller): () => void {
  if (!isWrapped) wrapSubscribe();
  const ref = new WeakRef(teller);
  tellers.add(ref);
  return () => void tellers.delete(ref);
}

/**
 * Node tells nobody that a channel has a new subscriber, and to look now and then would take a timer for each client with fixed
 * leases. So the channel gets a `subscribe` of its own, by which `diagnostics_channel.subscribe` goes as well.
 */
function wrapSubscribe(): void {
  isWrapped = true;
  const { leaseLost } = events;
  // That of another copy of this module, as ESM beside CommonJS.
  const other = Object.hasOwn(leaseLost, "subscribe") ? leaseLost.subscribe : undefined;
  leaseLost.subscribe = (listener) => {
    // With its first subscriber the channel changes its prototype, and its `subscribe` with that.
    const subscribe = other ?? Object.getPrototypeOf(leaseLost).subscribe;
    subscribe.call(leaseLost, listener);
    for (const teller of tellers) teller.deref()?.tellEnds();
  };
}
