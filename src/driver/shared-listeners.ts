import type { EventEmitter } from "node:events";

type EmitterListener = Parameters<EventEmitter["off"]>[1];

/** The members of an event-emitting client that the adapters use. */
interface Emitter extends Pick<EventEmitter, "off"> {
  on(event: string | symbol, listener: EmitterListener): unknown;
}

/** The one listener that is attached to an emitter, and the listeners that it calls. */
interface Shared {
  readonly listeners: Set<EmitterListener>;
  readonly attached: EmitterListener;
}

const known = new WeakMap<object, Map<string | symbol, Shared>>();

/**
 * Listens to the caller's client with one listener for each event, even if many drivers share that client: Node warns of a leak when an
 * event has more than ten listeners.
 */
export function listen(emitter: Emitter, event: string | symbol, listener: EmitterListener): void {
  const events = known.get(emitter) ?? new Map<string | symbol, Shared>();
  known.set(emitter, events);
  const shared = events.get(event) ?? attach(emitter, event);
  events.set(event, shared);
  shared.listeners.add(listener);
}

/**
 * Ends the listening that `listen` began. Safe twice.
 * @param detaches whether the last driver to stop listening removes the shared listener from the emitter. Default: true
 */
export function unlisten(
  emitter: Emitter,
  event: string | symbol,
  listener: EmitterListener,
  detaches = true,
): void {
  const events = known.get(emitter);
  const shared = events?.get(event);
  shared?.listeners.delete(listener);
  if (shared === undefined || shared.listeners.size > 0 || !detaches) return;
  events?.delete(event);
  emitter.off(event, shared.attached);
}

function attach(emitter: Emitter, event: string | symbol): Shared {
  const listeners = new Set<EmitterListener>();
  const attached: EmitterListener = (...args) => {
    for (const listener of [...listeners]) listener(...args);
  };
  emitter.on(event, attached);
  return { listeners, attached };
}
