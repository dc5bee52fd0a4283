import { clientChannel, semaphoreChannel, waitingKey } from "../../../src/protocol/names.js";
import type { SimServer } from "../world/sim-server.js";
import type { Answered } from "./answers.js";
import type { CountState } from "./count-state.js";

/** As in permit-queue.lua: for so long a line that was told its turn may come. */
const TURN_MS = 1_500;
const TOLD = "told:";

/** The lines that wait for permits, "<client id>:<permits>", as their server has them. */
export interface PermitQueue {
  /** Their places, the first first. */
  readonly places: ReadonlyMap<string, number>;
  /** When those were told their turn that may come yet, on the server's clock. */
  readonly told: ReadonlyMap<string, number>;
  /** Those that were told their turn, and have not come in time. */
  readonly late: ReadonlySet<string>;
}

/** Looks at the queue, and changes nothing. */
export function readQueue(server: SimServer, name: string, nowMs: number): PermitQueue {
  const members = server.command("ZRANGE", waitingKey(name), 0, -1, "WITHSCORES") as readonly unknown[];
  const [places, told, late] = [new Map<string, number>(), new Map<string, number>(), new Set<string>()];
  for (let at = 0; at < members.length; at += 2) {
    const [member, score] = [String(members[at]), Number(members[at + 1])];
    if (score > 0) places.set(member, score);
    else if (Math.abs(nowMs + score) < TURN_MS) told.set(member.slice(TOLD.length), -score);
    else late.add(member.slice(TOLD.length));
  }
  return { places, told, late };
}

function wantedBy(line: string): number {
  return Number(line.slice(line.lastIndexOf(":") + 1));
}

/** How many permits a line that asks leaves to those before it that were told their turn. */
export function leftToThoseBefore({ places, told, late }: PermitQueue, line: string): number {
  const own = late.has(line) ? undefined : places.get(line);
  return [...told.keys()].reduce((sum, other) => {
    const place = places.get(other);
    const isBefore = other !== line && place !== undefined && place < (own ?? Number.POSITIVE_INFINITY);
    return isBefore ? sum + wantedBy(other) : sum;
  }, 0);
}

/** The arguments of the request included. */
const RELEASES: Readonly<Record<string, string>> = { "semaphore-add": "added", "permit-release": "released" };
/** Where a question names its line, of the arguments behind those of the request. */
const LINE_AT: Readonly<Record<string, number>> = { "semaphore-acquire": 4, "permit-acquire": 5 };

/** The line of which a script asks, or that leaves by it; undefined: none. */
export function lineThatAsks({ script, args }: Answered): string | undefined {
  const at = LINE_AT[script];
  return at === undefined ? (script === "permit-leave" ? args[1] : undefined) : args[at];
}

/**
 * What a script about permits does to the queue: each line stands where it came, until its client leaves, gets what it wants, has not come in
 * time, or nobody listens for it. A release that looks, a question of a line and a line that leaves let no permits lie that the next line
 * could have; those that are told their turn are the first that they suffice for.
 * @returns what is wrong, in words
 */
export function wrongTurn(
  server: SimServer,
  name: string,
  answered: Answered,
  after: CountState,
): string | undefined {
  const { script, status, before, isRepeat, looks, by } = answered;
  const [was, is] = [before.queue, after.queue];
  const line = lineThatAsks(answered);
  const isHeard = (other: string) =>
    !server.refusesPublish && server.channels.includes(clientChannel(semaphoreChannel(name), other));
  for (const [other, place] of was.places) {
    const now = is.places.get(other);
    if (now === place || other === line || was.late.has(other)) continue;
    if (now !== undefined) return `${other} was moved from ${place} to ${now} by a ${script} of ${by}`;
    if (isHeard(other)) return `${other} was taken out by a ${script}, and waits`;
  }
  if (isRepeat || status === "late") return undefined;
  const toldNow = [...is.told].filter(([other, ms]) => was.told.get(other) !== ms).map(([other]) => other);
  const isFirstBefore = (other: string, place: number, later: string) =>
    place < (is.places.get(later) ?? 0) && wantedBy(other) <= wantedBy(later);
  for (const later of toldNow) {
    if (later === line) return `${later} was told its turn by its own question`;
    const passed = [...is.places].find(
      ([other, place]) => other !== line && !is.told.has(other) && isFirstBefore(other, place, later),
    );
    if (passed !== undefined && after.saved === undefined)
      return `${later} was told its turn, and ${passed[0]} stood before it`;
  }
  // A line that has no place any more has nothing to leave.
  const hasLeft = script !== "permit-leave" || was.places.has(line ?? "");
  const isLook = looks && hasLeft && (RELEASES[script] === status || line !== undefined);
  // A full server tells, and can not note it.
  if (!isLook || after.count === undefined || server.isFull) return undefined;
  // As it is stored: a line that leaves brings back no leases that are over.
  const stored = Number(server.command("GET", name));
  const left = [...is.told.keys()].reduce((sum, other) => sum - wantedBy(other), stored);
  const savedFor = after.saved?.permits ?? 0;
  const idle = [...is.places.keys()].find(
    (other) => other !== line && !is.told.has(other) && isHeard(other) && wantedBy(other) <= left - savedFor,
  );
  return idle === undefined
    ? undefined
    : `a ${script} has left ${left} permits, and ${idle} was not told, which waits for ${wantedBy(idle)}`;
}
