import { UnavailableError } from "../errors.js";
import { invariant } from "../invariant.js";
import { fairTimes } from "../protocol/fair-scripts.js";
import { isOver } from "../runtime/command-failures.js";
import type { ServerRecord } from "../threads/server-record.js";
import type { Stay } from "../threads/stay.js";
import type { Step } from "../threads/wanted.js";
import type { LockIdentity } from "./lock-kind.js";
import { lastRelease, releasesOf, type Sending, sendingsOf, sendRelease } from "./lowering.js";
import { isNamedBy, sendName } from "./naming.js";

interface Pauses {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** The pauses while a held lock lacks its field or its lease in Redis. */
const OF_A_HELD_LOCK: Pauses = { firstMs: 50, longestMs: 1_000 };
/** The pauses while Redis may have something that belongs to no live hold. */
const OF_LEFTOVERS: Pauses = { firstMs: 500, longestMs: 10_000 };
/** How long a release is repeated for replicas that do not acknowledge it. */
const TELLING_MS = 60_000;

/** A request of a call that has left something undone in Redis. */
interface Undoing extends Pick<Sending, "goesOn"> {
  /** Called when Redis has what the stay wants and no late copy of a command can change that, or when the reconciler gives up. */
  readonly ended?: (() => void) | undefined;
}

/**
 * Releases in the background what Redis has of a stay without a live hold. If the stay's record already has a reconciler, that reconciler
 * also serves this request.
 * @param after whether the stay will ask for the lock again under the same field
 * @see docs/internals/states.md#endings
 */
export function reconcile(
  lock: LockIdentity,
  stay: Stay,
  after: Pick<Sending, "goesOn"> = {},
  ended?: () => void,
): void {
  const { inRedis, releases } = stay;
  // A release that is under way may leave something in Redis. Then only this request releases it.
  const isIdle = ended === undefined && releases === 0 && inRedis.reconciler === undefined;
  if (isIdle && inRedis.next(stay.wanted(after.goesOn === true)).does === "nothing") return;
  begin(lock, stay, { ...after, ended });
}

/**
 * Writes what the live holds of a stay lack in Redis: the field of a handed-over hold, or the lease of a granted one. If a granted hold is
 * lost meanwhile, its field stays until the lease is released or the key expires. If a handed-over hold is lost before Redis has its field,
 * the fields of all holders in its chain of hand-overs are freed, except when the client closes.
 */
export function confirm(lock: LockIdentity, stay: Stay): void {
  begin(lock, stay, undefined);
}

function begin(lock: LockIdentity, stay: Stay, undoing: Undoing | undefined): void {
  const { inRedis } = stay;
  const running = inRedis.reconciler;
  if (running instanceof Reconciler) {
    running.join(stay, undoing);
    return;
  }
  const reconciler = new Reconciler(lock, stay);
  inRedis.reconciler = reconciler;
  reconciler.join(stay, undoing);
  lock.client.inBackground(() => reconciler.run());
}

/**
 * The only repair loop: sends the commands that the stay's record asks for, one at a time, until nothing is left to do. Each record with
 * work left has its own reconciler, and reconcilers do not wait for each other.
 */
class Reconciler {
  readonly #lock: LockIdentity;
  readonly #record: ServerRecord;
  /** The stay that now has the record. */
  #stay: Stay;
  /** Whether the stay will ask for the lock again under the same field: then each release has a deadline. */
  #goesOn = false;
  /** Whether everything without a live hold is released. False: writes only what live holds lack, and frees the fields of lost holds. */
  #undoes = false;
  /** Whether a request came after the latest step was chosen. */
  #hasNews = false;
  /** Whether the stay may not end before its count in Redis is 0: under a chosen id, the next stay has the same field. */
  #keepsStay = false;
  /** Called once Redis has what the stay wants, or when the reconciler gives up. */
  #ended: (() => void)[] = [];
  /** How many tries in a row have failed: each pause is twice as long as the one before. */
  #failures = 0;
  /** The pauses in use at the latest failure. */
  #pauses: Pauses = OF_A_HELD_LOCK;
  /**
   * On the monotonic clock: after `#endMs` Redis can have nothing of the stay any more; after `#tellingEndMs` no release is repeated for
   * replicas.
   */
  #endMs: number | undefined;
  #tellingEndMs: number | undefined;
  /** Ends the current pause; undefined outside a pause. */
  #endPause: (() => void) | undefined;

  constructor(lock: LockIdentity, stay: Stay) {
    this.#lock = lock;
    this.#record = stay.inRedis;
    this.#stay = stay;
  }

