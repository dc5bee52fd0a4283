import type { ListedHolder } from "holdfast";
import { tellDuration } from "../duration.js";
import type { Output, Style } from "../output.js";
import { ownerOf } from "../semaphores/semaphore-seen.js";
import { tellKind } from "../text/kinds.js";
import { plain, wrapped } from "../text/plain.js";
import { PRESENCE_HINT } from "../text/presence-hint.js";
import { isHolder, isWriter, tellClient, tellHolder } from "../text/tell-holder.js";
import { tellNumbers, tellPermit, tellPermitsOf } from "../text/tell-permits.js";
import type { ShownLock } from "./shown-lock.js";
import { staleLine } from "./unlock-line.js";

/** The most lines of one list. If there are more entries, a last line gives their number. */
const MOST_LINES = 20;
const LABEL_COLUMNS = 10;
const INDENT = "  ";
const COPIED = "free it";

/**
 * Describes a lock, in lines for people.
 * @param asTyped options of the connection, for the command lines to copy
 * @param unlock the command line that frees the lock
 */
export function tellLock(
  output: Output,
  lock: ShownLock,
  asTyped: readonly string[],
  unlock?: string,
): readonly string[] {
  const { name, kind, holders, key, slot, master } = lock;
  const ids = holders.map(({ holder }) => holder);
  const title = [
    output.paint("bold", plain(name)),
    ...(kind === "none" ? [] : [tellKind(kind, ids)]),
    tellState(lock),
  ];
  const fields: readonly (readonly [label: string, lines: readonly string[]])[] = [
    [
      isCount(kind) ? "taken by" : "held by",
      shortened(
        holders.flatMap((holder) => tellHold(output, holder, isCount(kind))),
        holders.length,
      ),
    ],
    ["lease", tellLease(lock)],
    ["permits", tellPermits(output, lock)],
    ["waiting", tellWaiting(lock)],
    ["token", tellToken(lock)],
    ["flags", lock.flags.length === 0 ? [] : [lock.flags.join(" ")]],
    ["key", key === name && slot === undefined ? [] : [[plain(key), ...placeOf(slot, master)].join(", ")]],
    ["hint", tellHints(lock, asTyped)],
    [COPIED, unlock === undefined ? [] : [output.paint("cyan", unlock)]],
  ];
  return [title.join(" · "), ...fields.flatMap(([label, lines]) => labelled(output, label, lines))];
}

/** On a narrow terminal long lines are wrapped and indented, except command lines to copy: only the terminal itself wraps those. */
function labelled(output: Output, label: string, lines: readonly string[]): readonly string[] {
  const columns = label === COPIED ? undefined : output.columns;
  const room = columns === undefined ? Number.POSITIVE_INFINITY : columns - INDENT.length - LABEL_COLUMNS;
  return lines
    .flatMap((line) => wrapped(line, room))
    .map((line, at) => {
      const head = (at === 0 ? label : "").padEnd(LABEL_COLUMNS);
      return `${INDENT}${output.paint("dim", head)}${line}`;
    });
}

function tellState({ kind, holders, available, takenCount, kept }: ShownLock): string {
  if (kept) return "kept: released, but its key stays for a while";
  if (kind === "count-down-latch") return available === 0 ? "open" : `${available} to count down`;
  if (available !== undefined)
    return takenCount === undefined
      ? `${available} available`
      : `${available} of ${available + takenCount} available`;
  return holders.length === 0 ? "free" : "held";
}

/** A line about the hold, and a line with its whole id and labels. */
function tellHold(output: Output, holder: ListedHolder, isCounted: boolean): readonly string[] {
  const { client, count, sinceMs, renewed, note } = holder;
  const style: Style | undefined = client?.state === "gone" ? "yellow" : undefined;
  const labels = Object.entries(client?.labels ?? {}).map((pair) => plain(pair.join("=")));
  const whole = output.paint("dim", [plain(holder.holder), ...labels].join("  "));
  if (isCounted) {
    const text = tellPermitsOf(holder);
    return [style === undefined ? text : output.paint(style, text), whole];
  }
  const name = plain(tellHolder(holder));
  const about = [
    ...(isWriter(holder.holder) ? ["to write"] : []),
    ...(count > 1 ? [`${count} times`] : []),
    ...(sinceMs === null ? [] : [`for ${tellDuration(sinceMs)}`]),
    ...(renewed === null ? [] : [renewed ? "renewed" : "a fixed lease"]),
    ...(note === null ? [] : [plain(JSON.stringify(note))]),
  ];
  return [[style === undefined ? name : output.paint(style, name), ...about].join(", "), whole];
}

function tellLease({ kind, holders, ttlMs, flags }: ShownLock): readonly string[] {
  if (holders.length === 0 || isCount(kind)) return [];
  if (ttlMs < 0) return ["no end: its key has no TTL, so it never ends by itself"];
  const how = flags.includes("fixed") ? ", then it ends by itself" : "";
  return [`${tellDuration(ttlMs)} left${how}`];
}

