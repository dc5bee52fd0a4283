import type { Command } from "commander";
import { type LocksSeen, staleAfterMs, watchLocks } from "holdfast/watch";
import { type Act, type Context, command } from "../command.js";
import { withConnection } from "../connection/connect.js";
import { exitCodes } from "../exit-codes.js";
import { Failure, mistake } from "../failure.js";
import { type AskableSources, askableSources, assertAskable } from "../find/askable-sources.js";
import { typedName } from "../hex-names.js";
import { writeTable } from "../text/table.js";
import { listColumns } from "./list-columns.js";
import { type ListOptions, type ListSettings, listOptions, listSettings } from "./list-options.js";
import { watchTable } from "./live-table.js";
import { select } from "./selection.js";
import { tellSearch } from "./tell-search.js";

/** The pause between two looks of `--stale`: in this time, a watchdog of 30 s raises the TTL at least once. */
const APART_MS = 11_500;
/** The largest number of looks: while they last, a watchdog of three minutes raises the TTL at least once. */
const MOST_LOOKS = 7;

/** `holdfast ls`: the locks that are held or waited for. */
export function listCommand(act: Act): Command {
  const summary = "list the locks that are held or waited for, and by which programs";
  return command("ls", summary, listOptions())
    .argument("[pattern]", "a glob that names must match: *, ?, [a-z], \\*")
    .action(act(list));
}

async function list(context: Context, options: ListOptions, typed?: string): Promise<number> {
  const pattern = typed === undefined ? undefined : typedName(typed, options);
  const settings = listSettings(options, pattern);
  const { output } = context;
  if (settings.everyMs !== undefined && !output.isTerminal)
    throw mistake(
      "--watch redraws a terminal, and stdout is not a terminal: holdfast watch prints changes line by line",
    );
  return withConnection(context, options, async (connection, { group }) => {
    const asked = await askableSources(connection.holdfast, group, settings.sources);
    assertAskable(asked);
    if (settings.stale && !asked.sources.includes("presence"))
      throw new Failure(exitCodes.noRight, `--stale needs presence: ${asked.missing.join("\n")}`);
    for (const line of asked.missing) output.say(line);
    const search = { group, asked, settings };
    if (settings.everyMs !== undefined) await watchTable(context, search, settings.everyMs);
    else await listOnce(context, search);
    return exitCodes.ok;
  });
}

/** How many looks follow the first look. */
function looksAfter({ locks }: LocksSeen, stale: boolean): number {
  if (!stale) return 0;
  const leases = locks.filter(
    ({ ttlMs, holders }) =>
      ttlMs >= 0 &&
      holders.length > 0 &&
      holders.every(({ client, renewed }) => client?.state === "gone" && renewed !== false),
  );
  const neededMs = Math.max(0, ...leases.map(({ ttlMs }) => staleAfterMs(ttlMs)));
  return Math.min(Math.max(1, Math.ceil(neededMs / APART_MS)), MOST_LOOKS - 1);
}

/** What to read, and from where. */
export interface ListSearch {
  readonly group: string;
  readonly asked: AskableSources;
  readonly settings: ListSettings;
}

async function listOnce({ output }: Context, search: ListSearch): Promise<void> {
  const { settings, asked } = search;
  const { stale } = settings;
  if (stale)
    output.say(
      "looking again after 11 s, or after a third of the lease of a lock whose holders are gone: by then, a live client has renewed its lock",
    );
  // No signal is needed to end the looks, because Ctrl-C ends the process.
  const seen = await look(search);
  const selection = select(seen.locks, settings);
  if (output.isJson) for (const lock of selection.locks) output.json(lock);
  else if (selection.locks.length > 0) writeTable(output, listColumns, selection.locks);
  for (const line of tellSearch(seen, selection, { asked, settings })) output.say(line);
}

/** One look; for `--stale` the last of several looks. */
async function look({ group, asked, settings }: ListSearch): Promise<LocksSeen> {
  const { match, maxKeys, stale } = settings;
  const { sources, finder } = asked;
  const find = {
    group,
    sources,
    everyMs: APART_MS,
    ...(match === undefined ? {} : { match }),
    ...(maxKeys === undefined ? {} : { maxKeys }),
  };
  let left: number | undefined;
  for await (const seen of watchLocks(finder, find)) {
    left = left === undefined ? looksAfter(seen, stale) : left - 1;
    if (left === 0) return seen;
  }
  throw new Error("unreachable: looks go on until the loop is left");
}