  /** @param stay the stay that now has the record */
  join(stay: Stay, undoing: Undoing | undefined): void {
    this.#hasNews = true;
    this.#endMs = undefined;
    invariant(!this.#keepsStay || stay === this.#stay, "a stay that is kept open has lost its record");
    this.#stay = stay;
    if (undoing !== undefined) {
      this.#undoes = true;
      this.#goesOn ||= undoing.goesOn === true;
      if (undoing.ended !== undefined) this.#ended.push(undoing.ended);
    }
    // While Redis lacks the latest holder's field, the pause goes on: holders of a chain change faster than a failing server may be asked.
    if (!this.#record.isNamed) return;
    this.#failures = 0;
    this.#keepStay();
    this.#endPause?.();
  }

  /** Never rejects. */
  async run(): Promise<void> {
    const record = this.#record;
    try {
      do {
        this.#hasNews = false;
        // The steps `name` and `free-names` use the turn that began with the hand-over.
        const { isNamed } = record;
        const next = await (isNamed ? record.inTurn(async () => this.#round()) : this.#round());
        // Called outside the turn, because a call that is told of the end may send its own command at once.
        this.#tellEnd();
        if (next === "rest") continue;
        const isUrgent = this.#hasNews && record.isNamed;
        this.#hasNews = true;
        if (next > 0 && !isUrgent) await this.#pause(next);
      } while (this.#hasNews);
    } finally {
      record.reconciler = undefined;
      if (!record.isNamed && this.#stay.chain?.isOver === false) record.endTurn();
      this.#letStay();
      this.#tellEnd();
    }
  }

  /** Sends the next step. @returns the pause before the step after it, in milliseconds; "rest" if there is no such step */
  #round(): Promise<number | "rest"> | number | "rest" {
    const step = this.#record.next(this.#stay.wanted(this.#goesOn));
    this.#keepStay();
    if (this.#isGivenUp(step)) return "rest";
    // A release under way lowers the count to the holds that it found, which may be lost by now. When that release ends, the pause ends.
    if (step.does === "nothing") return this.#keepsStay ? OF_LEFTOVERS.firstMs : "rest";
    const pauses = step.does === "name" || this.#isConfirming ? OF_A_HELD_LOCK : OF_LEFTOVERS;
    return this.#take(step).then(
      (next) => (next === "again" ? this.#nextPauseMs(pauses) : next),
      (error: unknown) => this.#failed(error, pauses),
    );
  }

  #failed(error: unknown, pauses: Pauses): number | "rest" {
    // A server that refuses, or cannot be reached, may answer later.
    if (!(error instanceof UnavailableError) || isOver(error)) return "rest";
    if (pauses === OF_LEFTOVERS && this.#isTooLate && this.#stay.live.length === 0) return "rest";
    return this.#nextPauseMs(pauses);
  }

  #nextPauseMs(pauses: Pauses): number {
    // The pauses of a held lock and of leftovers count their failures separately.
    if (pauses !== this.#pauses) this.#failures = 0;
    this.#pauses = pauses;
    const { firstMs, longestMs } = pauses;
    const ms = Math.min(firstMs * 2 ** this.#failures, longestMs);
    this.#failures += 1;
    return ms;
  }

  /** Sends a step. @returns the pause before the next step; "again" if this step must be tried again after the usual pause */
  #take({ does }: Step): Promise<number | "again" | "rest"> {
    switch (does) {
      case "name":
        return this.#name();
      case "free-names":
        return this.#freeNames();
      default:
        return this.#release();
    }
  }

  /** Writes the field of the latest holder in the chain of hand-overs. */
  #name(): Promise<0 | "again" | "rest"> {
    const { chain } = this.#stay;
    if (chain === undefined) throw new Error("a record without a chain has no name");
    const { latest } = chain;
    return sendName(this.#lock, latest).then((sent) => {
      if (isNamedBy(this.#lock, chain, latest, sent)) return "rest";
      return latest === chain.latest ? "again" : 0;
    });
  }

  /** Releases the fields of a chain whose last holder has left: Redis has one of these fields. */
  async #freeNames(): Promise<0> {
    const { client, key } = this.#lock;
    const record = this.#record;
    const { field, chain } = this.#stay;
    const sendings = sendingsOf(client, releasesOf(this.#lock, record.names(field), record));
    const script = lastRelease(this.#lock, record);
    // A call that waits to re-enter then finds the count 0 and fails, because its hold would be freed together with the chain's fields.
    if (!record.isNamed) {
      record.namesLeft();
      if (chain?.isOver === false) record.endTurn();
    }
    await client.commands.exchange(script, key, () => ({ notAfterMs: 0, locks: sendings() }));
    record.namesFreed(false);
    return 0;
  }

  /** Lowers the count to the record's count, or writes it again with the TTL that the holds need. */
  async #release(): Promise<number | "again"> {
    const record = this.#record;
    const stay = this.#stay;
    const lacking = stay.live.filter(({ lacksLease }) => lacksLease);
    // If no hold is live, everything in Redis is released. A release under way lowers the count itself.
    if (stay.live.length === 0 && stay.releases === 0) record.lowers(0);
    for (const hold of lacking) hold.renewing();
    const sent = await sendRelease(this.#lock, stay, { goesOn: this.#goesOn });
    const { reply, sentAt, clock, serverMs, shortfall } = sent;
    // If Redis no longer has the field, the hold is lost: the field is never written again.
    if (lacking.length > 0 && reply.status !== "released") stay.loseAll("stolen");
    for (const hold of lacking) hold.confirmed(sentAt);
    const { copiesUntilMs } = record;
    if (copiesUntilMs === 0 && shortfall === undefined) for (const hold of lacking) hold.rewritten();
    if (copiesUntilMs > 0 && this.#undoes)
      return clock === undefined ? OF_LEFTOVERS.firstMs : copiesUntilMs - serverMs + 1;
    return shortfall === undefined ? 0 : "again";
  }

  /** True while the lease of a live hold must be written, because it was granted or extended. */
  get #isConfirming(): boolean {
    return this.#stay.live.some(({ lacksLease }) => lacksLease);
  }

  /** True when all that is left is to tell replicas of the last release, so that a promoted replica does not restore the hold. */
  get #isTelling(): boolean {
    const { count, isShort, isDoubtful } = this.#record;
    return isShort && count === 0 && !isDoubtful;
  }

  /**
   * Whether Redis can no longer have anything of the stay: its longest lease has ended, and it can have no place in the queue of a fair
   * lock.
   */
  get #isTooLate(): boolean {
    const { clock } = this.#lock.client;
    this.#endMs ??= this.#end();
    return clock.monotonicMs() >= this.#endMs;
  }

  /**
   * Redis drops a waiter that has been silent for `aliveMs`. If the waiter was granted the lock just before, the grant ends within another
   * `aliveMs`.
   */
  #end(): number {
    const { client, kind } = this.#lock;
    const aliveMs = kind.recordsWaiters ? fairTimes.aliveMs : 0;
    const { clock, commands } = client;
    return clock.monotonicMs() + this.#record.longestLeaseMs + 2 * (aliveMs + commands.timeoutMs);
  }

  #isGivenUp({ does }: Step): boolean {
    const { client } = this.#lock;
    const { live, loss } = this.#stay;
    if (client.stopped) return true;
    if (does === "name" || this.#isConfirming) return false;
    if (does === "free-names") {
      // When the client closes, bodies may still run, so their leases are left to their TTLs. A forgotten lease is also left to its TTL.
      const isLeft = loss === undefined ? !this.#undoes : loss.reason === "closed";
      return isLeft || this.#isTooLate;
    }
    if (!this.#undoes) return true;
    if (this.#isTelling) {
      this.#tellingEndMs ??= client.clock.monotonicMs() + TELLING_MS;
      return client.isClosing || this.#isTooLate || client.clock.monotonicMs() >= this.#tellingEndMs;
    }
    // A copy of a release that arrives later could release the next hold of the same stay.
    const mayHarm = this.#record.copiesUntilMs > 0 && (this.#goesOn || live.length > 0);
    return this.#isTooLate && !mayHarm;
  }

  /** Keeps the stay alive while Redis may have something that belongs to no live hold, and lets the stay end afterwards. */
  #keepStay(): void {
    const record = this.#record;
    const isLeftOver = record.count > 0 && this.#stay.live.length === 0;
    if (this.#undoes && record.isNamed && (record.isDoubtful || isLeftOver)) {
      if (!this.#keepsStay) this.#stay.unsettled();
      this.#keepsStay = true;
    } else if (this.#keepsStay) this.#letStay();
  }

  #letStay(): void {
    if (this.#keepsStay) this.#stay.settled();
    this.#keepsStay = false;
  }

  #tellEnd(): void {
    if (this.#keepsStay) return;
    for (const ended of this.#ended.splice(0)) ended();
  }

  async #pause(ms: number): Promise<void> {
    const begun = (end: () => void) => {
      this.#endPause = end;
    };
    await this.#lock.client.commands.pause(ms, this.#isTelling, begun).catch(() => undefined);
    this.#endPause = undefined;
  }
}
