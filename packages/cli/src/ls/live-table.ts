import { type LocksSeen, watchLocks } from "holdfast/watch";
import type { Context } from "../command.js";
import { tellDuration } from "../duration.js";
import { patientFinder } from "../find/patient-finder.js";
import { untilInterrupted } from "../interruption.js";
import { cut, plain } from "../text/plain.js";
import { Screen } from "../text/screen.js";
import { tableLines } from "../text/table.js";
import { tellTime } from "../text/tell-time.js";
import { listColumns } from "./list-columns.js";
import type { ListSearch } from "./list-command.js";
import { select } from "./selection.js";
import { tellSearch } from "./tell-search.js";

/** The lines above the rows: the title, an empty line and the head of the table. */
const LINES_ABOVE = 3;

/** Redraws the table until the user types q or Ctrl-C. */
export async function watchTable(context: Context, search: ListSearch, everyMs: number): Promise<void> {
  await untilInterrupted(async (signal, end) => {
    const { output, input } = context;
    const screen = new Screen(output, input, end);
    let seen: LocksSeen | undefined;
    let trouble: string | undefined;
    const draw = () => screen.show(() => linesOf(context, search, { seen, trouble, everyMs }));
    const outage = {
      began(why: string) {
        trouble = why;
        draw();
      },
      ended() {
        trouble = undefined;
      },
    };
    const { match } = search.settings;
    const { sources, finder } = search.asked;
    const find = { group: search.group, sources, everyMs, signal, ...(match === undefined ? {} : { match }) };
    screen.open();
    draw();
    try {
      for await (const look of watchLocks(patientFinder(finder, outage, signal), find)) {
        seen = look;
        draw();
      }
    } finally {
      screen.close();
    }
  });
}

interface ShownTable {
  readonly seen: LocksSeen | undefined;
  readonly trouble: string | undefined;
  readonly everyMs: number;
}

function linesOf(
  { output }: Context,
  search: ListSearch,
  { seen, trouble, everyMs }: ShownTable,
): readonly string[] {
  const { columns = 80, rows = 24 } = output;
  const fitting = (text: string) => cut(plain(text), columns);
  const of = search.settings.match ?? "all locks";
  const at = seen === undefined ? "looking …" : tellTime(seen.atMs);
  const title = output.paint("dim", fitting(`${of} · ${at} · every ${tellDuration(everyMs)} · q ends`));
  const troubles = trouble === undefined ? [] : [output.paint("red", fitting(trouble))];
  if (seen === undefined) return [title, "", ...troubles];
  const { asked, settings } = search;
  const all = select(seen.locks, settings);
  const footer = (selection: typeof all) => [
    "",
    ...troubles,
    ...tellSearch(seen, selection, { asked, settings }).map((line) => output.paint("dim", fitting(line))),
  ];
  const room = Math.max(1, rows - LINES_ABOVE - footer(all).length - 1);
  const hidden = Math.max(0, all.locks.length - room);
  const selection = { locks: all.locks.slice(0, room), more: all.more + hidden };
  const table = selection.locks.length === 0 ? [] : tableLines(output, listColumns, selection.locks);
  return [title, "", ...table, ...footer(selection)];
}
