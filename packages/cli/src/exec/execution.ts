import type { Clock, FencedLease, Lease } from "holdfast";
import { type Connection, connect } from "../connection/connect.js";
import type { ConnectionSettings } from "../connection/settings.js";
import { exitCodes } from "../exit-codes.js";
import { Failure } from "../failure.js";
import { failureOf } from "../failure-of.js";
import type { Output } from "../output.js";
import { plain } from "../text/plain.js";
import { acquire } from "./acquire.js";
import { type Ending, exitCodeOf } from "./command-process.js";
import { environmentFor } from "./environment.js";
import { ExecNews } from "./exec-news.js";
import type { ExecSettings } from "./exec-options.js";
import { within } from "./process-clock.js";
import { type Released, release } from "./release.js";
import type { Report } from "./report.js";
import { type Course, runCommand } from "./run-command.js";
import { Cancelled, SignalRoute } from "./signals.js";
import { tellHolders } from "./tell-holders.js";
import { WaitingLines } from "./waiting-lines.js";

export interface ExecutionSurroundings {
  readonly env: NodeJS.ProcessEnv;
  /** The output must not block: a command may have filled the pipe that it shares with holdfast. */
  readonly output: Output;
  readonly clock: Clock;
  /** The command that prints which rights are missing. */
  readonly doctorLine: string;
}

/** How an execution has ended. If the lock was not lost, the exit code is the command's. */
type ExecutionOutcome = Pick<Report, "outcome" | "exitCode" | "reason">;

/**
 * Closing takes at most this long, because the caller waits for the exit code. The second limit applies if Redis had stopped answering before the closing began.
 */
const CLOSE_WITHIN_MS = 3_000;
const CLOSE_UNANSWERED_WITHIN_MS = 250;
/** The longest name of a program that presence accepts. */
const LONGEST_APP = 64;

/**
 * Runs a command under a lock, once. While it acquires the lock, no command runs, and a signal ends the execution. While the command runs,
 * `Guard` keeps the state. When no process is left, the lock is released.
 */
export class Execution {
  readonly #settings: ExecSettings;
  readonly #connection: ConnectionSettings;
  readonly #surroundings: ExecutionSurroundings;
  readonly #signals = new SignalRoute();
  readonly #startedMs: number;
  #lease: Lease | FencedLease | undefined;
  #acquiredMs: number | undefined;
  #releasedMs: number | undefined;
  #ending: Ending | undefined;
  #isUnanswered = false;

  constructor(settings: ExecSettings, connection: ConnectionSettings, surroundings: ExecutionSurroundings) {
    this.#settings = settings;
    this.#connection = connection;
    this.#surroundings = surroundings;
    this.#startedMs = surroundings.clock.monotonicMs();
  }

  /** @returns the outcome; never rejects */
  async run(): Promise<Report> {
    try {
      return this.#report(await this.#connected());
    } catch (error) {
      return this.#report(this.#failed(error));
    } finally {
      this.#signals.close();
    }
  }

