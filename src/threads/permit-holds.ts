import type { Clock } from "../clock.js";
import { Forgotten } from "../environment.js";
import { LeaseLostError, type LossReason } from "../errors.js";
import { type AboutClient, events } from "../events.js";
import type { Renewal } from "../protocol/lock-calls.js";
import { permitConfirm } from "../protocol/semaphore-scripts.js";
import type { Confirmable, Confirmations, Question } from "../runtime/confirmations.js";
import type { ExpiryAlarms } from "../runtime/expiry-alarms.js";
import { type Instant, now } from "../runtime/instant.js";
import type { Renewable, Watchdog } from "../runtime/watchdog.js";
import { ChangeableTrust } from "./changeable-trust.js";
import type { Subject, TellLoss } from "./held.js";
import type { Since, Terms } from "./terms.js";

/** A semaphore or a latch. */
export interface CountIdentity {
  readonly client: { readonly about: AboutClient };
  /** The kind of semaphore or latch, with the name that its factory method has. */
  readonly kind: string;
  /** The name that the program uses. */
  readonly name: string;
  /** The key in Redis. */
  readonly key: string;
  /** The channel of its waiters. */
  readonly channel: string;
}

interface PermitServices {
  readonly clock: Clock;
  readonly alarms: ExpiryAlarms;
  readonly watchdog: Watchdog;
  /** Undefined if one server has all keys and never changes. */
  readonly confirmations: Confirmations | undefined;
  readonly tellLoss: TellLoss;
}

