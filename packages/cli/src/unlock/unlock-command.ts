import { type Command, Option } from "commander";
import { staleAfterMs } from "holdfast/watch";
import { type Act, type Context, command } from "../command.js";
import { connectionAsTyped } from "../connection/as-typed.js";
import { tellDuration } from "../duration.js";
import { exitCodes } from "../exit-codes.js";
import { Failure, mistake } from "../failure.js";
import type { Output } from "../output.js";
import { plain } from "../text/plain.js";
import { isHolder, tellHolder } from "../text/tell-holder.js";
import { free } from "./free.js";
import type { UnlockOutcome } from "./journal.js";
import { readLine } from "./prompt.js";
import { type RecordedOptions, recorded, recordedOptions } from "./recorded.js";
import { lookAt, type Seen } from "./seen.js";
import { obstacleToStale, watchFall } from "./staleness.js";
import { tellFreed, tellLeft } from "./tell-outcome.js";
import { tellSeen } from "./tell-seen.js";

interface UnlockCommandOptions extends RecordedOptions {
  readonly holder?: readonly string[];
  readonly stale?: boolean;
  readonly force?: boolean;
  readonly yes?: boolean;
}

/** `holdfast unlock NAME`: frees a lock from the holders that it has shown, and only from these. */
export function unlockCommand(act: Act): Command {
  return command("unlock", "free a lock from the holder that was shown", unlockOptions())
    .argument("<name>", "the name of the lock, without the prefix")
    .description(
      "Shows a lock, and frees it if an option says so. It frees only the hold that was shown: if the lock changes meanwhile, nothing is done.",
    )
    .action(act(unlock));
}

function unlockOptions(): readonly Option[] {
  return recordedOptions("What is freed:", [
    new Option("--holder <holder>", "free it if exactly this holder has it; repeat for several holders")
      .argParser((holder: string, before: readonly string[] = []) => [...before, holder])
      .conflicts(["stale", "force"]),
    new Option(
      "--stale",
      "free it if every holder is gone and nothing renews its lease: watches for a third of the lease, at least 11 s",
    ).conflicts(["force"]),
    new Option("--force", "free it, whichever holder has it; on a terminal you must type its name"),
    new Option("--yes", "with --force: do not ask for the name"),
  ]);
}

const deeds: Readonly<Record<UnlockOutcome, string>> = {
  released: "freed",
  absent: "found free",
  changed: "did not free (it changed meanwhile)",
  unknown: "tried to free (no answer: the outcome is unknown)",
};

async function unlock(context: Context, options: UnlockCommandOptions, typedWord = ""): Promise<number> {
  const { output } = context;
  checkOptions(options, context);
  return recorded(context, options, typedWord, "lock", async ({ holdfast, name, group, record }) => {
    const seen = await lookAt(holdfast, name, group);
    const { state } = seen;
    if (state.kind === "semaphore-or-latch" || state.kind === "permit-expirable-semaphore") {
      const isLeased = state.kind === "permit-expirable-semaphore";
      const what = isLeased
        ? "a semaphore: use holdfast release for its permits"
        : "a semaphore or a latch: use holdfast semaphore for its permits";
      throw new Failure(exitCodes.wrongType, `"${plain(name)}" is not a lock, but ${what}`);
    }
    if (!state.holders.every((holder) => isHolder(holder) && !Number.isNaN(state.holdCounts[holder])))
      throw new Failure(exitCodes.wrongType, `"${plain(name)}" is not a lock: another program wrote its key`);
    if (state.holders.length === 0) return tellFreed(output, { name, seen, outcome: "absent" });
    if (!output.isJson) tellSeen(output, name, seen);
    const obstacle = await obstacleTo(context, options, name, seen, () =>
      watchFall(holdfast, seen, { group }),
    );
    if (obstacle !== undefined)
      return tellLeft(output, { name, seen, why: obstacle, asTyped: connectionAsTyped(options) });
    const way = options.force ? "--force" : options.stale ? "--stale" : "--holder";
    const outcome = await free(holdfast, state);
    const holders = seen.lock.holders.map((holder) =>
      holder.client === null ? holder.holder : `${holder.holder} (${tellHolder(holder)})`,
    );
    const deed = { command: `unlock ${way}`, did: deeds[outcome], seen: `held by ${holders.join(", ")}` };
    record(deed);
    return tellFreed(output, { name, seen, outcome });
  });
}

/** @throws Failure for invalid options, before anything is sent */
function checkOptions({ force, yes }: UnlockCommandOptions, { input }: Context): void {
  if (yes && !force) throw mistake("--yes needs --force");
  if (force && !yes && input?.isTTY !== true)
    throw mistake("--force without a terminal needs --yes, because no name can be typed");
}

/** The reason not to free the lock; undefined if there is none. */
async function obstacleTo(
  { output, input }: Context,
  { holder, stale, force, yes }: UnlockCommandOptions,
  name: string,
  seen: Seen,
  watch: () => Promise<string | undefined>,
): Promise<string | undefined> {
  if (force) return yes ? undefined : typed(name, input, output);
  if (holder !== undefined) return obstacleToHolders(holder, seen);
  if (!stale) return "";
  const obstacle = obstacleToStale(seen);
  if (obstacle !== undefined) return `it is not stale: ${obstacle}`;
  const forText = tellDuration(staleAfterMs(seen.state.ttlMs));
  output.say(`all holders are gone; watching for ${forText} whether something still renews the lock`);
  const renewed = await watch();
  return renewed && `it is not stale: ${renewed}`;
}

function obstacleToHolders(wanted: readonly string[], { state, lock }: Seen): string | undefined {
  const given = new Set(wanted);
  if (given.size === state.holders.length && state.holders.every((holder) => given.has(holder)))
    return undefined;
  return `it has other holders than --holder says: ${lock.holders.map((each) => `${each.holder} (${tellHolder(each)})`).join(", ")}`;
}

async function typed(name: string, input: Context["input"], output: Output): Promise<string | undefined> {
  if (input === undefined) return "there is no terminal";
  output.ask(`to free it, type its name (${plain(name)}):`);
  return (await readLine(input)) === name ? undefined : "its name was not typed";
}
