import { fairQueueKey, waitingWriterKey } from "../../../src/protocol/names.js";
import type { RawReply } from "../../../src/protocol/script-call.js";
import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { PendingCall } from "./calls.js";

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

  /** What each process has asked for at once, and when it did so last. */
  readonly #asked = new Map<
    string,
    { readonly by: string; readonly names: readonly string[]; atUs: number }
  >();

  /** By process and name: when a server last answered an acquisition that the lock is taken, be it by this call, or that another waiter is before it. */
  readonly #told = new Map<string, { readonly atUs: number; readonly askedUs: number }>();

  constructor(time: VirtualTime, names: readonly string[]) {
    this.#time = time;
    for (const name of names) this.#spells.set(name, new Map());
  }

  /** A script has run that names these keys. @param answer of one that acquires; undefined: it does not */
  look(server: SimServer, keys: readonly string[], by: string, answer?: RawReply | Error): void {
    if (answer !== undefined) {
      const names = keys.filter((key) => this.#spells.has(key));
      const isDecided = !/"(?:late|lost|miscounted)"/.test(JSON.stringify(answer));
      const taken = isDecided ? names.filter((name) => isTaken(server, name)) : [];
      const { askedUs } = server;
      for (const name of taken) this.#told.set(`${by} ${name}`, { atUs: this.#time.nowUs, askedUs });
      this.#asked.set(`${by} ${names.join(" ")}`, { by, names, atUs: this.#time.nowUs });
    }
    for (const key of keys) {
      const byServer = this.#spells.get(key);
      if (byServer === undefined) continue;
      const spells = byServer.get(server.name) ?? [];
      byServer.set(server.name, spells);
      const ttlMs = server.ttlMs(key);
      const queued = isQueued(server, key);
      const isOccupied = isTaken(server, key);
      const { nowUs } = this.#time;
      const last = spells.at(-1);
      const isOn = last !== undefined && last.untilUs >= nowUs;
      const untilUs = queued || ttlMs < 0 ? Number.POSITIVE_INFINITY : nowUs + ttlMs * US;
      if (isOccupied && isOn) last.untilUs = untilUs;
      else if (isOccupied) spells.push({ fromUs: nowUs, untilUs });
      else if (isOn) last.untilUs = nowUs;
    }
  }

  /**
   * Whether its process has been answered since a call began that it was taken. A question of the very moment in which the machine fell asleep
   * counts as one of the moment in which it woke up: its process can not tell them apart. What has no one key, or is a number, is judged by itself.
   */
  wasTold(name: string, { process, startUs, clockSinceUs }: PendingCall): boolean {
    if (!this.#spells.has(name)) return true;
    const told = this.#told.get(`${process} ${name}`);
    return told !== undefined && (told.atUs >= startUs || told.askedUs >= clockSinceUs);
  }

  /** When a process last asked for it, alone or with others; undefined: it has not. */
  lastAskedUs(name: string, by: string): number | undefined {
    const its = [...this.#asked.values()].filter((asked) => asked.by === by && asked.names.includes(name));
    return its.length === 0 ? undefined : Math.max(...its.map(({ atUs }) => atUs));
  }

  /** Whether it was free and taken again since then, be it by a call that came to nothing. */
  wasTakenAgain(name: string, sinceUs: number): boolean {
    const byServer = this.#spells.get(name) ?? new Map<string, Spell[]>();
    return [...byServer.values()].some((spells) => spells.some(({ fromUs }) => fromUs >= sinceUs));
  }

  /** Whether somebody had it at some time since then. */
  wasTaken(name: string, sinceUs: number): boolean {
    const byServer = this.#spells.get(name);
    if (byServer === undefined) return true;
    return [...byServer.values()].some((spells) => spells.some(({ untilUs }) => untilUs >= sinceUs));
  }
}

function isTaken(server: SimServer, key: string): boolean {
  return server.ttlMs(key) !== -2 || isQueued(server, key);
}

function isQueued(server: SimServer, key: string): boolean {
  return server.ttlMs(fairQueueKey(key)) !== -2 || server.ttlMs(waitingWriterKey(key)) !== -2;
}
