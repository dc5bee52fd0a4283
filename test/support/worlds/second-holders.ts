import { Redis } from "ioredis";
import { ioredisDriver } from "../../../src/driver/ioredis/index.js";
import { Holdfast } from "../../../src/holdfast.js";
import type { Lease } from "../../../src/lease.js";
import type { ConnectedClient } from "../clients/pair.js";
import type { RedisServer } from "../servers/redis-server.js";

/** A lock that two believed to have, the second of them at the new master. All times in milliseconds since the Sentinels named that one. */
export interface DoubleHold {
  /** Who had it through Sentinels. */
  readonly who: string;
  readonly takenMs: number;
  /** From when on both believed it, and for how long. */
  readonly sinceMs: number;
  readonly forMs: number;
  /** Why the first one believed it no longer. */
  readonly end: string;
}

/** What one client took in a round. */
export interface Tally {
  readonly who: string;
  /** After the Sentinels had named another master. */
  readonly takenAfter: number;
  /** Leases that were lost, by reason. */
  readonly lost: Readonly<Record<string, number>>;
  /** Attempts that failed, by the end of what they failed with. */
  readonly failed: Readonly<Record<string, number>>;
}

/** What was found in a round. */
export interface Findings {
  readonly doubles: readonly DoubleHold[];
  readonly tallies: readonly Tally[];
}

const TAKE_EACH_MS = 25;
const HOLD_MS = 1_500;
/** Who is at the new master asks for each lock that is believed elsewhere so often. */
const PROBE_EACH_MS = 10;

interface Visit {
  readonly name: string;
  readonly fromMs: number;
  untilMs: number | undefined;
  end: string;
  probing: boolean;
  secondMs: number | undefined;
}

/** Takes one lock after the other through Sentinels, each under a name of its own, and holds each for a while. */
export class Taker {
  readonly who: string;
  readonly #holdfast: Holdfast;
  readonly #client: ConnectedClient;
  readonly #timer: NodeJS.Timeout;
  readonly visits: Visit[] = [];
  readonly failed: Record<string, number> = {};
  #count = 0;
  #under = 0;
  #resting = true;

  constructor(who: string, client: ConnectedClient, mode: "auto" | "require" | "off") {
    this.who = who;
    this.#client = client;
    this.#holdfast = new Holdfast(client.drive(), { replicas: { mode } });
    this.#timer = setInterval(() => this.#take(), TAKE_EACH_MS);
  }

  begin(): void {
    this.visits.length = 0;
    for (const why of Object.keys(this.failed)) delete this.failed[why];
    this.#resting = false;
  }

  /** Resolves once nothing is held or asked for. */
  async rest(): Promise<void> {
    this.#resting = true;
    while (this.#under > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#holdfast.close({ releaseHeld: true });
    await this.#client.end();
  }

  #take(): void {
    if (this.#resting) return;
    this.#under += 1;
    this.#visit(`${this.who}:${this.#count++}`)
      .catch((error: Error) => {
        const why = error.message.split(": ").at(-1) ?? "";
        this.failed[why] = (this.failed[why] ?? 0) + 1;
      })
      .finally(() => {
        this.#under -= 1;
      });
  }

  async #visit(name: string): Promise<void> {
    const lease = await this.#holdfast.getLock(name).tryLock();
    if (lease === null) return;
    const visit: Visit = {
      name,
      fromMs: performance.now(),
      untilMs: undefined,
      end: "it was released",
      probing: false,
      secondMs: undefined,
    };
    this.visits.push(visit);
    await lostOrOver(lease, visit);
    visit.untilMs ??= performance.now();
    await lease.unlock().catch(() => undefined);
  }
}

/** Resolves when the lease is lost, or was held for long enough. */
async function lostOrOver(lease: Lease, visit: Visit): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, HOLD_MS);
    lease.signal.addEventListener(
      "abort",
      () => {
        visit.untilMs = performance.now();
        visit.end = lease.signal.reason?.reason ?? String(lease.signal.reason);
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}

/** Asks at the new master, as a program would that was started after the failover, for each lock that a taker believes to have. */
export async function findDoubles(
  takers: readonly Taker[],
  master: RedisServer,
  announcedMs: number,
  untilMs: number,
): Promise<Findings> {
  const redis = new Redis({ host: "127.0.0.1", port: master.port });
  redis.on("error", () => undefined);
  const holdfast = new Holdfast(ioredisDriver(redis));
  const probes = new Set<Promise<void>>();
  const probe = async (visit: Visit) => {
    visit.probing = true;
    const lease = await holdfast.getLock(visit.name).tryLock({ leaseMs: 2 * HOLD_MS });
    visit.probing = false;
    if (lease === null) return;
    visit.secondMs ??= performance.now();
    while (visit.untilMs === undefined) await new Promise((resolve) => setTimeout(resolve, PROBE_EACH_MS));
    await lease.unlock().catch(() => undefined);
  };
  while (performance.now() < untilMs) {
    for (const { visits } of takers) {
      for (const visit of visits) {
        if (visit.untilMs !== undefined || visit.probing || visit.secondMs !== undefined) continue;
        const probing: Promise<void> = probe(visit)
          .catch(() => undefined)
          .finally(() => {
            visit.probing = false;
            probes.delete(probing);
          });
        probes.add(probing);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, PROBE_EACH_MS));
  }
  await Promise.all(takers.map((taker) => taker.rest()));
  await Promise.all(probes);
  await holdfast.close();
  redis.disconnect();
  return {
    doubles: takers.flatMap((taker) => taker.visits.flatMap((visit) => doubleOf(taker, visit, announcedMs))),
    tallies: takers.map((taker) => tallyOf(taker, announcedMs)),
  };
}

function doubleOf({ who }: Taker, visit: Visit, announcedMs: number): readonly DoubleHold[] {
  const { fromMs, untilMs = Number.NaN, secondMs, end } = visit;
  if (secondMs === undefined || secondMs >= untilMs) return [];
  const sinceMs = Math.max(fromMs, secondMs);
  const round = (ms: number) => Math.round(ms);
  return [
    {
      who,
      takenMs: round(fromMs - announcedMs),
      sinceMs: round(sinceMs - announcedMs),
      forMs: round(untilMs - sinceMs),
      end,
    },
  ];
}

function tallyOf({ who, visits, failed }: Taker, announcedMs: number): Tally {
  const lost: Record<string, number> = {};
  for (const { end } of visits) {
    if (end !== "it was released") lost[end] = (lost[end] ?? 0) + 1;
  }
  return {
    who,
    takenAfter: visits.filter(({ fromMs }) => fromMs > announcedMs).length,
    lost,
    failed: { ...failed },
  };
}
