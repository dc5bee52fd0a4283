import type { Fleet, ListedHolder } from "holdfast";
import type { LockChange, WatchedLock } from "holdfast/watch";
import { tellDuration } from "../duration.js";
import { oldestFirst } from "../ls/list-columns.js";
import type { Output, Style } from "../output.js";
import { cutMiddle, plain, widthOf } from "../text/plain.js";
import { tellClient, tellHolder } from "../text/tell-holder.js";
import { tellTime } from "../text/tell-time.js";

/** Around a change. */
interface ChangeScene {
  readonly atMs: number;
  readonly fleet: Fleet;
  readonly locks: readonly WatchedLock[];
}

const STYLES: Readonly<Record<LockChange["type"], Style>> = {
  taken: "green",
  freed: "dim",
  "handed-over": "cyan",
  queue: "blue",
  lost: "red",
  stale: ["red", "bold"],
};

const TYPE_COLUMNS = "handed over".length;
/** Names are aligned in a column of this width. */
const MOST_NAME_COLUMNS = 32;

/** Changes as lines with aligned parts. */
export class ChangeLines {
  readonly #output: Output;
  #nameColumns = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  of(change: LockChange, scene: ChangeScene): string {
    const { type, name } = change;
    const told = plain(name);
    this.#nameColumns = Math.min(MOST_NAME_COLUMNS, Math.max(this.#nameColumns, widthOf(told)));
    const fitting = cutMiddle(told, MOST_NAME_COLUMNS);
    const padding = " ".repeat(Math.max(0, this.#nameColumns - widthOf(fitting)));
    const what = type.replace("-", " ").padEnd(TYPE_COLUMNS);
    const parts = [
      this.#output.paint("dim", tellTime(scene.atMs)),
      this.#output.paint(STYLES[type], what),
      this.#output.paint("bold", fitting) + padding,
      plain(tellChange(change, scene)),
    ];
    return parts.join("  ").trimEnd();
  }
}

function tellChange(change: LockChange, { fleet, locks }: ChangeScene): string {
  const { type, holders, before, waiting, reason, client: id } = change;
  switch (type) {
    case "taken":
      return `by ${tellAll(holders)}${waitingBehind(waiting)}`;
    case "freed":
      return `by ${tellAll(before)}${heldFor(before)}${waitingBehind(waiting)}`;
    case "handed-over":
      return `to ${tellAll(holders)}, from ${tellAll(before)}${heldFor(before)}${waitingBehind(waiting)}`;
    case "queue":
      return waiting === 0 ? "no call waits any more" : `${waiting} ${waiting === 1 ? "waits" : "wait"}`;
    case "lost": {
      const client = fleet.clients.find((each) => each.id === id);
      const name =
        client === undefined ? tellHolder({ holder: id ?? null, client: null }) : tellClient(client);
      return `by ${name}: ${reason ?? ""}`;
    }
    case "stale": {
      const ttlMs = locks.find(({ key }) => key === change.key)?.ttlMs ?? 0;
      return `${tellAll(holders)}; nothing renews it, and it ends in ${tellDuration(ttlMs)}`;
    }
    default:
      return type satisfies never;
  }
}

/** The holder with the oldest hold, and the number of the other holders. */
export function tellAll(holders: readonly ListedHolder[]): string {
  const [first] = oldestFirst(holders);
  if (first === undefined) return "nothing";
  return `${tellHolder(first)}${holders.length > 1 ? ` and ${holders.length - 1} more` : ""}`;
}

/** How long the former holders had the lock, by the latest report. */
function heldFor(before: readonly ListedHolder[]): string {
  const [first] = oldestFirst(before);
  return first === undefined || first.sinceMs === null ? "" : `, held for ${tellDuration(first.sinceMs)}`;
}

function waitingBehind(waiting: number): string {
  if (waiting === 0) return "";
  return `; ${waiting} ${waiting === 1 ? "waits" : "wait"}`;
}
