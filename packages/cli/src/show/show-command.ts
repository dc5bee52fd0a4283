import { type Command, Option } from "commander";
import { type Act, type CommonOptions, type Context, command } from "../command.js";
import { connectionAsTyped } from "../connection/as-typed.js";
import { withConnection } from "../connection/connect.js";
import { exitCodes } from "../exit-codes.js";
import { Failure, mistake } from "../failure.js";
import { isHolder } from "../text/tell-holder.js";
import { lookByName, type ShownLock } from "./shown-lock.js";
import { tellLock } from "./tell-lock.js";
import { unlockLine } from "./unlock-line.js";

interface ShowOptions extends CommonOptions {
  readonly kind?: "semaphore" | "latch";
  readonly exitCode?: boolean;
}

/** `holdfast show`: all that is known about some locks. */
export function showCommand(act: Act): Command {
  const own = [
    new Option("--kind <kind>", "what the name is of: both are stored alike").choices(["semaphore", "latch"]),
    new Option("--exit-code", "exit with 1 when one of them is free"),
  ];
  const summary = "all that is known about locks: holders, waiters, lease, and how to free them";
  return command(
    "show",
    summary,
    own.map((option) => option.helpGroup("What is shown:")),
  )
    .argument("<name...>", "the names of locks, semaphores or latches")
    .action((names: readonly string[], ...rest) => act(show)(...names, ...rest));
}

async function show(context: Context, options: ShowOptions, ...names: string[]): Promise<number> {
  const { output } = context;
  if (names.includes("")) throw mistake("the name of a lock must not be empty");
  return withConnection(context, options, async (connection, { group }) => {
    const { locks: found, missing } = await lookByName(connection, names, group);
    const locks = found.map((lock) => ofKind(lock, options.kind));
    const asTyped = connectionAsTyped(options);
    for (const [at, lock] of locks.entries()) {
      const unlock = isUnlockable(lock) ? unlockLine(lock.name, lock.holders, asTyped) : undefined;
      if (output.isJson) output.json({ ...lock, unlock: unlock ?? null });
      else
        for (const line of [...(at > 0 ? [""] : []), ...tellLock(output, lock, asTyped, unlock)])
          output.line(line);
    }
    for (const line of missing) output.say(line);
    return options.exitCode && locks.some(isFree) ? exitCodes.no : exitCodes.ok;
  });
}

/** @throws Failure where it is surely of another */
function ofKind(lock: ShownLock, wanted: ShowOptions["kind"]): ShownLock {
  if (wanted === undefined) return lock;
  const { kind, available, name } = lock;
  const isOther = kind === "permit-expirable-semaphore" ? wanted === "latch" : available === undefined;
  if (isOther && kind !== "none")
    throw new Failure(exitCodes.wrongType, `"${name}" is no ${wanted}: its key has a ${kind}`);
  if (kind === "permit-expirable-semaphore") return lock;
  return { ...lock, kind: wanted === "latch" ? "count-down-latch" : "semaphore", available: available ?? 0 };
}

function isUnlockable({ kind, available, holders }: ShownLock): boolean {
  return kind !== "none" && available === undefined && holders.every(({ holder }) => isHolder(holder));
}

function isFree({ kind, holders, available }: ShownLock): boolean {
  if (available === undefined) return holders.length === 0;
  return kind === "count-down-latch" ? available === 0 : available > 0;
}