/** The leased permits that a client has taken. */
export class PermitHolds {
  readonly #services: PermitServices;
  readonly #byId = new Map<string, PermitHold>();
  /**
   * Called when a lease object was garbage collected. A hold is kept if its signal is in use. Renewed permits are left to expire; permits
   * with a fixed lease may be released elsewhere, by their ids.
   */
  readonly #forgotten = new Forgotten((hold: PermitHold) => {
    if (hold.isObserved) return;
    // The permits may have been released elsewhere, so the end of their lease is not reported as a loss.
    if (hold.isReachable) hold.release();
    else this.remove(hold);
  });

  constructor(services: PermitServices) {
    this.#services = services;
  }

  /** Records permits that Redis has granted. @returns undefined if their lease is already over */
  add(count: CountIdentity, ids: readonly string[], terms: Terms, since: Since): PermitHold | undefined {
    const { clock, alarms, watchdog, confirmations } = this.#services;
    const at = now(clock);
    const hold = new PermitHold({ count, ids, terms, since, holds: this }, clock, alarms, at);
    if (hold.believedMs(at) === 0) return undefined;
    for (const id of ids) this.#byId.set(id, hold);
    if (terms.renewed) watchdog.add(hold);
    hold.tellEnd();
    confirmations?.taken(hold, since.takenAt);
    return hold;
  }

  /** Forgets the hold when its lease object is collected. */
  keepWith(lease: object, hold: PermitHold): void {
    this.#forgotten.register(lease, hold, hold);
  }

  /** The holds that have at least one of these permits. */
  of(ids: readonly string[]): readonly PermitHold[] {
    return [...new Set(ids.flatMap((id) => this.#byId.get(id) ?? []))];
  }

  all(): readonly PermitHold[] {
    return [...new Set(this.#byId.values())];
  }

  lost({ count }: PermitHold, reason: LossReason): void {
    this.#services.tellLoss(count, reason);
  }

  dropped(id: string): void {
    this.#byId.delete(id);
  }

  lapsed(hold: PermitHold): void {
    this.#services.watchdog.remove(hold);
  }

  resumed(hold: PermitHold): void {
    this.#services.watchdog.add(hold);
  }

  remove(hold: PermitHold): void {
    this.lapsed(hold);
    this.#forgotten.unregister(hold);
    for (const id of hold.ids) this.#byId.delete(id);
  }
}

interface Origin {
  readonly count: CountIdentity;
  readonly ids: readonly string[];
  readonly terms: Terms;
  readonly since: Since;
  readonly holds: PermitHolds;
}

/** The permits that one call has taken, with the time for which they may be trusted. */
export class PermitHold extends ChangeableTrust implements Renewable, Confirmable {
  readonly count: CountIdentity;
  /** True once an attempt to release the permits has told the caller of the loss. */
  dismissed = false;
  watchdog: Watchdog | undefined;
  underRenewal = false;
  place = "";
  isMoved = false;
  readonly confirmScript: Confirmable["confirmScript"] = permitConfirm;
  readonly #ids: Set<string>;
  readonly #holds: PermitHolds;
  /** How many releases of some of the permits are under way. */
  #releases = 0;
  /** How many times a release of some of the permits has begun. */
  #changes = 0;
  /** `#changes` when the latest renewal was made; undefined if a release was under way. */
  #renewedChanges: number | undefined;

  /** @param at the current time */
  constructor({ count, ids, terms, since, holds }: Origin, clock: Clock, alarms: ExpiryAlarms, at: Instant) {
    super(terms, since, clock, alarms, at);
    this.count = count;
    this.#ids = new Set(ids);
    this.#holds = holds;
  }

  get key(): string {
    return this.count.key;
  }

  get ids(): readonly string[] {
    return [...this.#ids];
  }

  get about(): Subject {
    const { client, name, kind } = this.count;
    return { ...client.about, name, kind, holder: this.ids.join(",") };
  }

  /** True for permits with a fixed lease: any code that has their ids can release them. */
  get isReachable(): boolean {
    return !this.terms.renewed;
  }

  /** Some of the permits are about to be released by their ids. Must be followed by `releasedSome`. */
  releasingSome(): void {
    this.#releases += 1;
    this.#changes += 1;
  }

  /** @param gone the permits that the hold no longer has */
  releasedSome(gone: readonly string[]): void {
    this.#releases -= 1;
    const left = this.ids.filter((id) => !gone.includes(id));
    if (left.length === 0) this.release();
    else for (const id of gone) if (this.#ids.delete(id)) this.#holds.dropped(id);
  }

  renewal(): Renewal {
    this.#renewedChanges = this.#settledChanges;
    return { key: this.count.key, holder: this.ids.join(""), leaseMs: this.terms.leaseMs, holdMs: [] };
  }

  isAlive(at?: Instant): boolean {
    return this.checkMs(at) > 0 && this.isRenewed;
  }

  renewed(sentAt: Instant, at?: Instant): void {
    this.extend(sentAt, at);
  }

  leastMs(at: Instant): number {
    return this.believedMs(at);
  }

  gone(): boolean {
    if (this.#renewedChanges !== this.#changes) return false;
    this.lose(this.isMoved ? "server-changed" : "stolen");
    return true;
  }

  get #settledChanges(): number | undefined {
    return this.#releases === 0 ? this.#changes : undefined;
  }

  get isHeld(): boolean {
    return this.state === "held";
  }

  question(): Question {
    const confirmation = { key: this.key, holders: this.ids, slots: [] };
    return { confirmation, holds: [this], changes: this.#settledChanges };
  }

  doubt(until: Instant): void {
    this.confirmBy(until);
  }

  found(): boolean {
    this.isThere();
    return true;
  }

  missing({ changes }: Question): boolean {
    if (changes !== this.#changes) return false;
    this.lose("server-changed");
    return true;
  }

  protected lossOf(reason: LossReason, heldMs: number): LeaseLostError {
    return new LeaseLostError(this.count.name, this.about.holder, reason, heldMs);
  }

  protected ended(loss: LeaseLostError | undefined): void {
    this.#holds.remove(this);
    if (loss === undefined) return;
    const { reason, heldMs } = loss;
    this.#holds.lost(this, reason);
    if (!events.leaseLost.hasSubscribers) return;
    events.leaseLost.publish({ ...this.about, reason, heldMs, holdCount: 1 });
  }

  protected lapsed(): void {
    this.#holds.lapsed(this);
  }

  protected resumed(): void {
    this.#holds.resumed(this);
  }
}
