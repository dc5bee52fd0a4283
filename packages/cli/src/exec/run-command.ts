import type { Clock, FencedLease, Lease } from "holdfast";
import { exitCodes } from "../exit-codes.js";
import { CommandProcess, type Ending } from "./command-process.js";
import type { ExecNews } from "./exec-news.js";
import type { ExecSettings } from "./exec-options.js";
import { type Cap, Guard, type Loss } from "./guard.js";
import { endingSignals, isPassedOn, onSignals, type SignalRoute, stoppingSignals } from "./signals.js";
import { Suspension } from "./suspension.js";

/** The outcome of a command: how the command ended, and whether the lock was lost before the command's whole group was gone. */
export interface Course {
  readonly ending: Ending;
  readonly loss: Loss | undefined;
  /** Whether the command got a signal that ends programs: then holdfast should also end soon. */
  readonly wasEnded: boolean;
}

/**
 * Runs a command, and passes signals on to it.
 * @param env the environment of the command
 * @returns when no process of the command is left @throws Failure if the command cannot be started
 */
export async function runCommand(
  lease: Lease | FencedLease,
  settings: ExecSettings,
  env: NodeJS.ProcessEnv,
  signals: SignalRoute,
  news: ExecNews,
  clock: Clock,
): Promise<Course> {
  const { command: runnable, isGroup, diesWithParent, killAfterMs, lastMs } = settings;
  const command = await CommandProcess.start({ runnable, env, isGroup, diesWithParent });
  const cap = capOf(lease, settings, clock.monotonicMs());
  const guard = new Guard({ lease, guarded: command, terms: { killAfterMs, lastMs }, clock, news, cap });
  const passing = new PassedOn(command, guard, news);
  const back = signals.to(passing.pass);
  const unstopped = onSignals(stoppingSignals, new Suspension(command, clock).begin);
  const onBug = (error: Error) => {
    guard.kill();
    process.stderr.write(`holdfast: this is a bug of holdfast, please report it:\n${error.stack}\n`);
    process.exit(exitCodes.software);
  };
  process.on("uncaughtException", onBug);
  try {
    const ending = await command.ended;
    guard.commandEnded();
    const loss = await guard.over;
    return { ending, loss, wasEnded: passing.wasEnded };
  } finally {
    process.off("uncaughtException", onBug);
    unstopped();
    back();
  }
}

function capOf(lease: Lease, { leaseMs, maxHoldMs }: ExecSettings, nowMs: number): Cap | undefined {
  if (leaseMs !== undefined) return { reason: "lease-ends", endsAtMs: nowMs + lease.remainingMs() };
  return maxHoldMs === undefined ? undefined : { reason: "max-hold-ends", endsAtMs: nowMs + maxHoldMs };
}

/** The signals that holdfast passes on to the command. */
class PassedOn {
  readonly #command: CommandProcess;
  readonly #guard: Guard;
  readonly #news: ExecNews;
  wasEnded = false;
  #ends = 0;

  constructor(command: CommandProcess, guard: Guard, news: ExecNews) {
    this.#command = command;
    this.#guard = guard;
    this.#news = news;
  }

  readonly pass = (signal: NodeJS.Signals): void => {
    if (!isPassedOn(signal, this.#command.isGroup)) return;
    // Holdfast may have been suspended for longer than its lease: a command whose lease is over must not continue.
    if (signal === "SIGCONT") this.#guard.look();
    this.#command.send(signal);
    if (endingSignals.includes(signal)) this.wasEnded = true;
    if (signal !== "SIGINT" && signal !== "SIGTERM") return;
    this.#ends += 1;
    if (this.#ends === 2) this.#news.killLater(signal, this.#guard.killLater());
  };
}
