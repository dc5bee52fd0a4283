import { believedMs } from "../../../src/lease.js";
import type { Permits } from "../../../src/synchronizers/permits.js";
import type { Member } from "../workload/member.js";
import type { Answered } from "./answers.js";
import { hexIds } from "./count-effects.js";
import { type CountState, PERMANENT_MS, totalOf } from "./count-state.js";
import type { Fate } from "./exceptions.js";
import { SemaphoreWatch } from "./semaphore-watch.js";

/** Somebody works with permits, for as long as they may be trusted. */
interface Belief {
  readonly member: Member;
  readonly permits: Permits;
  readonly label: string;
  /** Those that it has not begun to release. */
  readonly ids: Set<string>;
}

/** Ids that somebody has left for others to use. */
export type Drawer = (readonly string[])[];

/** No clock of a process goes slower than this. */
const SLOWEST = 0.998;

/** A release is tried on for a minute, with pauses of up to ten seconds. */
const TRIED_ON_US = 60_000_000;
const LONGEST_PAUSE_US = 10_000_000;
/** What keeps a release, which a full server allows, from being carried out. */
const OUTAGES = [
  "cut",
  "stall",
  "half-open",
  "late copy",
  "refuses for a moment",
  "server read-only",
  "server stands still",
  "slow requests",
  "stop",
];

/** The permits of a permit-expirable semaphore: each has an id, and most a lease. */
export class LeasedPermits extends SemaphoreWatch {
  readonly drawer: Drawer = [];
  readonly #beliefs = new Map<Permits, Belief>();
  readonly #members = new Map<string, Member>();
  /** By id: the process that was granted the permit. */
  readonly #takers = new Map<string, string>();
  readonly #fates = new Map<string, Fate>();
  /** Ids that the process which has them was asked to lease anew, which its other tasks need not know of. */
  readonly #relet = new Set<string>();
  /** Ids that a client was asked to lease anew when they were on their way back, and those of them that came to a shorter lease by it. */
  readonly #reletLate = new Set<string>();
  readonly #cutShort = new Set<string>();
  /** By id: when they were last to be given back. */
  readonly #givenUs = new Map<string, number>();
  /** By id: when they were granted to a call that has not been told of it. It gives them back when it fails, or is cancelled. */
  readonly #untoldUs = new Map<string, number>();
  /** Ids that somebody may have for good. */
  readonly #kept = new Set<string>();
  readonly #excused = new Set<string>();
  /** By id, and the process whose client was asked to give the permit back by that. */
  readonly #byId = new Set<string>();
  /** By id: the lease that a call brought it with, and its process. */
  readonly #leases = new Map<string, { readonly member: Member; readonly permits: Permits }>();

  /** A call has brought permits. */
  entered(member: Member, permits: Permits, label: string): void {
    this.#beliefs.set(permits, { member, permits, label, ids: new Set(permits.ids) });
    for (const id of permits.ids) {
      this.#untoldUs.delete(id);
      this.#leases.set(id, { member, permits });
    }
    this.#look(this.state);
  }

  /** They are given back, or dropped, from this moment on. */
  left(permits: Permits): void {
    this.#gives(permits.ids);
    this.#beliefs.delete(permits);
  }

  /** Some of them are given back. */
  leftSome(permits: Permits, ids: readonly string[]): void {
    this.#gives(ids);
    const belief = this.#beliefs.get(permits);
    for (const id of ids) belief?.ids.delete(id);
  }

  /** A client is asked to give permits back by their ids: what it gave for them counts as released from then on. */
  releasesByIds({ process }: Member, ids: readonly string[]): void {
    for (const id of ids) this.#byId.add(`${process.name} ${id}`);
  }

