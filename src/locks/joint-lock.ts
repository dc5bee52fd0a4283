import { checkBody } from "../checks.js";
import type { Client } from "../client.js";
import type { ClientSettings } from "../client-options.js";
import { LeaseLostError, NotHeldError, WaitTimeoutError } from "../errors.js";
import { type AboutClient, events, type WaitEnd } from "../events.js";
import { type Lease, REFUSED, type Tried } from "../lease.js";
import { checkLockOptions, checkThreadId, type LockOptions, rungOf, type UnlockOptions } from "../options.js";
import { showInLogs } from "../printed.js";
import { type CallSubject, forCaller } from "../runtime/for-caller.js";
import { isTraced, traced } from "../runtime/traced.js";
import type { Waiter, WaitsFor } from "../runtime/waiter.js";
import { JointHold, type JointMember } from "./joint-hold.js";
import { JointLease, releaseAll } from "./joint-lease.js";
import { checkKept } from "./keep.js";
import type { Lock } from "./lock.js";
import type { SingleLock } from "./single-lock.js";
import { obstacleAt, type SeenObstacle, Wish } from "./wish.js";

/** One call for several locks at once. */
export interface JointCall {
  readonly options: LockOptions;
  readonly form: Wish["form"];
  readonly waits: boolean;
  readonly waiter: Waiter;
  /** How many times Redis was asked. */
  attempts: number;
  obstacle: SeenObstacle | undefined;
  /** What ended the wait for the last lock that the call waited for. */
  waitEndedBy: WaitEnd;
  /** The locks that were published as contended. */
  readonly contended: Set<SingleLock>;
}

/** Several locks that count as one while at least `quorum` of them are held. */
export abstract class JointLock implements Lock {
  readonly name: string;
  protected readonly members: readonly [SingleLock, ...SingleLock[]];
  protected readonly quorum: number;
  protected readonly settings: ClientSettings;
  readonly #about: AboutClient;
  readonly #subject: CallSubject & { readonly kind: { readonly name: string } };
  readonly #waitsFor: WaitsFor;

  /** @param client the client that made the lock */
  constructor(
    kind: string,
    members: readonly [SingleLock, ...SingleLock[]],
    quorum: number,
    { settings, about }: Pick<Client, "settings" | "about">,
  ) {
    this.name = members.map(({ name }) => name).join("+");
    this.members = members;
    this.#subject = { name: this.name, kind: { name: kind } };
    this.#waitsFor = members.map(({ identity }) => identity);
    this.quorum = quorum;
    this.settings = settings;
    this.#about = about;
  }

  toJSON(): object {
    const { name, kind } = this.#subject;
    return { name, kind: kind.name };
  }

  /**
   * Takes at least `quorum` of the locks, or none.
   * @returns undefined if that was not possible in the time that the call allows
   */
  protected abstract take(call: JointCall): Promise<readonly JointMember[] | undefined>;

  /** Called once the locks are held. */
  protected taken(_hold: JointHold, _lease: JointLease, _call: JointCall): void {}

  async lock(options: LockOptions = {}): Promise<Lease> {
    const outcome = await this.#acquire(options, undefined, "lock");
    if (outcome instanceof JointLease) return outcome;
    throw outcome;
  }

  async tryLock(options: LockOptions = {}): Promise<Lease | null> {
    const outcome = await this.#acquire(options, 0, "lock");
    return outcome instanceof JointLease ? outcome : null;
  }

  async using<T>(
    ...given: [(lease: Lease) => T | Promise<T>] | [LockOptions, (lease: Lease) => T | Promise<T>]
  ): Promise<T> {
    const [options, body] = given.length === 1 ? [{}, given[0]] : given;
    checkBody("using", body);
    const outcome = await this.#acquire(options, undefined, "using");
    if (outcome instanceof JointLease) return outcome.use(() => body(outcome));
    throw outcome;
  }

