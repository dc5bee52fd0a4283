import type { Holdfast } from "../../../src/holdfast.js";
import type { Lease } from "../../../src/lease.js";
import type { LockOptions } from "../../../src/options.js";
import { type Asked, type Became, Caller } from "../workload/caller.js";
import { type Door, type LockKindName, openDoor } from "../workload/lock-names.js";
import { enter, leave } from "../workload/lock-steps.js";
import type { Member, Scene } from "../workload/member.js";
import type { ChosenTime } from "./chosen-time.js";
import { NAME } from "./scene.js";

/** One task of a scene. */
export class Player extends Caller {
  /** How its calls ended, in order. */
  readonly outcomes: string[] = [];
  readonly #time: ChosenTime;
  readonly #inside: { count: number };
  /** What its leases were asked for with. */
  readonly #options = new WeakMap<Lease, LockOptions>();
  #aborts = 0;

  /** @param inside how many of the run have permits */
  constructor(name: string, scene: Scene, member: Member, time: ChosenTime, inside: { count: number }) {
    super(name, scene, member, scene.chooser.stream(name));
    this.#time = time;
    this.#inside = inside;
  }

  get holdfast(): Holdfast {
    return this.member.holdfast;
  }

  /** Goes on at a time of choice. */
  goOn(): Promise<void> {
    return new Promise((resolve) => this.#whenChosen(`${this.name} goes on`, resolve));
  }

  /** Aborts at a time of choice. */
  abortSignal(): AbortSignal {
    const controller = new AbortController();
    this.#aborts += 1;
    this.#whenChosen(`${this.name} aborts ${this.#aborts}`, () => {
      this.say("aborts");
      controller.abort(new Error("the caller has lost interest"));
    });
    return controller.signal;
  }

  /** The lock that all fight for. */
  door(kind: LockKindName, half: "read" | "write" = "write"): Door {
    return openDoor(this.member, { kind, name: NAME }, half);
  }

  override async call<T>(asked: Asked, act: () => Promise<T>): Promise<Became<T>> {
    const { footprint } = this.#time;
    // Whether a refusal is true depends on what the lock was like between the two.
    const mayBeRefused = Number.isFinite(asked.waitMs) && asked.mayBeOver === undefined;
    if (mayBeRefused) footprint.uses("occupied");
    const became = await super.call(asked, act);
    if (mayBeRefused) this.#time.footprint.uses("occupied");
    this.outcomes.push(`${asked.what}: ${outcomeOf(became)}`);
    return became;
  }

  /** Locks, or tries to; undefined when it has not got in. */
  async lock(door: Door, options: LockOptions = {}, more: Partial<Asked> = {}): Promise<Lease | undefined> {
    const { waitMs, leaseMs, signal } = options;
    const what = more.what ?? (waitMs === 0 ? "tryLock" : "lock");
    const asked: Asked = {
      names: door.members,
      waitMs: waitMs ?? Number.POSITIVE_INFINITY,
      leaseMs,
      signal: signal ?? undefined,
      ...more,
      what,
    };
    const { waitMs: _, ...others } = options;
    const became = await this.call<Lease | null>(asked, () =>
      waitMs === 0 ? door.lock.tryLock(others) : door.lock.lock(options),
    );
    if (!became.ok || became.value === null) return undefined;
    this.enter(door, became.value, options);
    return became.value;
  }

  enter(door: Door, lease: Lease, options: LockOptions = {}): void {
    this.#time.footprint.changes("beliefs");
    this.#options.set(lease, options);
    enter(this, door, lease, options);
  }

  leave(lease: Lease): boolean {
    this.#time.footprint.changes("beliefs");
    return leave(this, lease);
  }

  /** Closes its client. */
  async close(): Promise<void> {
    this.member.isClosing = true;
    await this.holdfast.close();
  }

  /** It has permits that it may lose. */
  enterPermits(permits: object): void {
    this.#time.footprint.changes("beliefs");
    const label = `${this.name} in permits "${NAME}"`;
    const { checker } = this.scene;
    const parts = [
      { name: NAME, owners: [`${this.name} ${this.outcomes.length}`], mode: "exclusive" as const },
    ];
    const { startUs } = this;
    checker.entered({
      process: this.member.process,
      lease: permits,
      parts,
      kind: "permit semaphore",
      label,
      startUs,
    });
  }

  /** @returns whether their time was over before */
  leavePermits(permits: object): boolean {
    this.#time.footprint.changes("beliefs");
    const { checker } = this.scene;
    const isOver = !checker.believes(permits);
    checker.left(permits);
    return isOver;
  }

  /** It has permits that it can not lose. @param most how many may have them */
  enterCounted(most: number): void {
    this.#time.footprint.changes("beliefs");
    this.#inside.count += 1;
    this.say("has a permit");
    if (this.#inside.count > most) {
      this.scene.checker.fail("exclusion", `${this.#inside.count} have a permit, of which there are ${most}`);
    }
  }

  leaveCounted(): void {
    this.#time.footprint.changes("beliefs");
    this.#inside.count -= 1;
    this.say("gives back a permit");
  }

  /** Unlocks what it has. */
  async unlock(door: Door, lease: Lease, act: () => Promise<unknown> = () => lease.unlock()): Promise<void> {
    const mayBeOver = this.leave(lease);
    const { leaseMs, maxHoldMs } = this.#options.get(lease) ?? {};
    const asked = { what: "unlock", names: door.members, waitMs: 0, leaseMs, maxHoldMs, mayBeOver };
    await this.call(asked, act);
  }

  /** Locks, goes on when it is chosen, and unlocks. */
  async lockAndUnlock(door: Door, options: LockOptions = {}): Promise<void> {
    const lease = await this.lock(door, options);
    if (lease === undefined) return;
    await this.goOn();
    await this.unlock(door, lease);
  }

  #whenChosen(what: string, run: () => void): void {
    const { process } = this.member;
    this.#time.after(0, () => process.gate.pass(run), { actor: process.name, queue: what });
  }
}

function outcomeOf<T>(became: Became<T>): string {
  if (!became.ok) return became.error instanceof Error ? became.error.name : String(became.error);
  return became.value === null || typeof became.value === "boolean" ? String(became.value) : "done";
}
