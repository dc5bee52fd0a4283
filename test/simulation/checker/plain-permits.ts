import type { Member } from "../workload/member.js";
import type { Answered } from "./answers.js";
import type { CountState } from "./count-state.js";
import { SemaphoreWatch } from "./semaphore-watch.js";

/** What a process has of a semaphore, by what its calls were told. */
interface Account {
  readonly member: Member;
  /** What it has surely taken, less what it has given or may have given. */
  has: number;
  /** How much of what it may have given it may still have: nobody knows. */
  mayHave: number;
  /** Permits that somebody works with. */
  held: number;
}

/** The permits of a plain semaphore: nobody owns them, so that each process has an account. */
export class PlainPermits extends SemaphoreWatch {
  readonly #accounts = new Map<string, Account>();
  /** By process: what the server has given it, less what it has brought. */
  readonly #out = new Map<string, number>();
  /** How many there may be at once. */
  #total = 0;

  /** A call has brought permits that somebody works with from now on. */
  gained(member: Member, permits: number): void {
    const account = this.#account(member);
    account.has += permits;
    account.held += permits;
    this.#compare();
  }

  /** They are about to be given back: from now on nobody works with them. */
  gives(member: Member, permits: number): void {
    const account = this.#account(member);
    account.has -= permits;
    account.held -= permits;
  }

  /** What was to be given back surely was not. */
  keeps(member: Member, permits: number): void {
    this.#account(member).has += permits;
  }

  /** The number is about to be raised. */
  raises(member: Member, permits: number): void {
    this.#account(member).has -= permits;
    this.#total += permits;
  }

  /** It was not, or nobody knows. */
  notRaised(member: Member, permits: number, isKnown: boolean): void {
    const account = this.#account(member);
    if (isKnown) account.has += permits;
    else account.mayHave += permits;
  }

  /** The number was lowered, or nobody knows whether it was. */
  lowered(member: Member, permits: number, isKnown: boolean): void {
    const account = this.#account(member);
    if (isKnown) account.has += permits;
    else account.mayHave += permits;
  }

  end(): void {
    if (this.isVoid) return;
    for (const [name, account] of this.#accounts) {
      const out = this.#out.get(name) ?? 0;
      const { has, mayHave, member } = account;
      // Who was killed or closed may keep permits for good, but brings no more than it was given.
      const isExcused = member.process.isDead || member.isClosing;
      if (has > out || (!isExcused && out > has + mayHave)) {
        const most = mayHave > 0 ? ` to ${has + mayHave}` : "";
        this.#fail(`${name} has ${has}${most} permits in the end, and the server has given it ${out}`);
      } else if (member.process.isDead) {
        if (out !== has) this.parts.checker.excuse("permits of a process that was killed");
      } else if (isExcused && out !== 0) {
        this.parts.checker.excuse("permits of a client that was closed");
      }
    }
  }

  protected override answered(answered: Answered, after: CountState): void {
    super.answered(answered, after);
    const { script, status, by, args, numbers, isRepeat } = answered;
    if (isRepeat) return;
    if (script === "count-try-set" && status === "set") this.#total += numbers[0] ?? 0;
    if (status === "granted") this.#give(by, Number(args[2]));
    if (status === "added") this.#give(by, -Number(args[1]));
    if (status === "drained") this.#give(by, numbers[0] ?? 0);
    // A cancelled request gives back what it was granted.
    if (script === "semaphore-cancel") this.#give(by, -((after.count ?? 0) - (answered.before.count ?? 0)));
    this.#compare();
  }

  #give(by: string, permits: number): void {
    this.#out.set(by, (this.#out.get(by) ?? 0) + permits);
  }

  #account(member: Member): Account {
    const { name } = member.process;
    const account = this.#accounts.get(name) ?? { member, has: 0, mayHave: 0, held: 0 };
    this.#accounts.set(name, account);
    return account;
  }

  #compare(): void {
    if (this.isVoid) return;
    let held = 0;
    for (const [name, account] of this.#accounts) {
      // What its bodies have may come back when a client is closed, and they know of it.
      if (account.member.process.isDead || account.member.isClosing) continue;
      held += account.held;
      const out = this.#out.get(name) ?? 0;
      if (account.has > out) {
        this.#fail(`${name} believes that it has ${account.has} permits, and the server has given it ${out}`);
      }
    }
    if (held > this.#total) {
      this.parts.checker.fail("exclusion", `"${this.name}": ${held} permits are held of ${this.#total}`);
    }
  }

  #fail(text: string): void {
    this.parts.checker.fail("conservation", `"${this.name}": ${text}`);
  }
}
