import type { Holdfast, Lease } from "holdfast";
import type { SeededRandom } from "../../../../test/support/run/seeded-random.js";
import { holdfast } from "./command-line.js";

export interface UnlockRace {
  readonly url: string;
  readonly clients: readonly Holdfast[];
  readonly random: SeededRandom;
  readonly runs: number;
  /** How long a holder is in, at most. Default: 4, as an unlock at one server takes. */
  readonly longestMs?: number;
}

export interface UnlockRaceResult {
  readonly outcomes: Readonly<Record<string, number>>;
  /** How many leases were lost. */
  readonly lost: number;
  /** Leases that were lost although no run had shown their holder and freed it. */
  readonly wronged: readonly string[];
  /** Runs whose exit code does not fit what they say. */
  readonly wrongCodes: readonly string[];
}

const NAME = "raced";
const CODES: Readonly<Record<string, number>> = { released: 0, absent: 0, changed: 1 };

/** Clients hand a lock over to each other all the time, while it is freed by the command line, again and again. */
export async function raceUnlocks({
  url,
  clients,
  random,
  runs,
  longestMs = 4,
}: UnlockRace): Promise<UnlockRaceResult> {
  const outcomes: Record<string, number> = {};
  const wrongCodes: string[] = [];
  const lost: Lease[] = [];
  const freed = new Set<string>();
  let isOver = false;
  const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const work = async (client: Holdfast): Promise<void> => {
    while (!isOver) {
      const lease = await client.getLock(NAME).lock();
      await pause(random.below(longestMs + 1));
      await lease.unlock().catch(() => void lost.push(lease));
    }
  };
  const workers = clients.map(work);
  for (let done = 0; done < runs; done += 1) {
    const { code, out } = await holdfast(["unlock", NAME, "--force", "--yes", "--json", "-q", "--url", url]);
    const told = JSON.parse(out) as { outcome: string; holders: readonly { readonly holder: string }[] };
    outcomes[told.outcome] = (outcomes[told.outcome] ?? 0) + 1;
    if (code !== CODES[told.outcome]) wrongCodes.push(`${told.outcome}: ${code}`);
    if (told.outcome === "released") for (const { holder } of told.holders) freed.add(holder);
  }
  isOver = true;
  await Promise.all(workers);
  const wronged = lost.map(({ holder }) => holder).filter((holder) => !freed.has(holder));
  return { outcomes, lost: lost.length, wronged, wrongCodes };
}
