import { fairQueueKey, waitingWriterKey } from "../../../src/protocol/names.js";
import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";

/** From when to when somebody had a lock, or stood in its queue, as its server has it. */
interface Spell {
  readonly fromUs: number;
  untilUs: number;
}

const US = 1_000;

/** Remembers when each lock was taken, as Redis had it. */
export class Occupied {
  readonly #time: VirtualTime;
  /** By name, and by the server that has it. */
  readonly #spells = new Map<string, Map<string, Spell[]>>();

  /** When each process last asked for a lock, by `<process> <name>`. */
  readonly #askedUs = new Map<string, number>();

  constructor(time: VirtualTime, names: readonly string[]) {
    this.#time = time;
    for (const name of names) this.#spells.set(name, new Map());
  }

  /** A script has run that names these keys. */
  look(server: SimServer, keys: readonly string[], by: string, acquires = true): void {
    for (const key of keys) {
      const byServer = this.#spells.get(key);
      if (byServer === undefined) continue;
      const spells = byServer.get(server.name) ?? [];
      byServer.set(server.name, spells);
      if (acquires) this.#askedUs.set(`${by} ${key}`, this.#time.nowUs);
      const ttlMs = server.ttlMs(key);
      const queued = server.ttlMs(fairQueueKey(key)) !== -2 || server.ttlMs(waitingWriterKey(key)) !== -2;
      const isTaken = ttlMs !== -2 || queued;
      const { nowUs } = this.#time;
      const last = spells.at(-1);
      const isOn = last !== undefined && last.untilUs >= nowUs;
      const untilUs = queued || ttlMs < 0 ? Number.POSITIVE_INFINITY : nowUs + ttlMs * US;
      if (isTaken && isOn) last.untilUs = untilUs;
      else if (isTaken) spells.push({ fromUs: nowUs, untilUs });
      else if (isOn) last.untilUs = nowUs;
    }
  }

  /** Whether a process has asked for it since then. */
  wasAsked(name: string, by: string, sinceUs: number): boolean {
    return (this.#askedUs.get(`${by} ${name}`) ?? Number.NEGATIVE_INFINITY) >= sinceUs;
  }

  /** Whether somebody had it at some time since then. */
  wasTaken(name: string, sinceUs: number): boolean {
    const byServer = this.#spells.get(name);
    if (byServer === undefined) return true;
    return [...byServer.values()].some((spells) => spells.some(({ untilUs }) => untilUs >= sinceUs));
  }
}
