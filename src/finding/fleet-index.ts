import type { PresentHold, PresentWait } from "../presence/claims.js";
import type { ClientPresence } from "../presence/fleet.js";
import type { ClientRef } from "./listed-lock.js";

/** The report of one client about one hold. */
export interface ToldHold extends PresentHold {
  readonly client: ClientRef;
}

/** The report of one client about one wait. */
export interface ToldWait extends PresentWait {
  readonly client: ClientRef;
}

interface ToldOfKey {
  readonly holds: ToldHold[];
  readonly waits: ToldWait[];
}

const NOTHING: ToldOfKey = { holds: [], waits: [] };

/**
 * The reports of all clients, by client and by key. Its size grows with the fleet: each client reports at most a few hundred holds and
 * waits.
 */
export class FleetIndex {
  readonly #clients = new Map<string, ClientRef>();
  readonly #told = new Map<string, ToldOfKey>();

  add({ id, app, host, pid, state, lastSeenMs, labels, holds, waits }: ClientPresence): void {
    const client: ClientRef = { id, app, host, pid, state, lastSeenMs, labels };
    this.#clients.set(id, client);
    for (const hold of holds) this.#of(hold.key).holds.push({ ...hold, client });
    for (const wait of waits) this.#of(wait.key).waits.push({ ...wait, client });
  }

  /** The keys that some client holds or waits for. */
  keys(): IterableIterator<string> {
    return this.#told.keys();
  }

  client(id: string): ClientRef | null {
    return this.#clients.get(id) ?? null;
  }

  told(key: string): Readonly<ToldOfKey> {
    return this.#told.get(key) ?? NOTHING;
  }

  has(key: string): boolean {
    return this.#told.has(key);
  }

  #of(key: string): ToldOfKey {
    const known = this.#told.get(key);
    if (known !== undefined) return known;
    const told: ToldOfKey = { holds: [], waits: [] };
    this.#told.set(key, told);
    return told;
  }
}
