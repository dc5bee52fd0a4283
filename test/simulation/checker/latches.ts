import { oneIn, pick } from "../draw.js";
import type { Member } from "../workload/member.js";
import type { Answered } from "./answers.js";
import type { CountState } from "./count-state.js";
import { CountWatch, type WatchParts } from "./count-watch.js";

/** One that waits until a latch is open. */
interface Awaiting {
  readonly what: string;
  readonly member: Member;
  readonly startUs: number;
}

/** What a process has done to a latch. */
interface Account {
  readonly member: Member;
  /** How many of its calls to count down have begun, surely had their effect, and surely had none. */
  begun: number;
  told: number;
  refused: number;
  /** How many the server has seen. */
  seen: number;
}

const MS = 1_000;
/** Beyond what its client's own periods explain. */
const SLACK_MS = 3_000;

/** A count-down latch: it opens once for each time that it was closed, and nobody passes before. */
export class LatchWatch extends CountWatch {
  /** How often it is to be counted down. */
  readonly size: number;
  /** Whether somebody may open it by deleting it. */
  readonly isMortal: boolean;
  readonly #awaiting = new Set<Awaiting>();
  readonly #accounts = new Map<string, Account>();
  /** Since when it is open; undefined: it is closed. */
  #openSinceUs: number | undefined = 0;
  /** When it was last open, if it is closed. */
  #openUntilUs = 0;

  constructor(parts: WatchParts) {
    super(parts);
    this.size = pick(parts.stream, [2, 1, 3, 5]);
    this.isMortal = oneIn(parts.stream, 4);
  }

  awaits(what: string, member: Member): Awaiting {
    const awaiting = { what, member, startUs: this.parts.time.nowUs };
    this.#awaiting.add(awaiting);
    return awaiting;
  }

  /** @param passed what it was told; undefined: the call has failed */
  awaited(awaiting: Awaiting, passed: boolean | undefined, waitMs: number | undefined): void {
    this.#awaiting.delete(awaiting);
    if (passed === undefined) return;
    const { what, startUs, member } = awaiting;
    const { checker } = this.parts;
    const wasOpen = this.#openSinceUs !== undefined || this.#openUntilUs >= startUs;
    if (passed && !wasOpen)
      checker.fail("exclusion", `${what} has passed, and "${this.name}" was never open meanwhile`);
    if (passed) return;
    // By its own clock: its code may have been stopped since it looked at that.
    const waitedMs = (member.process.nowUs - startUs) / MS;
    if (waitMs === undefined || waitedMs < 0.99 * waitMs) {
      checker.fail("truth", `${what} has not passed, and had ${waitMs} ms, of which ${waitedMs} are over`);
    }
  }

  /** Somebody is about to count it down. */
  countsDown(member: Member): Account {
    const { name } = member.process;
    const account = this.#accounts.get(name) ?? { member, begun: 0, told: 0, refused: 0, seen: 0 };
    this.#accounts.set(name, account);
    account.begun += 1;
    return account;
  }

  glance(): void {
    const { time, trouble, checker } = this.parts;
    if (this.#openSinceUs === undefined) return;
    for (const { what, member, startUs } of this.#awaiting) {
      if (member.process.isDead) continue;
      const { safetyPeriodMs, commandTimeoutMs } = member.plan.options;
      const sinceUs = Math.max(startUs, this.#openSinceUs, trouble.endsUs);
      const longestMs = 2 * safetyPeriodMs + 3 * commandTimeoutMs + SLACK_MS;
      if (time.nowUs - sinceUs > longestMs * MS) {
        checker.fail("progress", `${what} waits, and "${this.name}" is open since ${sinceUs / MS} ms`);
      }
    }
  }

  end(): void {
    for (const [name, { member, begun, told, refused, seen }] of this.#accounts) {
      if (member.process.isDead) {
        if (seen < begun) this.parts.checker.excuse("counts of a process that was killed");
        continue;
      }
      if (member.isClosing || begun - refused === seen) continue;
      const text = `${name} counted down ${begun} times, was told so of ${told}, and of ${refused} that it failed`;
      this.parts.checker.fail("conservation", `"${this.name}": ${text}; the server has seen ${seen}`);
    }
  }

  protected answered({ script, status, by, isRepeat }: Answered, { count }: CountState): void {
    const { nowUs } = this.parts.time;
    if (script === "latch-count-down" && status === "counted" && !isRepeat) {
      const account = this.#accounts.get(by);
      if (account !== undefined) account.seen += 1;
      if (account === undefined || account.seen > account.begun) {
        this.parts.checker.fail(
          "conservation",
          `"${this.name}": ${by} counts down more often than it was asked to`,
        );
      }
    }
    const isOpen = count === undefined;
    if (isOpen === (this.#openSinceUs !== undefined)) return;
    if (isOpen) this.#openSinceUs = nowUs;
    else {
      this.#openSinceUs = undefined;
      this.#openUntilUs = nowUs;
    }
  }
}
