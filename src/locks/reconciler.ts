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

/** While Redis lacks something of a lock that is held. */
const OF_A_HELD_LOCK: Pauses = { firstMs: 50, longestMs: 1_000 };
/** While Redis may have something that no hold stands for. */
const OF_LEFTOVERS: Pauses = { firstMs: 500, longestMs: 10_000 };
/** For how long a release is repeated for replicas that do not acknowledge it. */
const TELLING_MS = 60_000;

/** What a call asks for that leaves something undone in Redis. */
interface Undoing extends Pick<Sending, "goesOn"> {
  /** Called when Redis has what is wanted and no copy can change that, or when this is given up. */
  readonly ended?: (() => void) | undefined;
}

/**
 * Brings Redis to what a stay wants of it, in the background: what no live hold stands for is given back. A record that is reconciled
 * already has one reconciler, which gets one reason more to go on.
 * @param after whether something is asked for under the same field afterwards by this stay
 * @see docs/internals/states.md#endings
 */
export function reconcile(
  lock: LockIdentity,
  stay: Stay,
  after: Pick<Sending, "goesOn"> = {},
  ended?: () => void,
): void {
  const { inRedis, releases } = stay;
  // A release that is under way may leave something that only this call wants to be given back.
  const isIdle = ended === undefined && releases === 0 && inRedis.reconciler === undefined;
  if (isIdle && inRedis.next(stay.wanted(after.goesOn === true)).does === "nothing") return;
  begin(lock, stay, { ...after, ended });
}

/**
 * Has Redis write what the live holds of a stay lack: the field of one that was handed the lock, or the lease of one that was granted it. A
 * granted hold that is lost meanwhile keeps its field until it is given back, or the TTL has passed. Of one that was handed the lock and is
 * lost before Redis has its field, all names are freed, but not when the client closes.
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
 * The one loop that repairs: sends what the record says is next, one command at a time, until it says that nothing is. There is one for
 * each record with something left to do, and none waits for another.
 */
class Reconciler {
  readonly #lock: LockIdentity;
  readonly #record: ServerRecord;
  /** The stay that has the record now. */
  #stay: Stay;
  /** Something is asked for under the same field afterwards, so that each release has a deadline. */
  #goesOn = false;
  /** Whether what no live hold stands for is given back; false: only what live holds lack is written, and names of lost ones are freed. */
  #undoes = false;
  /** Something was asked for since the latest step was chosen. */
  #hasNews = false;
  /** The stay is not over before this has brought it to 0: the next one under a chosen id has the same field. */
  #keepsStay = false;
  /** Are called once Redis has what is wanted, or this gives up. */
  #ended: (() => void)[] = [];
  /** How many tries in a row were in vain: each pause is twice as long as the one before. */
  #failures = 0;
  /** Those of the latest failure. */
  #pauses: Pauses = OF_A_HELD_LOCK;
  /** On the monotonic clock: from then on Redis can have nothing of the stay. From `#tellingEndMs` on replicas are told no longer. */
  #endMs: number | undefined;
  #tellingEndMs: number | undefined;
  /** Ends the pause; undefined while there is none. */
  #endPause: (() => void) | undefined;

  constructor(lock: LockIdentity, stay: Stay) {
    this.#lock = lock;
    this.#record = stay.inRedis;
    this.#stay = stay;
  }

