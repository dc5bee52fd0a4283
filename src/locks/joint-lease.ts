import type { Around } from "../client-options.js";
import { LeaseLostError, NotHeldError } from "../errors.js";
import { type AboutClient, events } from "../events.js";
import { AnyLease, type Lease } from "../lease.js";
import { checkLease, checkUnlockOptions, type UnlockOptions } from "../options.js";
import { showInLogs } from "../printed.js";
import { alsoForCaller, type CallSubject, forCaller, lossForCaller } from "../runtime/for-caller.js";
import { guard } from "../threads/abandonment.js";
import { surrounded } from "../threads/surrounded.js";
import type { AfterBody } from "../threads/threads.js";
import { watched } from "./extend.js";
import type { JointHold, JointMember } from "./joint-hold.js";
import { notKept } from "./keep.js";

interface Said {
  /** The client that made the lock. */
  readonly about: AboutClient;
  readonly around: Around | undefined;
  readonly note: string | undefined;
}

/** The lease of several locks that count as one. */
export class JointLease extends AnyLease implements Lease {
  readonly holdCount: number;
  readonly #hold: JointHold;
  readonly #kind: string;
  readonly #about: AboutClient;
  readonly #around: Around | undefined;
  readonly #note: string | undefined;
  #releasing: Promise<void> | undefined;

  /** @param said what bodies and events need to know: the call's note, and facts and options of the client that made the lock */
  constructor(hold: JointHold, kind: string, { about, around, note }: Said) {
    super();
    this.#hold = hold;
    this.#kind = kind;
    this.#about = about;
    this.#around = around;
    this.#note = note;
    const { members } = hold;
    this.holdCount = Math.min(...members.map((member) => member.hold.holdCount));
    for (const member of members) guard(this, member.hold);
  }

  get name(): string {
    return this.#hold.name;
  }

  /** The threadId of the first member that is held: it stands for the others too. */
  get threadId(): number {
    const { members } = this.#hold;
    const { hold } = members.find((member) => member.hold.state === "held") ?? members[0] ?? {};
    return hold?.stay.threadId ?? 0;
  }

  get #subject(): CallSubject {
    return { name: this.name, kind: this.#kind };
  }

  get holder(): string {
    return this.#hold.holders;
  }

  /** Runs in the scope of each member, including members that are acquired again only later. */
  protected within<T>(body: () => T | Promise<T>, after?: AfterBody): Promise<T> {
    const around = this.#around;
    const run = around === undefined ? body : this.#surrounded(around, body);
    const [first, ...others] = this.#hold.locks;
    const inner = others.reduceRight<() => T | Promise<T>>(
      (next, lock) => () => lock.runIn(() => this.#hold.find(lock), this, next),
      run,
    );
    return first === undefined
      ? Promise.resolve(inner())
      : first.runIn(() => this.#hold.find(first), this, inner, after);
  }

  #surrounded<T>(around: Around, body: () => T | Promise<T>): () => T | Promise<T> {
    const { name, holder } = this;
    return surrounded(around, { name, kind: this.#kind, holder, note: this.#note }, body);
  }

  unlock(options?: UnlockOptions): Promise<void> {
    if (options !== undefined) return this.#unlockWith(options);
    if (this.#releasing !== undefined) return alsoForCaller(this.#releasing, this.#subject);
    this.#releasing = this.#release();
    return this.#releasing;
  }

  async #unlockWith(options: UnlockOptions): Promise<void> {
    checkUnlockOptions(options);
    if (options.keepForMs !== undefined) throw notKept(this.name, `a ${this.#kind} can not be kept`);
    await this.unlock();
  }

  /** Extends all members; done as soon as a quorum of them has the new lease. */
  async extend(leaseMs: number): Promise<void> {
    checkLease(leaseMs);
    const { members } = this.#hold;
    if (members.some(({ hold }) => hold.terms.renewed)) throw watched(this.name);
    this.#assertHeld();
    const failures = await this.#extendEnough(members, leaseMs);
    this.#assertHeld();
    if (failures.length === 0) return;
    // A quorum is still held, so the loss of a member is not the error to report.
    const isLoss = (error: unknown) => error instanceof LeaseLostError || error instanceof NotHeldError;
    throw forCaller(failures.find((error) => !isLoss(error)) ?? failures[0], this.#subject);
  }

  /** @returns the errors if too few members could be extended */
  #extendEnough(members: readonly JointMember[], leaseMs: number): Promise<readonly unknown[]> {
    const { quorum } = this.#hold;
    const failures: unknown[] = [];
    let extended = 0;
    return new Promise((resolve) => {
      for (const { lock, hold } of members) {
        lock.extend(hold, leaseMs).then(
          () => {
            extended += 1;
            if (extended === quorum) resolve([]);
          },
          (error: unknown) => {
            failures.push(error);
            if (failures.length > members.length - quorum) resolve(failures);
          },
        );
      }
    });
  }

  #assertHeld(): void {
    if (this.#hold.loss !== undefined) throw lossForCaller(this.#hold.loss);
    if (this.#hold.state === "released") throw this.notHeld("the lease was released");
  }

  protected giveBack(): Promise<void> {
    return this.unlock();
  }

  protected get releasing(): Promise<void> | undefined {
    return this.#releasing;
  }

  protected get values(): object {
    const { holder, holdCount } = this;
    return { holder, holdCount };
  }

  protected get believed(): JointHold {
    return this.#hold;
  }

  protected failed(error: unknown): void {
    const { name, holder } = this;
    events.releaseFailed.publish({ ...this.#about, name, kind: this.#kind, holder, error });
  }

  /** Releases all members, even if some releases fail. */
  async #release(): Promise<void> {
    const { members, quorum } = this.#hold;
    this.#hold.release();
    const failures = await releaseAll(members);
    this.#hold.wasReleased();
    // The lease was lost earlier, or the release has found only now that it was lost.
    const { loss } = this.#hold;
    if (loss !== undefined) {
      throw new NotHeldError(this.name, `${loss.message}; somebody else may hold it`, { cause: loss });
    }
    if (failures.length > members.length - quorum) throw forCaller(failures[0], this.#subject);
  }
}

showInLogs(JointLease, "Lease");

/** @returns the errors of failed releases */
export async function releaseAll(members: readonly JointMember[]): Promise<readonly unknown[]> {
  const releases = members.map(({ lock, hold }) => lock.release(hold));
  const results = await Promise.allSettled(releases);
  return results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
}
