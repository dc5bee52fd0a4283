import type { ListedHolder } from "holdfast";
import { tellDuration } from "../duration.js";
import type { Output, Style } from "../output.js";
import { tellKind } from "../text/kinds.js";
import { plain, wrapped } from "../text/plain.js";
import { tellHolder } from "../text/tell-holder.js";
import type { Seen } from "./seen.js";

/** A line about a lock, with its label in a separate column. */
interface Row {
  readonly label: string;
  readonly text: string;
  readonly style?: Style;
}

/** Wider prose is hard to read, even on a wide terminal. */
const WIDEST = 110;
const NARROWEST = 20;
const LABEL_COLUMNS = 12;
/** The most holders in the list. If there are more, a last line gives their number. */
const MOST_HOLDERS = 10;

/** Prints the lock to free, and the effects of freeing it. */
export function tellSeen(output: Output, name: string, seen: Seen): void {
  const columns = Math.max(Math.min(output.columns ?? WIDEST, WIDEST) - LABEL_COLUMNS, NARROWEST);
  output.line(output.paint("bold", plain(name)));
  for (const { label, text, style } of rowsOf(name, seen)) {
    wrapped(text, columns).forEach((line, at) => {
      const margin = `  ${at === 0 ? label : ""}`.padEnd(LABEL_COLUMNS);
      output.line(output.paint("dim", margin) + (style === undefined ? line : output.paint(style, line)));
    });
  }
}

function rowsOf(name: string, { state, lock, blind }: Seen): readonly Row[] {
  const shown = lock.holders.slice(0, MOST_HOLDERS);
  const hidden = lock.holders.length - shown.length;
  return [
    { label: "kind", text: tellKind(state.kind, state.holders) },
    ...(state.key === name ? [] : [{ label: "key", text: plain(state.key) }]),
    ...shown.flatMap((holder, at): Row[] => [
      {
        label: at === 0 ? "held by" : "",
        text: tellHold(holder),
        ...(isGone(holder) && { style: "yellow" }),
      },
      { label: "", text: plain(holder.holder), style: "dim" },
    ]),
    ...(hidden > 0 ? [{ label: "", text: `and ${hidden} more` }] : []),
    {
      label: "lease",
      text: state.ttlMs < 0 ? "without an end: it never ends by itself" : `${tellDuration(state.ttlMs)} left`,
    },
    { label: "waiting", text: tellWaiting(lock) },
    ...(blind === undefined
      ? []
      : [
          {
            label: "",
            text: `presence can not be read: ${plain(blind)}`,
            style: "yellow" as const,
          },
        ]),
    ...consequences({ state, lock }).map((text, at) => ({ label: at === 0 ? "if freed" : "", text })),
  ];
}

function tellHold(holder: ListedHolder): string {
  const { count, sinceMs, renewed, note } = holder;
  return [
    plain(tellHolder(holder)),
    ...(sinceMs === null ? [] : [`for ${tellDuration(sinceMs)}`]),
    ...(count > 1 ? [`${count} times`] : []),
    ...(renewed === null ? [] : [renewed ? "renewed" : "a fixed lease"]),
    ...(note === null ? [] : [plain(JSON.stringify(note))]),
  ].join(", ");
}

function tellWaiting({ waiting, listeners = 0 }: Seen["lock"]): string {
  const longestMs = Math.max(...waiting.map(({ forMs }) => forMs ?? -1));
  if (waiting.length > 0)
    return `${waiting.length}${longestMs < 0 ? "" : `, the longest for ${tellDuration(longestMs)}`}`;
  if (listeners === 0) return "none is known";
  return `${listeners === 1 ? "1 process listens" : `${listeners} processes listen`} for its release`;
}

/** The effects on the present holders, each effect once. */
function consequences({ state, lock }: Pick<Seen, "state" | "lock">): readonly string[] {
  if (state.kept) return ["the next call that asks gets it at once, although it was to be kept for longer"];
  return [...new Set(lock.holders.map((holder) => consequence(holder, state.ttlMs)))];
}

function consequence(holder: ListedHolder, ttlMs: number): string {
  const isFixed = holder.renewed === false;
  if (isGone(holder)) {
    const end = isFixed ? "when its fixed lease ends" : "by its next renewal";
    return `its client is gone; if its process was only stopped, it learns of the loss ${end}`;
  }
  if (holder.by === "jvm")
    return "a JVM is not notified: its thread goes on as if it had the lock, beside the next holder";
  if (isFixed) {
    const end = ttlMs < 0 ? "until it releases" : `until it ends, in ${tellDuration(ttlMs)}`;
    return `its holder has a fixed lease, and may rely on it ${end}; until then the next holder may work beside it`;
  }
  return "its holder relies on its lease until its next renewal, at most 10 s (a third of its watchdog); until then the next holder may work beside it";
}

function isGone({ client }: ListedHolder): boolean {
  return client?.state === "gone";
}
