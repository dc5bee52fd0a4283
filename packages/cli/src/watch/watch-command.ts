import type { Command } from "commander";
import { type LocksSeen, watchLocks } from "holdfast/watch";
import { type Act, type CommonOptions, type Context, command } from "../command.js";
import { withConnection } from "../connection/connect.js";
import { exitCodes } from "../exit-codes.js";
import { askableSources, assertAskable } from "../find/askable-sources.js";
import { exactName } from "../find/exact-name.js";
import { NamedFinder } from "../find/named-finder.js";
import { patientFinder } from "../find/patient-finder.js";
import { untilInterrupted } from "../interruption.js";
import { checkPattern } from "../ls/list-options.js";
import { tellSources, UNWELL } from "../ls/tell-search.js";
import { ChangeLines, tellAll } from "./tell-change.js";

/** Presence changes at most every five seconds, but stored locks change at any time. */
const EVERY_MS = 1_000;

/** `holdfast watch`: prints each change of locks, one per line. */
export function watchCommand(act: Act): Command {
  return command("watch", "print each change of locks, one per line, until Ctrl-C")
    .argument("[pattern]", "a name, or a glob that names must match: *, ?, [a-z], \\*")
    .action(act(watch));
}

async function watch(context: Context, options: CommonOptions, pattern?: string): Promise<number> {
  checkPattern(pattern);
  const { output } = context;
  const name = pattern === undefined ? undefined : exactName(pattern);
  return withConnection(context, options, async ({ holdfast }, { group }) => {
    await untilInterrupted(async (signal) => {
      const wanted = name === undefined ? (["presence", "channels"] as const) : (["presence"] as const);
      const asked = await askableSources(holdfast, group, wanted);
      if (name === undefined) assertAskable(asked);
      for (const line of asked.missing) output.say(line);
      const outage = {
        began: (why: string) => output.say(`${why}; retrying every second`),
        ended: () => output.say("Redis answers again"),
      };
      const found = name === undefined ? asked.finder : new NamedFinder(holdfast, [name], asked.finder);
      const find = {
        group,
        everyMs: EVERY_MS,
        signal,
        ...(asked.sources.length === 0 ? {} : { sources: asked.sources }),
        ...(pattern === undefined || name !== undefined ? {} : { match: pattern }),
      };
      const lines = new ChangeLines(output);
      let isFirst = true;
      let wasUnwell = false;
      for await (const seen of watchLocks(patientFinder(found, outage, signal), find)) {
        if (isFirst) output.say(name === undefined ? tellStart(seen, asked.sources) : tellLock(seen));
        isFirst = false;
        if (seen.presenceIsUnwell && !wasUnwell) output.say(UNWELL);
        wasUnwell = seen.presenceIsUnwell;
        for (const change of seen.changes) {
          if (output.isJson) output.json({ atMs: seen.atMs, ...change });
          else output.line(lines.of(change, seen));
        }
      }
    });
    return exitCodes.ok;
  });
}

function tellStart({ locks, fleet }: LocksSeen, sources: Parameters<typeof tellSources>[0]): string {
  const count = locks.length === 1 ? "1 lock" : `${locks.length} locks`;
  return `watching, every second: ${count} now, from ${tellSources(sources, fleet.clients.length)}; Ctrl-C ends`;
}

function tellLock({ locks: [lock] }: LocksSeen): string {
  if (lock === undefined) return "watching, every second; Ctrl-C ends";
  const state = lock.holders.length === 0 ? "free" : `held by ${tellAll(lock.holders)}`;
  const waiting = lock.waiting.length === 0 ? "" : `, ${lock.waiting.length} waiting`;
  return `watching "${lock.name}", every second: ${state}${waiting} now; Ctrl-C ends`;
}
