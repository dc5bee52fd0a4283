import type { LossReason } from "../errors.js";
import { Link } from "../linked.js";
import { lockConfirm } from "../protocol/lock-scripts.js";
import type { Confirmable, Question } from "../runtime/confirmations.js";
import type { Instant } from "../runtime/instant.js";
import type { Held } from "./held.js";
import type { Trust } from "./trust.js";

/** The part of a hold that is used by renewals and by questions to a new server. */
type ConfirmableHold = Pick<Trust, "confirmBy" | "isThere" | "isDoubtful" | "isRenewed" | "believedMs"> & {
  readonly slot: number;
};

/** The part of a stay that asks a new server, after a failover or a slot move, whether it has the stay's holds. */
export abstract class ConfirmableStay extends Link implements Confirmable {
  /** The server that is known to have the stay's holds. */
  place = "";
  /** True while the key has a new server that has not confirmed the holds yet. */
  isMoved = false;

  abstract readonly lock: Held;
  /** The fields for this stay, of which Redis has one. */
  abstract readonly fields: readonly string[];
  /** The holds that are neither released nor lost, in order of acquisition. */
  abstract readonly live: readonly ConfirmableHold[];
  abstract loseAll(reason: LossReason): void;

  /** How many times a hold has ended or got another number. */
  abstract readonly changes: number;
  /** Whether a command is under way that changes the holds in Redis. */
  abstract readonly isChanging: boolean;

  get key(): string {
    return this.lock.key;
  }

  get confirmScript(): Confirmable["confirmScript"] {
    return lockConfirm;
  }

  get isHeld(): boolean {
    return this.live.length > 0;
  }

  leastMs(at: Instant): number {
    const renewed = this.live.filter(({ isRenewed }) => isRenewed);
    return renewed.reduce((ms, hold) => Math.min(ms, hold.believedMs(at)), Number.POSITIVE_INFINITY);
  }

  question(): Question {
    const { key, fields, lock } = this;
    const holds = [...this.live];
    const slots = lock.kind.shared ? holds.map(({ slot }) => slot) : [];
    return { confirmation: { key, holders: fields, slots }, holds, changes: this.settledChanges };
  }

  doubt(until: Instant): void {
    for (const hold of [...this.live]) hold.confirmBy(until);
  }

  found({ holds }: Question): boolean {
    for (const hold of [...this.live]) if (holds.includes(hold)) hold.isThere();
    return !this.live.some((hold) => hold.isDoubtful);
  }

  missing({ changes }: Question): boolean {
    if (changes !== this.changes) return false;
    this.loseAll("server-changed");
    return true;
  }

  /**
   * The present value of `changes`: the answer to a command that is sent now refers to it; undefined while another command is changing the
   * holds.
   */
  protected get settledChanges(): number | undefined {
    return this.isChanging ? undefined : this.changes;
  }
}