function isCount(kind: ShownLock["kind"]): boolean {
  return ["semaphore", "count-down-latch", "semaphore-or-latch", "permit-expirable-semaphore"].includes(kind);
}

function tellPermits(
  output: Output,
  { kind, available, taken, takenCount = 0, holders }: ShownLock,
): readonly string[] {
  if (available === undefined || kind === "count-down-latch") return [];
  if (kind === "semaphore-or-latch")
    return [`${available} available, or to count down: both are stored in the same way, and --kind decides`];
  const leases = (taken ?? []).map((permit) => tellPermit(permit, ownerOf(holders, permit.id)));
  const numbers = tellNumbers({ available, takenCount: taken && takenCount });
  return [
    numbers,
    ...shortened(
      leases.map((line) => output.paint("dim", line)),
      takenCount,
    ),
  ];
}

function tellWaiting({ waiting, listeners = 0 }: ShownLock): readonly string[] {
  const listen = listeners === 1 ? "1 process listens" : `${listeners} processes listen`;
  // Clients in the queue listen too, so `listeners` says something new only if it is larger than the number of clients in the queue.
  const inQueue = waiting.filter(({ holder }) => holder !== null).length;
  const heard = listeners <= inQueue ? [] : [`${listen} for its release, or did within the last ten seconds`];
  const lines = alike(waiting).map(tellWaiters);
  return [...shortened(lines, lines.length), ...heard];
}

/** Neighbouring waiters of one client that want the lock for the same purpose. */
interface Waiters {
  /** The place of the first of these waiters in a queue; undefined without a place. */
  readonly place: number | undefined;
  readonly name: string;
  readonly note: string | null;
  readonly forMs: (number | null)[];
}

/** Combines neighbouring waiters whose lines would be equal. */
function alike(waiting: ShownLock["waiting"]): readonly Waiters[] {
  const groups: Waiters[] = [];
  for (const [at, { holder, client, forMs, note }] of waiting.entries()) {
    const place = holder === null ? undefined : at + 1;
    const name = client === null ? tellHolder({ holder, client }) : tellClient(client);
    const last = groups.at(-1);
    const isAlike =
      last?.name === name && last.note === note && (last.place === undefined) === (holder === null);
    if (isAlike) last.forMs.push(forMs);
    else groups.push({ place, name, note, forMs: [forMs] });
  }
  return groups;
}

function tellWaiters({ place, name, note, forMs }: Waiters): string {
  const count = forMs.length;
  const places = count === 1 ? `${place}. ` : `${place}. to ${(place ?? 0) + count - 1}. `;
  const times = forMs.filter((ms) => ms !== null);
  const [least, most] = [Math.min(...times), Math.max(...times)].map(tellDuration);
  return [
    `${place === undefined ? "" : places}${plain(name)}`,
    ...(count === 1 ? [] : [`${count} calls`]),
    ...(times.length === 0 ? [] : [`for ${least === most ? least : `${least} to ${most}`}`]),
    ...(note === null ? [] : [plain(JSON.stringify(note))]),
  ].join(", ");
}

function tellToken({ token, foreignToken }: ShownLock): readonly string[] {
  if (foreignToken === undefined) return token === null ? [] : [String(token)];
  const held = plain(JSON.stringify(foreignToken.slice(0, 40)));
  return [`none: another program wrote ${held} to its counter, so it can not be acquired as a fenced lock`];
}

function placeOf(slot: number | undefined, master: string | undefined): readonly string[] {
  if (slot === undefined) return [];
  return [`slot ${slot}${master === undefined ? "" : ` at ${master}`}`];
}

/** Facts that an operator should know before freeing the lock. */
function tellHints({ kind, holders, kept, name }: ShownLock, asTyped: readonly string[]): readonly string[] {
  if (kept || holders.length === 0 || isCount(kind)) return [];
  if (!holders.every(({ holder }) => isHolder(holder)))
    return ["its key does not hold a lock: another program wrote it"];
  const lines: string[] = [];
  if (holders.every(({ client }) => client?.state === "gone"))
    lines.push(
      "its holder has been silent for a while; this shows whether the lock is still renewed:",
      staleLine(name, asTyped),
    );
  if (holders.some(({ by, client }) => by === "jvm" && client === null))
    lines.push("a JVM has it: look in its log for Redisson's id, the part before the colon");
  else if (holders.some(({ client }) => client === null))
    lines.push(`a program without presence has it, or one of another --group. ${PRESENCE_HINT}`);
  return lines;
}

function shortened(lines: readonly string[], all: number): readonly string[] {
  const more =
    all > MOST_LINES && lines.length > MOST_LINES ? [`and more, ${all} in all: --json has them`] : [];
  return [...lines.slice(0, MOST_LINES), ...more];
}
