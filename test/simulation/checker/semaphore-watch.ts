import type { SemaphoreSettings } from "../../../src/options.js";
import { savedPermitsKey } from "../../../src/protocol/names.js";
import type { ScriptCall } from "../../../src/protocol/script-call.js";
import { oneIn, pick } from "../draw.js";
import type { Member } from "../workload/member.js";
import type { SimServer } from "../world/sim-server.js";
import type { Answered } from "./answers.js";
import type { CountState } from "./count-state.js";
import { CountWatch, type WatchParts } from "./count-watch.js";
import { PermitLines } from "./permit-lines.js";
import { wrongTurn } from "./permit-turns.js";

/** One that wants permits and may wait for them. */
export interface Waiting {
  readonly what: string;
  readonly member: Member;
  readonly permits: number;
  readonly startUs: number;
  /** Since when the clock of its process shows what it showed when the call began. */
  readonly clockSinceUs: number;
}

const MS = 1_000;
/** Beyond what its client's own periods explain. */
const SLACK_MS = 3_000;
const WANTS_PERMITS: ReadonlySet<string> = new Set(["semaphore-acquire", "permit-acquire"]);

/** What both kinds of semaphore are promised. */
export abstract class SemaphoreWatch extends CountWatch {
  /** How many permits it is to have. */
  readonly size: number;
  readonly settings: SemaphoreSettings;
  /** Whether somebody may delete it. */
  readonly isMortal: boolean;
  readonly #waiting = new Set<Waiting>();
  readonly #lines: PermitLines;
  #free: number | undefined;

  constructor(parts: WatchParts) {
    super(parts);
    this.#lines = new PermitLines(parts);
    const { stream } = parts;
    this.size = pick(stream, [1, 2, 3, 5]);
    this.isMortal = oneIn(stream, 8);
    this.settings = oneIn(stream, 10) ? { ttlMs: pick(stream, [60_000, 500, 4_000]) } : {};
  }

  /** Somebody wants permits. @param mayWait whether he waits until there are enough */
  waits(wanted: Omit<Waiting, "startUs" | "clockSinceUs">, mayWait: boolean): Waiting {
    const { clockSinceUs } = wanted.member.process;
    const waiting = { ...wanted, startUs: this.parts.time.nowUs, clockSinceUs };
    this.#lines.waits(waiting);
    if (mayWait) this.#waiting.add(waiting);
    return waiting;
  }

  /** He has them, or waits no more. */
  waitsNoMore(waiting: Waiting, isServed: boolean): void {
    this.#lines.waitsNoMore(waiting);
    if (!this.#waiting.delete(waiting) || !isServed) return;
    for (const other of this.#waiting) {
      if (other.member !== waiting.member || other.permits !== waiting.permits) continue;
      if (other.startUs >= waiting.startUs) continue;
      this.parts.checker.fail("order", `${waiting.what} was served, and ${other.what} stood before it`);
    }
  }

  /**
   * A call is refused only once its time is up, and if Redis has answered its process since the call began that there are too few: to a
   * question for as many, or by what a grant has left. A question of the very moment in which the machine fell asleep counts as one of the
   * moment in which it woke up: its process can not tell them apart.
   */
  refused({ what, member, permits, startUs, clockSinceUs }: Waiting, waitMs: number): void {
    const by = member.process.name;
    const { checker } = this.parts;
    // By his own clock: his code may have been stopped since he looked at that.
    const waitedMs = (member.process.nowUs - startUs) / MS;
    if (waitMs > 0 && waitedMs < 0.99 * waitMs) {
      checker.fail(
        "truth",
        `${what}: refused, and was to wait for ${waitMs} ms, of which ${waitedMs} are over`,
      );
    }
    const wasShort = (answered: Answered) => answered.status === "short" && wantedOf(answered) === permits;
    const leftTooFew = ({ script, status, numbers: [left = 0] }: Answered) =>
      WANTS_PERMITS.has(script) && status === "granted" && left < permits;
    const isInTime = ({ atUs, askedUs }: Answered) => atUs >= startUs || askedUs >= clockSinceUs;
    const tells = (answered: Answered) => isInTime(answered) && (wasShort(answered) || leftTooFew(answered));
    if (this.answers.some(by, clockSinceUs, tells)) return;
    checker.fail("truth", `${what}: refused, and the server was never short of permits for it`);
  }

  override starts(server: SimServer, call: ScriptCall): void {
    super.starts(server, call);
    this.#lines.starts();
  }

  published(channel: string, message: string, heard: number): void {
    this.#lines.published(channel, message, heard);
  }

  glance(): void {
    const { count = 0, saved, queue } = this.state;
    this.#lines.glance(queue, this.#waiting);
    if (this.#waiting.size === 0) return;
    const free = count - (saved?.permits ?? 0);
    if (free !== this.#free) this.changed();
    this.#free = free;
    const { time, trouble, checker } = this.parts;
    for (const { what, member, permits, startUs } of this.#waiting) {
      if (free < permits || member.process.isDead) continue;
      const sinceUs = Math.max(startUs, this.changedUs, trouble.endsUs);
      const { safetyPeriodMs, commandTimeoutMs } = member.plan.options;
      const longestMs = 2 * safetyPeriodMs + 3 * commandTimeoutMs + SLACK_MS;
      if (time.nowUs - sinceUs > longestMs * MS) {
        checker.fail("progress", `${what} waits, and ${free} permits are free since ${sinceUs / MS} ms`);
      }
    }
  }

  protected answered(answered: Answered, after: CountState): void {
    const { args, status, script, before } = answered;
    this.#lines.answered(answered, after, this.server);
    const wrong = wrongTurn(this.server, this.name, answered, after);
    if (wrong !== undefined) this.parts.checker.fail("order", `the queue of "${this.name}": ${wrong}`);
    if (after.saved !== undefined && Number(this.server.command("PTTL", savedPermitsKey(this.name))) < 0) {
      this.parts.checker.fail("leftovers", `"${this.name}": permits are saved up for ever`);
    }
    if (!WANTS_PERMITS.has(script) || status === "late") return;
    const [, owner] = args;
    const saveMs = Number(args[3]);
    const has = after.saved?.owner === owner;
    const had = before.saved?.owner === owner;
    const mayHave = status === "short" && saveMs > 0 && (had || before.saved === undefined);
    if (!has || mayHave || answered.isRepeat) return;
    this.parts.checker.fail("order", `"${this.name}": permits are saved up for ${owner}, which must not be`);
  }
}

function wantedOf({ script, args }: Answered): number {
  return script === "permit-acquire" ? (args[2] ?? "").length / 32 : Number(args[2]);
}