  /** @param stay the one that has the record now */
  join(stay: Stay, undoing: Undoing | undefined): void {
    this.#hasNews = true;
    this.#endMs = undefined;
    invariant(!this.#keepsStay || stay === this.#stay, "a record passes on while it is reconciled");
    this.#stay = stay;
    if (undoing !== undefined) {
      this.#undoes = true;
      this.#goesOn ||= undoing.goesOn === true;
      if (undoing.ended !== undefined) this.#ended.push(undoing.ended);
    }
    // The holders of a chain follow each other faster than a server that fails should be asked.
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
        // A naming, and the release of all names, have the turn that began with the hand-over.
        const { isNamed } = record;
        const next = await (isNamed ? record.inTurn(async () => this.#round()) : this.#round());
        // Not within the turn: a call that hears of the end may send its own command at once.
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

  /** Sends what is next. @returns how long to pause before the step after it, in milliseconds; "rest" when there is none */
  #round(): Promise<number | "rest"> | number | "rest" {
    const step = this.#record.next(this.#stay.wanted(this.#goesOn));
    this.#keepStay();
    if (this.#isGivenUp(step)) return "rest";
    // A release that is under way lowers the count to that of the holds which it found: they may have been lost since. Its end ends the pause.
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
    // What failed while the lock was held was another command.
    if (pauses !== this.#pauses) this.#failures = 0;
    this.#pauses = pauses;
    const { firstMs, longestMs } = pauses;
    const ms = Math.min(firstMs * 2 ** this.#failures, longestMs);
    this.#failures += 1;
    return ms;
  }

  /** Sends a step. @returns how long to pause before the next one; "again" where this one has to be tried again after the usual pause */
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

  /** Has Redis write the field of a chain's latest holder, who is trusted for as long as the one before was until then. */
  #name(): Promise<0 | "again" | "rest"> {
    const { chain } = this.#stay;
    if (chain === undefined) throw new Error("a record without a chain has no name");
    const { latest } = chain;
    return sendName(this.#lock, latest).then((sent) => {
      if (isNamedBy(this.#lock, chain, latest, sent)) return "rest";
      return latest === chain.latest ? "again" : 0;
    });
  }

  /** Releases every field of a chain that its holders have left: Redis has one of them. */
  async #freeNames(): Promise<0> {
    const { client, key } = this.#lock;
    const record = this.#record;
    const { field, chain } = this.#stay;
    const sendings = sendingsOf(client, releasesOf(this.#lock, record.names(field), record));
    const script = lastRelease(this.#lock, record);
    // A call that waits to enter once more then finds the count 0, and fails: its hold would be freed with the names.
    if (!record.isNamed) {
      record.namesLeft();
      if (chain?.isOver === false) record.endTurn();
    }
    await client.commands.exchange(script, key, () => ({ notAfterMs: 0, locks: sendings() }));
    record.namesFreed(false);
    return 0;
  }

  /** Lowers the count to that of the record, or writes it once more with the TTL that the holds need. */
  async #release(): Promise<number | "again"> {
    const record = this.#record;
    const stay = this.#stay;
    const lacking = stay.live.filter(({ lacksLease }) => lacksLease);
    // Without a live hold, all that Redis has is released. A release that is under way lowers the count itself.
    if (stay.live.length === 0 && stay.releases === 0) record.lowers(0);
    for (const hold of lacking) hold.renewing();
    const sent = await sendRelease(this.#lock, stay, { goesOn: this.#goesOn });
    const { reply, sentAt, clock, serverMs, shortfall } = sent;
    // Where Redis has no field of such a hold any more, the hold is lost: its field is never written again.
    if (lacking.length > 0 && reply.status !== "released") stay.loseAll("stolen");
    for (const hold of lacking) hold.confirmed(sentAt);
    const { copiesUntilMs } = record;
    if (copiesUntilMs === 0 && shortfall === undefined) for (const hold of lacking) hold.rewritten();
    if (copiesUntilMs > 0 && this.#undoes)
      return clock === undefined ? OF_LEFTOVERS.firstMs : copiesUntilMs - serverMs + 1;
    return shortfall === undefined ? 0 : "again";
  }

  /** True while the lease of a live hold is to be written: of one that was granted, or whose lease was set anew. */
  get #isConfirming(): boolean {
    return this.#stay.live.some(({ lacksLease }) => lacksLease);
  }

  /** True when all that is left is to have replicas know of the last release, so that a promoted one does not restore the hold. */
  get #isTelling(): boolean {
    const { count, isShort, isDoubtful } = this.#record;
    return isShort && count === 0 && !isDoubtful;
  }

  /** Whether Redis can have nothing of the stay any more: its longest lease is over, and its place in a fair queue as well. */
  get #isTooLate(): boolean {
    const { clock } = this.#lock.client;
    this.#endMs ??= this.#end();
    return clock.monotonicMs() >= this.#endMs;
  }

  /** Redis drops a waiter that has been silent for `aliveMs`, and a grant of the last moment ends within another `aliveMs`. */
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
      // When the client closes, bodies may still run: their leases are left to their TTLs, and so is one that its program has forgotten.
      const isLeft = loss === undefined ? !this.#undoes : loss.reason === "closed";
      return isLeft || this.#isTooLate;
    }
    if (!this.#undoes) return true;
    if (this.#isTelling) {
      this.#tellingEndMs ??= client.clock.monotonicMs() + TELLING_MS;
      return client.isClosing || this.#isTooLate || client.clock.monotonicMs() >= this.#tellingEndMs;
    }
    // A copy that arrives later could release the next hold of a stay that goes on.
    const mayHarm = this.#record.copiesUntilMs > 0 && (this.#goesOn || live.length > 0);
    return this.#isTooLate && !mayHarm;
  }

  /** Keeps the stay while Redis may have something that no hold stands for, and lets it end after that. */
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
