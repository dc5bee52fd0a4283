import { type Command, Option } from "commander";
import { type Act, type CommonOptions, type Context, command } from "../command.js";
import { connectionAsTyped } from "../connection/as-typed.js";
import { withConnection } from "../connection/connect.js";
import { exitCodes } from "../exit-codes.js";
import { Failure, mistake } from "../failure.js";
import { type HexOption, hexOption, typedName } from "../hex-names.js";
import { isHolder } from "../text/tell-holder.js";
import { lookByName, type ShownLock } from "./shown-lock.js";
import { tellLock } from "./tell-lock.js";
import { giveBackLine, unlockLine } from "./unlock-line.js";

interface ShowOptions extends CommonOptions, HexOption {
  readonly kind?: "semaphore" | "latch";
  readonly exitCode?: boolean;
}

/** `holdfast show`: all known facts about some locks. */
export function showCommand(act: Act): Command {
  const own = [
    new Option("--kind <kind>", "the kind of the name: both are stored in the same way").choices([
      "semaphore",
      "latch",
    ]),
    hexOption(),
    new Option("--exit-code", "exit with 1 if one of them is free"),
  ];
  const summary = "show all about locks: holders, waiters, lease, and how to free them";
  return command(
    "show",
    summary,
    own.map((option) => option.helpGroup("What is shown:")),
  )
    .argument("<name...>", "the names of locks, semaphores or latches")
    .action((names: readonly string[], ...rest) => act(show)(...names, ...rest));
}

async function show(context: Context, options: ShowOptions, ...typed: string[]): Promise<number> {
  const { output } = context;
  const names = typed.map((word) => typedName(word, options));
  if (names.includes("")) throw mistake("the name of a lock must not be empty");
  return withConnection(context, options, async (connection, { group }) => {
    const { locks: found, missing } = await lookByName(connection, names, group);
    const locks = found.map((lock) => ofKind(lock, options.kind));
    const asTyped = connectionAsTyped(options);
    for (const [at, lock] of locks.entries()) {
      const unlock = freeingLine(lock, asTyped);
      if (output.isJson) output.json({ ...lock, unlock: unlock ?? null });
      else
        for (const line of [...(at > 0 ? [""] : []), ...tellLock(output, lock, asTyped, unlock)])
          output.line(line);
    }
    for (const line of missing) output.say(line);
    return options.exitCode && locks.some(isFree) ? exitCodes.no : exitCodes.ok;
  });
}

/** @throws Failure if the key surely belongs to another kind of object */
function ofKind(lock: ShownLock, wanted: ShowOptions["kind"]): ShownLock {
  if (wanted === undefined) return lock;
  const { kind, available, name } = lock;
  const isOther = kind === "permit-expirable-semaphore" ? wanted === "latch" : available === undefined;
  if (isOther && kind !== "none")
    throw new Failure(exitCodes.wrongType, `"${name}" is not a ${wanted}: its key has a ${kind}`);
  if (kind === "permit-expirable-semaphore") return lock;
  return { ...lock, kind: wanted === "latch" ? "count-down-latch" : "semaphore", available: available ?? 0 };
}

/** The command that frees a lock, or gives back permits of clients that are gone. */
function freeingLine(
  { kind, available, name, holders }: ShownLock,
  asTyped: readonly string[],
): string | undefined {
  if (kind === "count-down-latch") return undefined;
  if (available !== undefined) return giveBackLine(name, holders, asTyped);
  const isLock =
    kind !== "none" && holders.every(({ holder, count }) => isHolder(holder) && !Number.isNaN(count));
  return isLock ? unlockLine(name, holders, asTyped) : undefined;
}

function isFree({ kind, holders, available }: ShownLock): boolean {
  if (available === undefined) return holders.length === 0;
  return kind === "count-down-latch" ? available === 0 : available > 0;
}
