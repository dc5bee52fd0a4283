import { NotHeldError } from "../errors.js";
import { type AboutClient, events } from "../events.js";
import { AnyLease, type Lease } from "../lease.js";
import { alsoForCaller, forCaller, type Subject } from "../runtime/for-caller.js";
import { guard } from "../threads/abandonment.js";
import type { AfterBody } from "../threads/threads.js";
import type { JointHold, Member } from "./joint-hold.js";

/** The lease of several locks that count as one. */
export class JointLease extends AnyLease implements Lease {
  readonly holdCount: number;
  readonly #hold: JointHold;
  readonly #kind: string;
  readonly #about: AboutClient;
  #releasing: Promise<void> | undefined;

  /** @param about the client that made the lock */
  constructor(hold: JointHold, kind: string, about: AboutClient) {
    super();
    this.#hold = hold;
    this.#kind = kind;
    this.#about = about;
    const { members } = hold;
    this.holdCount = Math.min(...members.map((member) => member.hold.holdCount));
    for (const member of members) guard(this, member.hold);
  }

  get name(): string {
    return this.#hold.name;
  }

  /** Of the first member that is held: it stands for the others as well. */
  get threadId(): number {
    const { members } = this.#hold;
    const { hold } = members.find((member) => member.hold.state === "held") ?? members[0] ?? {};
    return hold?.holding.threadId ?? 0;
  }

  get #subject(): Subject {
    return { name: this.name, kind: this.#kind };
  }

  get holder(): string {
    return this.#hold.holders;
  }

  /** In the scope of each member, also one that is held again only later. */
  protected within<T>(body: () => T | Promise<T>, after?: AfterBody): Promise<T> {
    const [first, ...others] = this.#hold.locks;
    const inner = others.reduceRight<() => T | Promise<T>>(
      (next, lock) => () => lock.runIn(() => this.#hold.find(lock), this, next),
      body,
    );
    return first === undefined
      ? Promise.resolve(inner())
      : first.runIn(() => this.#hold.find(first), this, inner, after);
  }

  unlock(): Promise<void> {
    if (this.#releasing !== undefined) return alsoForCaller(this.#releasing, this.#subject);
    this.#releasing = this.#release();
    return this.#releasing;
  }

  protected giveBack(): Promise<void> {
    return this.unlock();
  }

  protected get releasing(): Promise<void> | undefined {
    return this.#releasing;
  }

  protected get believed(): JointHold {
    return this.#hold;
  }

  protected failed(error: unknown): void {
    const { name, holder } = this;
    events.releaseFailed.publish({ ...this.#about, name, kind: this.#kind, holder, error });
  }

  /** Tries all members, whatever becomes of each. */
  async #release(): Promise<void> {
    const { members, quorum } = this.#hold;
    this.#hold.release();
    const failures = await releaseAll(members);
    this.#hold.wasReleased();
    // It may have been lost before, or be found to be only now.
    const { loss } = this.#hold;
    if (loss !== undefined) {
      throw new NotHeldError(this.name, `${loss.message}; somebody else may hold it`, { cause: loss });
    }
    if (failures.length > members.length - quorum) throw forCaller(failures[0], this.#subject);
  }
}

/** @returns why some could not be released */
export async function releaseAll(members: readonly Member[]): Promise<readonly unknown[]> {
  const releases = members.map(({ lock, hold }) => lock.release(hold));
  const results = await Promise.allSettled(releases);
  return results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
}
