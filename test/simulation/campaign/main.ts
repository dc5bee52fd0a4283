/** The command line of the simulator: `npm run simulate`. */
import "../world/trap.js";

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { findExceptions } from "../exceptions/find.js";
import { runScenes } from "../scenes/main.js";
import { KINDS } from "../workload/families.js";
import { FAULT_SORTS, sortsOf } from "../world/faults.js";
import { kindsOf, TOPOLOGY_NAMES } from "../world/topology.js";
import { Campaign } from "./campaign.js";
import { type Failure, keepFailure } from "./failure.js";
import { type CampaignOptions, parseWish, UsageError, usage } from "./options.js";
import { Progress } from "./progress.js";
import { drawnFor, replay, replayFailure, shown } from "./replay.js";
import { COVERS_ALL, emptyCells, table, tableAsJson } from "./table.js";

/** As a shell tells of a program that Ctrl-C has ended. */
const INTERRUPTED = 130;
const worker = fileURLToPath(new URL("worker.js", import.meta.url));

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

async function main(args: readonly string[]): Promise<number> {
  const wish = parseWish(args, KINDS);
  switch (wish.do) {
    case "help":
      process.stdout.write(usage);
      return 0;
    case "replay": {
      const outcome = await replay(wish.what, wish.only, wish.trace);
      process.stdout.write(shown(outcome, process.stdout));
      return outcome.violations.length === 0 ? 0 : 1;
    }
    case "defects":
    case "mutants":
      return await hunt(wish.do, wish.args);
    case "exceptions":
      return await findExceptions(wish.args);
    case "scenes":
      return await explore(wish.args);
    case "play":
      return await play(wish.options);
  }
}

async function explore(args: readonly string[]): Promise<number> {
  try {
    return await runScenes(args, (history) => drawnFor(history, process.stdout));
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

async function hunt(what: "defects" | "mutants", args: readonly string[]): Promise<number> {
  // Loaded only here: it reads all sources.
  const { runDefects } = await import("../defects/run.js");
  try {
    return await runDefects(what, args);
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

async function play(options: CampaignOptions): Promise<number> {
  const progress = new Progress(process.stderr, options);
  let telling = Promise.resolve();
  const campaign = new Campaign(options, worker, {
    glance: (tally, elapsedMs) => progress.glance(tally, elapsedMs),
    found: (failure, tries) => {
      // One after the other: a process plays one schedule at a time.
      telling = telling.then(() => tell(failure, tries, progress));
    },
  });
  process.stderr.write(`seed ${options.firstSeed}, ${options.workers} workers\n`);
  process.on("SIGINT", () => {
    campaign.interrupt();
    process.on("SIGINT", () => process.exit(INTERRUPTED));
  });
  process.on("SIGTERM", () => campaign.interrupt());
  const end = await campaign.play();
  await telling;
  progress.clear();
  const isWhole = options.only === undefined && campaign.tally.schedules >= COVERS_ALL;
  const { tally, elapsedMs } = campaign;
  const head = {
    firstSeed: options.firstSeed,
    elapsedMs,
    end,
    kinds: options.only ?? KINDS,
    faults: FAULT_SORTS,
    canMeet,
    isWhole,
  };
  process.stdout.write(`${table(tally, head, process.stdout.columns ?? 120)}\n`);
  if (options.jsonFile !== undefined) {
    writeFileSync(options.jsonFile, `${JSON.stringify(tableAsJson(tally, head), null, 2)}\n`);
  }
  if (tally.broken.length > 0 || (isWhole && emptyCells(tally, head).length > 0)) return 1;
  return end === "interrupted" ? INTERRUPTED : 0;
}

function canMeet(kind: string, fault: string): boolean {
  return TOPOLOGY_NAMES.some(
    (name) => kindsOf(name, [kind]).length > 0 && sortsOf(name, [kind]).includes(fault),
  );
}

async function tell(failure: Failure, tries: number, progress: Progress): Promise<void> {
  const outcome = await replayFailure(failure);
  const file = keepFailure(failure);
  progress.clear();
  const lines = [
    `\nVIOLATION of ${failure.rule}, found with seed ${failure.seed}, shrunk in ${tries} tries: ${failure.text.split("\n", 1)[0]}`,
    shown(outcome, process.stdout),
    `Kept as ${file}. To play it again:`,
    `  npm run simulate -- --replay ${file} --trace\n\n`,
  ];
  process.stdout.write(lines.join("\n"));
}