  async tryUsing<T>(
    ...given: [(lease: Lease) => T | Promise<T>] | [LockOptions, (lease: Lease) => T | Promise<T>]
  ): Promise<Tried<T>> {
    const [options, body] = given.length === 1 ? [{}, given[0]] : given;
    checkBody("tryUsing", body);
    const outcome = await this.#acquire(options, 0, "using");
    if (!(outcome instanceof JointLease)) return REFUSED;
    return { ran: true, value: await outcome.use(() => body(outcome)) };
  }

  /** Releases all members; rejects with the first error if too few could be released. Releases none if too few are held. */
  async unlock(threadId?: number): Promise<void> {
    if (threadId !== undefined) checkThreadId(threadId);
    const ids = new Map(this.members.map((member) => [member, this.#idFor(member, threadId)]));
    const held = this.members.filter((member) => {
      const id = ids.get(member);
      return id !== "none" && member.toUnlock(id) !== undefined;
    });
    if (held.length < this.quorum) {
      const who = threadId === undefined ? "by the asThread of each client" : `by thread ${threadId}`;
      throw new NotHeldError(this.name, `too few of its locks are held ${who}: use lease.unlock()`);
    }
    await this.#ask((member) => member.unlock(this.threadIdFor(member, threadId)));
  }

  /** @returns true when any of the locks was held */
  async forceUnlock(): Promise<boolean> {
    return (await this.#ask((member) => member.forceUnlock())).includes(true);
  }

  async isLocked(): Promise<boolean> {
    const locked = await this.#ask((member) => member.isLocked());
    return locked.filter(Boolean).length >= this.quorum;
  }

  async isHeldByCurrentThread(): Promise<boolean> {
    return (await this.getHoldCount()) > 0;
  }

  async isHeldByThread(threadId: number): Promise<boolean> {
    return (await this.getHoldCount(threadId)) > 0;
  }

  async getHoldCount(threadId?: number): Promise<number> {
    if (threadId !== undefined) checkThreadId(threadId);
    const counts = await this.#ask(async (member) => {
      const id = this.#idFor(member, threadId);
      return id === "none" ? 0 : member.getHoldCount(id);
    });
    return this.#common(counts);
  }

  async remainTimeToLive(): Promise<number> {
    const forEver = Number.POSITIVE_INFINITY;
    const left = await this.#ask((member) => member.remainTimeToLive());
    const ttlMs = this.#common(left.map((ms) => (ms === -1 ? forEver : ms)));
    return ttlMs === forEver ? -1 : ttlMs;
  }

  /**
   * The caller's threadId in one of the locks. The threadId of a joint lease stands for one stay in each of the locks.
   * @throws LeaseLostError if this lock is not held together with the others
   */
  protected threadIdFor(lock: SingleLock, threadId: number | undefined): number | undefined {
    const id = this.#idFor(lock, threadId);
    if (id === "none") throw new LeaseLostError(lock.name, `thread ${threadId}`, "released", 0);
    return id;
  }

  #idFor(
    { identity: { client, id } }: SingleLock,
    threadId: number | undefined,
  ): number | undefined | "none" {
    if (threadId === undefined) return undefined;
    const stays = this.members.flatMap((member) => member.identity.client.threads.stay(threadId) ?? []);
    const stay = stays.find(({ companions }) => companions.size > 0);
    if (stay === undefined) return threadId;
    const here = [...stay.companions].filter(({ field }) => client.owns(field));
    return (here.find(({ lock }) => lock.id === id) ?? here[0])?.threadId ?? "none";
  }

  protected newWish(lock: SingleLock, call: JointCall, waits: boolean, timeoutMs?: number): Wish {
    const { form, waiter, options } = call;
    const wish = new Wish(lock.identity.client, options, { form, waits, waiter, timeoutMs, isPart: true });
    wish.isContended = call.contended.has(lock);
    return wish;
  }

  /** Adds the attempts, the obstacle and the waits of a member's wish to the call. */
  protected note(call: JointCall, lock: SingleLock, wish: Wish): void {
    const { attempts, obstacle, waits, waitEndedBy, isContended } = wish;
    call.attempts += attempts;
    call.obstacle = obstacle ?? call.obstacle;
    if (isContended) call.contended.add(lock);
    if (waits && waitEndedBy !== "free") call.waitEndedBy = waitEndedBy;
  }

  async #acquire(
    options: LockOptions & UnlockOptions,
    defaultWaitMs: number | undefined,
    form: Wish["form"],
  ): Promise<JointLease | WaitTimeoutError> {
    checkLockOptions(options);
    const { keepForMs } = options;
    if (keepForMs !== undefined) checkKept(keepForMs, form, this.name, this.#subject.kind);
    const clients = new Set(this.members.map(({ identity }) => identity.client));
    for (const client of clients) client.assertOpen(this.#subject);
    const first = this.members[0].identity.client;
    const waitMs = options.waitMs ?? defaultWaitMs ?? this.settings.waitMs;
    const waiter = first.newWaiter(waitMs, options.signal, this.#waitsFor);
    waiter.note = options.note;
    for (const client of clients) client.admit(waiter);
    const call: JointCall = {
      options,
      form,
      waits: waitMs !== 0,
      waiter,
      attempts: 0,
      obstacle: undefined,
      waitEndedBy: "free",
      contended: new Set(),
    };
    try {
      const lease = isTraced(events.acquire)
        ? await traced(
            this.#begun(options),
            call,
            () => this.#takeLease(call),
            (taken) => taken,
          )
        : this.#leaseOf(await this.take(call), call);
      if (lease !== undefined) return lease;
      const obstacle = obstacleAt(first.clock.monotonicMs(), call.obstacle);
      return new WaitTimeoutError(this.name, waiter.waitedMs, obstacle);
    } catch (error) {
      throw forCaller(error, this.#subject, waiter);
    } finally {
      for (const client of clients) client.dismiss(waiter);
    }
  }

  /** The start of the call, for the event. */
  #begun(options: LockOptions) {
    const { watchdogMs } = options;
    const beatMs = watchdogMs === undefined ? this.settings.watchdogMs : rungOf(watchdogMs);
    const { leaseMs = beatMs, note } = options;
    const { name, kind } = this.#subject;
    const terms = { leaseMs, renewed: options.leaseMs === undefined, note };
    return { client: { about: this.#about }, name, kind: kind.name, terms };
  }

  /** Makes the caller's error here, so that the event carries the same error. */
  async #takeLease(call: JointCall): Promise<JointLease | undefined> {
    try {
      return this.#leaseOf(await this.take(call), call);
    } catch (error) {
      throw forCaller(error, this.#subject, call.waiter);
    }
  }

  #leaseOf(members: readonly JointMember[] | undefined, call: JointCall): JointLease | undefined {
    const { waiter } = call;
    if (members === undefined) {
      // If no server has said that a lock is taken, the call fails.
      if (waiter.isTold) return undefined;
      throw this.members[0].identity.client.commands.failures.untold(waiter.waitedMs, call.attempts > 0);
    }
    if (waiter.cancelled) {
      giveBack(members);
      throw waiter.reason;
    }
    const hold = new JointHold(this.name, this.members, members, this.quorum);
    const { around } = this.settings;
    const said = { about: this.#about, around, note: call.options.note };
    const lease = new JointLease(hold, this.#subject.kind.name, said);
    if (lease.holdCount > 1 && call.waitEndedBy === "free") call.waitEndedBy = "re-entry";
    if (call.form === "lock") for (const member of members) member.lock.keep(member.hold, lease);
    this.taken(hold, lease, call);
    return lease;
  }

  /** Asks all members. If too few members answer, throws the first error. */
  async #ask<T>(question: (member: SingleLock) => Promise<T>): Promise<readonly T[]> {
    const results = await Promise.allSettled(this.members.map(async (member) => question(member)));
    const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    if (failures.length > this.members.length - this.quorum) throw forCaller(failures[0], this.#subject);
    return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  }

  /** The greatest number that at least `quorum` members reach. */
  #common(numbers: readonly number[]): number {
    return numbers.toSorted((a, b) => b - a)[this.quorum - 1] ?? 0;
  }
}

showInLogs(JointLock, "Lock");

/** Releases members in the background that are no longer needed. */
export function giveBack(members: readonly JointMember[]): void {
  for (const member of members) {
    member.lock.identity.client.inBackground(() => releaseAll([member]));
  }
}