  /** A client has given permits back by their ids: no lease of it has them any more, of however many leases they were. */
  releasedByIds(member: Member, ids: readonly string[]): void {
    for (const id of ids) {
      const lease = this.#leases.get(id);
      if (lease === undefined || lease.member !== member) continue;
      const { permits } = lease;
      if (permits.state !== "held" || !permits.ids.includes(id)) continue;
      const left = permits.ids.length;
      this.#fail(
        "truth",
        `a lease of ${left} has a permit that ${member.process.name} has given back by its id`,
      );
    }
  }

  isReleasedById({ process }: Member, id: string): boolean {
    return this.#byId.has(`${process.name} ${id}`);
  }

  /** A client is asked to lease permits anew: where they are on their way back, their hold does not know of it. */
  relets(ids: readonly string[]): void {
    for (const id of ids) if (this.#givenUs.has(id)) this.#reletLate.add(id);
  }

  /** Nobody is to give them back, or others are. */
  keeps(ids: readonly string[]): void {
    for (const id of ids) this.#kept.add(id);
  }

  /** Whether somebody else had a hand in it that permits are lost. */
  wasTaken(ids: readonly string[]): boolean {
    return this.isVoid || ids.some((id) => this.#fates.has(id) || this.#cutShort.has(id));
  }

  /** Whether their lease may end by a time that whoever took them has not asked for. */
  mayExpire(ids: readonly string[]): boolean {
    return this.settings.ttlMs !== undefined || ids.some((id) => this.#relet.has(id));
  }

  override isFirstVisit(member: Member): boolean {
    this.#members.set(member.process.name, member);
    return super.isFirstVisit(member);
  }

  override glance(): void {
    super.glance();
    this.#look(this.state);
  }

  end(): void {
    const { leases } = this.state;
    for (const [id, endsMs] of leases) {
      const taker = this.#takers.get(id) ?? "nobody";
      const member = this.#members.get(taker);
      const what = `permit ${Number(Buffer.from(id, "hex").toString())} of ${taker}`;
      if (endsMs < PERMANENT_MS) this.#fail("leftovers", `${what} is leased still`);
      else if (member?.process.isDead === true) {
        this.parts.checker.excuse("permanent permits of a process that was killed");
      } else if (member?.isClosing === true) this.parts.checker.excuse("permits of a client that was closed");
      else if (member !== undefined && this.#isTriedInVain(member, id)) {
        this.parts.checker.excuse("permits whose release was tried in vain for a minute");
      } else if (!this.#kept.has(id)) this.#fail("conservation", `${what} was never given back`);
    }
  }

  #gives(ids: readonly string[]): void {
    for (const id of ids) this.#givenUs.set(id, this.parts.time.nowUs);
  }

  /** Whether the process could not give the permit back from when it was to until it tries no more. */
  #isTriedInVain({ process, plan }: Member, id: string): boolean {
    const fromUs = this.#givenUs.get(id) ?? this.#untoldUs.get(id);
    if (fromUs === undefined) return false;
    // Its last try may be followed by a pause that goes beyond the minute.
    const untilUs = fromUs + TRIED_ON_US - LONGEST_PAUSE_US - 2_000 * plan.options.commandTimeoutMs;
    return this.parts.trouble.lasted(process.name, OUTAGES, {
      fromUs,
      untilUs,
      longestPauseUs: LONGEST_PAUSE_US,
    });
  }

  protected override answered(answered: Answered, after: CountState): void {
    super.answered(answered, after);
    const { script, status, by, args, isRepeat, before } = answered;
    if (isRepeat) return;
    if (status === "granted") {
      for (const id of hexIds(args[2])) {
        this.#takers.set(id, by);
        this.#untoldUs.set(id, this.parts.time.nowUs);
      }
      const { count = 0, leases } = after;
      if (count < 0)
        this.#fail("exclusion", `${by} was given permits, and ${leases.size} are out of ${totalOf(after)}`);
    }
    if (status === "deleted") for (const id of before.leases.keys()) this.#fates.set(id, "deleted");
    if (status === "released") for (const id of hexIds(args[1])) this.#fates.set(id, "released by its id");
    if (script === "permit-set-lease" && status === "updated") {
      for (const id of hexIds(args[1])) {
        if (this.#takers.get(id) === by) this.#relet.add(id);
        const isShorter = (after.leases.get(id) ?? 0) < (before.leases.get(id) ?? 0);
        if (isShorter && this.#takers.get(id) !== by) this.#fates.set(id, "shortened by another process");
        if (isShorter && this.#reletLate.has(id)) this.#cutShort.add(id);
      }
    }
    this.#look(after);
  }

  /** What is believed is out; and what was out when a permit was given was never more than there is. */
  #look(state: CountState): void {
    for (const belief of this.#beliefs.values()) {
      const { member, permits } = belief;
      const ms = member.process.isDead ? 0 : believedMs(permits, member.process.instant);
      if (member.process.isDead) this.#beliefs.delete(permits);
      else if (ms > 0) for (const id of belief.ids) this.#compare(belief, id, ms, state);
    }
  }

  /** Nobody believes in a permit for longer than Redis has it out. */
  #compare({ label }: Belief, id: string, ms: number, { leases }: CountState): void {
    const endsMs = leases.get(id);
    const leftMs = endsMs === undefined ? 0 : endsMs - this.server.timeMs;
    if (endsMs === PERMANENT_MS || ms * SLOWEST <= leftMs) return;
    const excuse = this.#fates.get(id);
    const what = `${label} is believed for ${Math.round(ms)} ms, and is out for ${Math.round(leftMs)} ms more`;
    if (excuse === undefined) this.#fail("exclusion", what);
    else if (!this.#excused.has(id)) {
      this.#excused.add(id);
      this.parts.checker.excuse(`a permit is believed that was ${excuse}`);
    }
  }

  #fail(rule: "exclusion" | "conservation" | "leftovers" | "truth", text: string): void {
    this.parts.checker.fail(rule, `"${this.name}": ${text}`);
  }
}
