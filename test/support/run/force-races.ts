import type { Clock } from "../../../src/clock.js";
import type { Holdfast } from "../../../src/holdfast.js";
import type { Lease } from "../../../src/lease.js";
import type { ForceUnlockOutcome } from "../../../src/locks/force-unlock.js";
import type { Lock } from "../../../src/locks/lock.js";
import type { SeededRandom } from "./seeded-random.js";

/** Clients that contend for one lock, while another one frees it again and again from what it has seen a little earlier. */
export interface ForceRace {
  readonly name: string;
  readonly clients: readonly Holdfast[];
  readonly forcing: Holdfast;
  /** The lock that one call of a client takes. */
  lockOf(client: Holdfast, random: SeededRandom): Lock;
  /** Whether it passes from call to call of a client, so that a successor may lose it with its predecessor. */
  readonly handsOver: boolean;
  readonly random: SeededRandom;
  readonly clock: Clock;
  readonly forces: number;
  /** How long a holder is in, at most, in milliseconds. */
  readonly longestMs: number;
}

export interface ForceRaceResult {
  readonly outcomes: Readonly<Record<ForceUnlockOutcome, number>>;
  /** How many leases were lost. */
  readonly lost: number;
  /** Leases that were lost although no state with their holder, nor with a predecessor of it, was freed. */
  readonly wronged: readonly string[];
  /** Leases that were freed and nevertheless released without an error. Only of locks that do not pass from call to call. */
  readonly spared: readonly string[];
}

const CALLS_AT_ONCE = 2;

export async function raceForces(race: ForceRace): Promise<ForceRaceResult> {
  const { clients, forcing, random, clock, forces } = race;
  const outcomes = { released: 0, absent: 0, changed: 0 };
  const lost: Lease[] = [];
  const freed = new Set<string>();
  /** Those that were handed out and whose release is not over. */
  const live = new Set<Lease>();
  const [forced, spared] = [new Set<Lease>(), [] as string[]];
  let isOver = false;
  const pause = (ms: number) => new Promise<void>((resolve) => clock.schedule(ms, resolve, true));

  const work = async (client: Holdfast): Promise<void> => {
    while (!isOver) {
      const lease = await race.lockOf(client, random).lock();
      live.add(lease);
      await pause(random.below(race.longestMs + 1));
      try {
        await lease.unlock();
        if (forced.has(lease)) spared.push(lease.holder);
      } catch {
        lost.push(lease);
      }
      live.delete(lease);
      await pause(random.below(3));
    }
  };

  const workers = clients.flatMap((client) => Array.from({ length: CALLS_AT_ONCE }, () => work(client)));
  for (let done = 0; done < forces; done += 1) {
    const seen = await forcing.inspect(race.name);
    await pause(random.below(4));
    const outcome = await forcing.forceUnlock(seen);
    outcomes[outcome] += 1;
    if (outcome === "released") {
      for (const holder of seen.holders) freed.add(holder);
      for (const lease of live) if (seen.holders.includes(lease.holder) && !race.handsOver) forced.add(lease);
    }
    // Now and then long enough for a holder to be renewed.
    await pause(random.below(random.below(4) === 0 ? race.longestMs : 8));
  }
  isOver = true;
  await Promise.all(workers);
  const clientsFreed = new Set([...freed].map(clientOf));
  const isCovered = ({ holder }: Lease) =>
    freed.has(holder) || (race.handsOver && clientsFreed.has(clientOf(holder)));
  const wronged = lost.filter((lease) => !isCovered(lease)).map(({ holder }) => holder);
  return { outcomes, lost: lost.length, wronged, spared };
}

function clientOf(holder: string): string {
  return holder.slice(0, holder.indexOf(":"));
}
