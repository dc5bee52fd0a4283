import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";

/** What a server has of one lock: its hash, from a moment on. */
export interface StoredLock {
  /** Field and value, as stored. */
  readonly fields: ReadonlyMap<string, string>;
  readonly fromUs: number;
  /** When its key runs out; Infinity: never. */
  readonly endsUs: number;
}

const US = 1_000;
const NOTHING: StoredLock = { fields: new Map(), fromUs: 0, endsUs: Number.POSITIVE_INFINITY };

/** Remembers what each server has had of each lock, as the scripts found and left it. */
export class Keyspace {
  readonly #time: VirtualTime;
  /** By name, and by server: from first to last. */
  readonly #states = new Map<string, Map<string, StoredLock[]>>();

  constructor(time: VirtualTime, names: readonly string[]) {
    this.#time = time;
    for (const name of names) this.#states.set(name, new Map());
  }

  knows(name: string): boolean {
    return this.#states.has(name);
  }

  /** Looks what a server has of a lock. @returns what it had, and what it has */
  look(
    server: SimServer,
    name: string,
  ): { readonly before: StoredLock; readonly after: StoredLock } | undefined {
    const byServer = this.#states.get(name);
    if (byServer === undefined) return undefined;
    const states = byServer.get(server.name) ?? [NOTHING];
    byServer.set(server.name, states);
    const before = states.at(-1) ?? NOTHING;
    const after = this.#read(server, name);
    if (!isSame(before, after)) states.push(after);
    return { before, after };
  }

  /** What a server has of a lock, as the latest script that named it has left it. */
  latest(server: SimServer, name: string): StoredLock {
    const latest = this.#states.get(name)?.get(server.name)?.at(-1) ?? NOTHING;
    return latest.endsUs <= this.#time.nowUs ? { ...NOTHING, fromUs: latest.endsUs } : latest;
  }

  /** All that a server with this lock has had since then. */
  since(name: string, sinceUs: number): readonly StoredLock[] {
    const { nowUs } = this.#time;
    const all = [...(this.#states.get(name)?.values() ?? [])];
    if (all.length === 0) return [NOTHING];
    return all.flatMap((states) => {
      const first = Math.max(
        0,
        states.findLastIndex(({ fromUs }) => fromUs <= sinceUs),
      );
      return states.slice(first).flatMap((state, at, rest) => {
        const untilUs = rest[at + 1]?.fromUs ?? nowUs;
        return state.endsUs <= untilUs + US ? [state, { ...NOTHING, fromUs: state.endsUs }] : [state];
      });
    });
  }

  #read(server: SimServer, name: string): StoredLock {
    const { nowUs } = this.#time;
    const flat = server.command("HGETALL", name) as readonly string[];
    if (flat.length === 0) return { ...NOTHING, fromUs: nowUs };
    const fields = new Map<string, string>();
    for (let at = 0; at < flat.length; at += 2) fields.set(flat[at] ?? "", flat[at + 1] ?? "");
    const ttlMs = Number(server.command("PTTL", name));
    return { fields, fromUs: nowUs, endsUs: ttlMs < 0 ? Number.POSITIVE_INFINITY : nowUs + ttlMs * US };
  }
}

/** A TTL is told in whole milliseconds. */
function isSame(one: StoredLock, other: StoredLock): boolean {
  if (one.fields.size !== other.fields.size || Math.abs(one.endsUs - other.endsUs) > US) return false;
  return [...one.fields].every(([field, value]) => other.fields.get(field) === value);
}
