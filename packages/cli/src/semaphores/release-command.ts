import { type Command, Option } from "commander";
import { type Holdfast, type ListedHolder, type LockState, UnavailableError } from "holdfast";
import { type Act, type Context, command } from "../command.js";
import { connectionAsTyped } from "../connection/as-typed.js";
import { exitCodes } from "../exit-codes.js";
import { Failure, mistake } from "../failure.js";
import { plain } from "../text/plain.js";
import { tellHolder } from "../text/tell-holder.js";
import type { UnlockOutcome } from "../unlock/journal.js";
import { type RecordedOptions, recorded, recordedOptions } from "../unlock/recorded.js";
import type { Seen } from "../unlock/seen.js";
import { ownerOf, semaphoreSeen } from "./semaphore-seen.js";
import { tellReleased } from "./tell-released.js";
import { tellSemaphore } from "./tell-semaphore.js";

interface ReleaseOptions extends RecordedOptions {
  readonly permit?: readonly string[];
  readonly client?: readonly string[];
  readonly force?: boolean;
}

/** `holdfast release NAME`: gives back the permits that it has shown, and only these. */
export function releaseCommand(act: Act): Command {
  return command("release", "give back those permits of a semaphore that were shown", releaseOptions())
    .argument("<name>", "the name of the semaphore, without the prefix")
    .description(
      "Shows a semaphore whose permits have ids, and gives back the permits that an option names: only permits that were shown, all of them or none.",
    )
    .action(act(release));
}

function releaseOptions(): readonly Option[] {
  const again = (value: string, before: readonly string[] = []) => [...before, value];
  return recordedOptions("What is given back:", [
    new Option("--permit <id>", "this permit; may be repeated").argParser(again),
    new Option(
      "--client <id>",
      "the permits of this client, by its id or the beginning of it; it must be gone",
    ).argParser(again),
    new Option("--force", "with --client: give them back even if the client is not gone"),
  ]);
}

const deeds: Readonly<Record<UnlockOutcome, string>> = {
  released: "gave back permits of",
  absent: "found already given back permits of",
  changed: "did not give back (some had returned meanwhile) permits of",
  unknown: "tried to give back (no answer: the outcome is unknown) permits of",
};

async function release(context: Context, options: ReleaseOptions, typedWord = ""): Promise<number> {
  const { output } = context;
  if (options.force && options.client === undefined) throw mistake("--force needs --client");
  return recorded(context, options, typedWord, "semaphore", async ({ holdfast, name, group, record }) => {
    const seen = await semaphoreSeen(holdfast, name, group);
    if (!output.isJson) tellSemaphore(output, name, seen);
    const asTyped = connectionAsTyped(options);
    const chosen = idsOf(seen, options);
    if ("why" in chosen) return tellReleased(output, { name, seen, asTyped, ids: [], ...chosen });
    const { ids } = chosen;
    const outcome = await giveBack(holdfast, seen.state, ids);
    const told = ids.map((id) => {
      const owner = ownerOf(seen.lock.holders, id);
      return owner === undefined ? id : `${id} (${tellHolder(owner)})`;
    });
    const deed = { command: "release", did: deeds[outcome], seen: `permits ${told.join(", ")}` };
    record(deed);
    return tellReleased(output, { name, seen, asTyped, ids, outcome });
  });
}

/**
 * The chosen permits, or the reason why none is chosen. The reason is "" if no option chooses permits. @throws Failure for a plain
 * semaphore
 */
function idsOf(
  { state, lock }: Seen,
  { permit = [], client = [], force = false }: ReleaseOptions,
): { readonly ids: readonly string[] } | { readonly why: string } {
  const { taken = [], takenCount } = state;
  if (permit.length + client.length === 0) return { why: "" };
  if (takenCount === undefined)
    throw new Failure(
      exitCodes.wrongType,
      `none of the permits of "${plain(state.name)}" has an id: holdfast semaphore changes how many are available`,
    );
  const ids = new Set(permit.map((id) => id.toLowerCase()));
  for (const id of ids)
    if (!taken.some((each) => each.id === id)) return { why: `the permit ${id} is not out` };
  for (const start of client) {
    const holders = lock.holders.filter(({ holder }) => holder.startsWith(start.toLowerCase()));
    const [holder] = holders;
    if (holder === undefined) return { why: `no client ${start} reports permits of it` };
    if (holders.some((each) => each.holder !== holder.holder))
      return { why: `several client ids begin with ${start}: give more of the id` };
    if (holder.client?.state === "there" && !force)
      return { why: `${tellHolder(holder)} is not gone; --force gives its permits back anyway` };
    const ofOthers = new Set(lock.holders.filter(isThere).flatMap(({ permitIds = [] }) => permitIds));
    for (const { permitIds = [] } of holders)
      for (const id of permitIds) if (force || !ofOthers.has(id)) ids.add(id);
  }
  return ids.size === 0
    ? { why: "the named clients report no permits that are out, or running clients report them too" }
    : { ids: [...ids] };
}

/** If two clients report the same permit, the report of the client that still sends beats is the newer one. */
function isThere({ client }: ListedHolder): boolean {
  return client?.state === "there";
}

/**
 * If the answer is lost, the semaphore is read again, and the command is not repeated. @throws errors of commands that surely had no effect
 */
async function giveBack(
  holdfast: Holdfast,
  state: LockState,
  ids: readonly string[],
): Promise<UnlockOutcome> {
  try {
    return await holdfast.forceRelease(state, { ids });
  } catch (error) {
    if (!(error instanceof UnavailableError) || !error.outcomeUnknown) throw error;
    return holdfast.inspect(state.name).then(
      ({ taken = [] }) => (taken.some(({ id }) => ids.includes(id)) ? "unknown" : "released"),
      () => "unknown",
    );
  }
}
