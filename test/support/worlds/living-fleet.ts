import type { Redis } from "ioredis";
import { storedClientId } from "./stored-fleet.js";

const TICK_MS = 1_000;
const BEAT_MS = 5_000;
const LEASE_MS = 30_000;
/** One client of so many takes a lock over from its neighbour when it beats. */
const TAKES_OVER = 4;

interface Member {
  readonly id: string;
  readonly meta: string;
  /** When it took each of the locks that it holds. */
  readonly holds: Map<string, number>;
}

/**
 * Clients that hold locks and tell of themselves, as far as a server can tell, without a process for each: they beat every five seconds,
 * their watchdogs raise leases, locks pass on from client to client, and each waits for one that another has. It ends with `stop`.
 */
export class LivingFleet {
  readonly #redis: Redis;
  readonly #members: readonly Member[];
  readonly #timer: NodeJS.Timeout;
  #tick = 0;
  #last: Promise<unknown>;

  private constructor(redis: Redis, size: { clients: number; locks: number }) {
    this.#redis = redis;
    const each = Math.ceil(size.locks / size.clients);
    const bornMs = Date.now();
    this.#members = Array.from({ length: size.clients }, (_, nth) => {
      const keys = Array.from({ length: each }, (_, at) => nth * each + at).filter((at) => at < size.locks);
      const meta = {
        app: `app-${nth % 12}`,
        host: `web-${nth}`,
        pid: nth + 1,
        startedMs: bornMs,
        labels: { region: "eu" },
      };
      const holds = new Map(keys.map((at) => [`order:${at}`, bornMs] as const));
      return { id: storedClientId(nth), meta: JSON.stringify(meta), holds };
    });
    this.#last = this.#beat(this.#members);
    this.#timer = setInterval(() => {
      this.#tick += 1;
      const due = this.#members.filter(
        (_, nth) => nth % (BEAT_MS / TICK_MS) === this.#tick % (BEAT_MS / TICK_MS),
      );
      this.#last = this.#beat(due);
    }, TICK_MS);
  }

  static async start(redis: Redis, size: { clients: number; locks: number }): Promise<LivingFleet> {
    const fleet = new LivingFleet(redis, size);
    await fleet.#last;
    return fleet;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#last;
  }

  #beat(due: readonly Member[]): Promise<unknown> {
    const nowMs = Date.now();
    const fill = this.#redis.pipeline();
    for (const member of due) {
      const nth = this.#members.indexOf(member);
      const next = this.#members[(nth + 1) % this.#members.length] ?? member;
      if ((nth + this.#tick) % TAKES_OVER === 0) this.#passOn(next, member, nowMs);
      for (const key of member.holds.keys()) {
        fill.del(key);
        fill.hset(key, `${member.id}:1`, "1");
        fill.pexpire(key, LEASE_MS);
      }
      const holds = [...member.holds].map(([key, sinceMs]) => [
        key,
        "lock",
        1,
        1,
        nowMs - sinceMs,
        1,
        `invoice ${key}`,
      ]);
      const [awaited] = next.holds.keys();
      const waits = awaited === undefined ? [] : [[awaited, "lock", (this.#tick * TICK_MS) % 60_000]];
      const live = {
        acquired: 12,
        holds,
        waits,
        stats: [],
        lost: [],
        more: { holds: 0, waits: 0, stats: 0 },
      };
      fill.hset(
        `holdfast_client:{default}:${member.id}`,
        ...["v", "1", "at", String(nowMs), "every", String(BEAT_MS), "liveAt", String(nowMs)],
        ...["meta", member.meta, "live", JSON.stringify(live)],
      );
      fill.zadd("holdfast_clients:{default}", nowMs + 3 * BEAT_MS, member.id);
    }
    return fill.exec();
  }

  #passOn(from: Member, to: Member, nowMs: number): void {
    const [key] = from.holds.keys();
    if (key === undefined) return;
    from.holds.delete(key);
    to.holds.set(key, nowMs);
  }
}