  async #connected(): Promise<ExecutionOutcome> {
    const { command, ttlMs } = this.#settings;
    const { group } = this.#connection;
    const presence = { app: command.called.slice(0, LONGEST_APP), group, labels: { via: "holdfast exec" } };
    // Set for the whole client, because holdfast would round the `watchdogMs` of a single call.
    const options = { watchdogMs: ttlMs, presence };
    const connection = await connect(this.#connection, options, this.#signals.ended);
    try {
      const lease = await this.#acquire(connection);
      if (lease === null) return await this.#conflict(connection);
      return await this.#holding(lease);
    } finally {
      const withinMs = this.#isUnanswered ? CLOSE_UNANSWERED_WITHIN_MS : CLOSE_WITHIN_MS;
      await within(this.#surroundings.clock, withinMs, connection.close());
      connection.redis.disconnect();
    }
  }

  async #acquire({ holdfast }: Connection): Promise<Lease | FencedLease | null> {
    const { output, clock } = this.#surroundings;
    const { name, reportEveryMs } = this.#settings;
    const where = { holdfast, group: this.#connection.group };
    const lines = new WaitingLines(name, reportEveryMs, where, output, clock);
    try {
      const tell = (text: string) => output.say(text);
      return await acquire(holdfast, this.#settings, clock, this.#signals.ended, tell);
    } finally {
      lines.stop();
    }
  }

  async #conflict({ holdfast }: Connection): Promise<ExecutionOutcome> {
    const { output } = this.#surroundings;
    const { name, conflictExitCode } = this.#settings;
    if (!output.isQuiet) {
      const where = { holdfast, group: this.#connection.group };
      const told = await tellHolders(name, where).catch(() => "Redis does not say who holds it");
      output.say(`lock "${plain(name)}" was not acquired in time: ${told}`);
    }
    return { outcome: "conflict", exitCode: conflictExitCode, reason: null };
  }

  async #holding(lease: Lease | FencedLease): Promise<ExecutionOutcome> {
    const { clock, output } = this.#surroundings;
    this.#lease = lease;
    this.#acquiredMs = clock.monotonicMs();
    const news = new ExecNews(output, this.#settings, () => this.#heldMs ?? 0);
    let course: Course;
    try {
      course = await runCommand(lease, this.#settings, this.#environment(lease), this.#signals, news, clock);
    } catch (error) {
      await lease.unlock().catch((failure: Error) => this.#warn({ failed: failure.message }));
      throw error;
    }
    this.#ending = course.ending;
    const { loss, ending } = course;
    const atLeastMs = loss === undefined ? this.#settings.atLeastMs : 0;
    const released = await release(
      lease,
      { kind: this.#settings.kind, leftMs: atLeastMs - (this.#heldMs ?? 0) },
      clock,
      course.wasEnded ? AbortSignal.abort() : this.#signals.ended,
    );
    this.#releasedMs = clock.monotonicMs();
    this.#isUnanswered = typeof released === "object" && "failed" in released;
    if (loss !== undefined)
      return { outcome: "lost", exitCode: this.#settings.lostExitCode, reason: loss.reason };
    return { outcome: "exited", exitCode: exitCodeOf(ending), reason: this.#warn(released) };
  }

  #environment(lease: Lease | FencedLease): NodeJS.ProcessEnv {
    const { name, scrubsEnv } = this.#settings;
    const token = "token" in lease ? lease.token : undefined;
    const here = { key: this.#connection.prefix + name, name, holder: lease.holder, token };
    return environmentFor(here, this.#surroundings.env, scrubsEnv);
  }

  /** The command has ended: a failure from now on is reported, but changes no exit code. */
  #warn(released: Released): string | null {
    const { output } = this.#surroundings;
    if (released === "released") return null;
    if (released === "left") {
      output.say("a signal ended the wait for --at-least: the lock ends with its lease");
      return null;
    }
    if ("lost" in released) {
      output.complain(`the lock was no longer held when the command ended: ${released.lost}`);
      return released.lost;
    }
    output.complain(`the lock could not be released, and ends with its lease: ${released.failed}`);
    return released.failed;
  }

  #failed(error: unknown): ExecutionOutcome {
    const { output, doctorLine } = this.#surroundings;
    if (error instanceof Cancelled)
      return {
        outcome: "cancelled",
        exitCode: exitCodeOf({ code: null, signal: error.signal }),
        reason: error.signal,
      };
    const { exitCode, message } = error instanceof Failure ? error : failureOf(error);
    // Redis names only the first right that is missing, and several may be missing.
    const advice =
      exitCode === exitCodes.noRight ? `\n${doctorLine} lists the missing rights, with the ACL line` : "";
    output.complain(message + advice);
    const isOfCommand = exitCode === exitCodes.notFound || exitCode === exitCodes.notExecutable;
    return { outcome: isOfCommand ? "not-started" : "failed", exitCode, reason: message };
  }

  get #heldMs(): number | undefined {
    if (this.#acquiredMs === undefined) return undefined;
    return (this.#releasedMs ?? this.#surroundings.clock.monotonicMs()) - this.#acquiredMs;
  }

  #report({ outcome, exitCode, reason }: ExecutionOutcome): Report {
    const lease = this.#lease;
    const heldMs = this.#heldMs;
    const waitedMs = (this.#acquiredMs ?? this.#surroundings.clock.monotonicMs()) - this.#startedMs;
    return {
      outcome,
      exitCode,
      name: this.#settings.name,
      holder: lease?.holder ?? null,
      token: lease !== undefined && "token" in lease ? String(lease.token) : null,
      waitedMs: Math.round(waitedMs),
      heldMs: heldMs === undefined ? null : Math.round(heldMs),
      child: this.#ending ?? null,
      reason,
    };
  }
}
