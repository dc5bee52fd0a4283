import type { Child } from "./child.js";

/** From when to when a process believed that it had a lock. */
export interface Visit {
  /** The process, and the lock that it visited. */
  readonly who: string;
  readonly name: string;
  /** True for one that others may share: that of a reader. */
  readonly shared: boolean;
  /** As `nowUs` tells it. */
  readonly sinceUs: number;
  /** When it last looked and found that it still had the lock. */
  readonly untilUs: number;
}

/** Microseconds on the clock that all processes of a machine have in common, and that nobody sets. */
export function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

/** How often something happened, by what it was. */
export type Tally = Readonly<Record<string, number>>;

/** What a visitor has written down. */
export interface Notes {
  readonly visits: readonly Visit[];
  /** What entering and leaving failed with, by code. */
  readonly refused: Tally;
  readonly unreleased: Tally;
  /** Why visits ended before the visitor left, by the reason of the loss. */
  readonly lost: Tally;
}

/** Ends the visits, and brings together what all visitors have written down since they last rested. They stay. */
export function rest(visitors: readonly Child[]): Promise<Notes> {
  return gather(visitors, "rest");
}

/** The same, and each closes its client and ends. @throws when one does not end as it should */
export async function endVisits(visitors: readonly Child[]): Promise<Notes> {
  const notes = await gather(visitors, "stop");
  const exits = await Promise.all(visitors.map(({ exited }) => exited));
  if (exits.some(({ code }) => code !== 0)) throw new Error(`visitors ended: ${JSON.stringify(exits)}`);
  return notes;
}

/** Resolves with the first visit of any of them that begins after this call. @throws when there is none in time */
export function somebodyEnters(visitors: readonly Child[], withinMs: number): Promise<Visit> {
  return inTime(Promise.any(visitors.map(entry)), withinMs, "nobody entered");
}

/** As soon as each of them has begun a visit after this call. @throws when one has not in time */
export function everybodyEnters(visitors: readonly Child[], withinMs: number): Promise<readonly Visit[]> {
  return inTime(Promise.all(visitors.map(entry)), withinMs, "not everybody entered");
}

/** Descriptions of those who were inside together though they exclude each other; empty when the history is as it should be. */
export function overlaps(visits: readonly Visit[]): string[] {
  const latest = new Map<string, Visit>();
  const found: string[] = [];
  for (const visit of [...visits].sort((a, b) => a.sinceUs - b.sinceUs)) {
    for (const shared of visit.shared ? [false] : [false, true]) {
      const before = latest.get(`${shared} ${visit.name}`);
      if (before !== undefined && before.untilUs > visit.sinceUs) found.push(describe(before, visit));
    }
    const kind = `${visit.shared} ${visit.name}`;
    // Who was there before and stays longer is whom the next may meet.
    if ((latest.get(kind)?.untilUs ?? 0) < visit.untilUs) latest.set(kind, visit);
  }
  return found;
}

async function gather(visitors: readonly Child[], order: "rest" | "stop"): Promise<Notes> {
  const notes = await Promise.all(
    visitors.map(async (visitor) => {
      const { event, ...answer } = await visitor.ask(order);
      if (event === "failed") throw new Error(`a visitor did not ${order}: ${JSON.stringify(answer)}`);
      return answer as unknown as Notes;
    }),
  );
  return {
    visits: notes.flatMap(({ visits }) => visits),
    refused: sum(notes.map(({ refused }) => refused)),
    unreleased: sum(notes.map(({ unreleased }) => unreleased)),
    lost: sum(notes.map(({ lost }) => lost)),
  };
}

async function entry(visitor: Child): Promise<Visit> {
  const { event, visit, ...details } = await visitor.ask("awaitVisit");
  if (event !== "visited") throw new Error(`${event}: ${JSON.stringify(details)}`);
  return visit as Visit;
}

async function inTime<T>(promise: Promise<T>, withinMs: number, otherwise: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${otherwise} within ${withinMs} ms`)), withinMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function sum(tallies: readonly Tally[]): Tally {
  const total: Record<string, number> = {};
  for (const tally of tallies) {
    for (const [what, times] of Object.entries(tally)) total[what] = (total[what] ?? 0) + times;
  }
  return total;
}

function describe(before: Visit, visit: Visit): string {
  const togetherUs = Math.min(before.untilUs, visit.untilUs) - visit.sinceUs;
  const enteredUs = visit.sinceUs - before.sinceUs;
  return `${visit.who} entered "${visit.name}" ${enteredUs} µs after ${before.who} and shared it for ${togetherUs} µs`;
}
