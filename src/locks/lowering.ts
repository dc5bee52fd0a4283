import type { AsyncResource } from "node:async_hooks";
import type { Client } from "../client.js";
import { UnavailableError } from "../errors.js";
import { events } from "../events.js";
import { FIRST_OWN_THREAD_ID } from "../options.js";
import type { Script } from "../protocol/define-script.js";
import type { LookIntoQueue, Release, ReleaseAnswer, ReleaseCall } from "../protocol/lock-calls.js";
import { presentContext } from "../root-context.js";
import type { Deadline } from "../runtime/deadline.js";
import type { Exchanged } from "../runtime/exchanged.js";
import type { GroupedRequest } from "../runtime/groups.js";
import { ANSWERS_LATE, MOST_VAIN_TRIES } from "../runtime/late-answers.js";
import type { Patience } from "../runtime/patience.js";
import type { ServerRecord } from "../threads/server-record.js";
import type { Stay } from "../threads/stay.js";
import type { LockIdentity } from "./lock-kind.js";
import { freed, freeing, notFreed } from "./own-release.js";

export interface Sending {
  readonly patience?: Patience;
  /** Whether the same stay asks for the lock again afterwards. Default: false. */
  readonly goesOn?: boolean;
}

/**
 * Lowers the hold count in Redis to the count of the stay's record, and repeats the command until an answer other than `late` comes. If
 * there is nothing to lower, the command writes the TTL.
 * @param late the answer `late` to the first try, if the caller has already made that try
 */
export async function sendRelease(
  lock: LockIdentity,
  stay: Stay,
  sending: Sending = {},
  late?: Exchanged<ReleaseAnswer>,
): Promise<Exchanged<ReleaseAnswer>> {
  const { commands } = lock.client;
  let repeated = late?.repeated ?? false;
  for (let tries = late === undefined ? 1 : 2; ; tries += 1) {
    const sent = await new Lowering(lock, stay, sending, repeated).send();
    ({ repeated } = sent);
    if (sent.reply.status !== "late") return sent;
    if (tries >= MOST_VAIN_TRIES) throw new UnavailableError(commands.server, ANSWERS_LATE, false);
  }
}

/**
 * The releases that free a lock from each of these holders, or keep its key. At most one of the holders has the lock.
 * @param heldCount the highest hold count that the holder may have
 */
export function releasesOf(
  lock: Pick<LockIdentity, "client" | "id" | "key" | "channel" | "queues">,
  names: readonly string[],
  { heldCount = 1, keepForMs = 0 }: Partial<Pick<Release, "heldCount" | "keepForMs">> = {},
): readonly Release[] {
  const { key, channel } = lock;
  const looks = lock.queues ? lock.client.lines.look(lock.id) : undefined;
  return names.map((holder) => {
    return { key, holder, heldCount, keptCount: 0, ttlMs: 1, keptMs: [], keepForMs, channel, looks };
  });
}

/**
 * Returns the releases for each try of one command. While a slot moves, a server refuses a command on two keys if it has only one of the
 * two. So every try after the first declares only the locks' keys.
 */
export function sendingsOf(
  { commands }: Pick<Client, "commands">,
  releases: readonly Release[],
): () => readonly Release[] {
  let next = releases;
  return () => {
    const now = next;
    if (commands.inCluster) next = releases.map((release) => ({ ...release, looks: undefined }));
    return now;
  };
}

/** Makes the first waiter in the lock's queue ask, because the lock now expires sooner than the waiters know. */
export function callFirst(lock: LockIdentity): void {
  const { client, key, kind, id } = lock;
  const looks = lock.queues ? client.lines.look(id) : undefined;
  if (looks === undefined) return;
  const releases = releasesOf(lock, [NO_HOLDER]).map((each) => ({
    ...each,
    looks: { ...looks, way: "calls" } as const,
  }));
  const sendings = sendingsOf(client, releases);
  client.inBackground(async () => {
    await client.commands.exchange(kind.release, key, (notAfterMs) => ({ notAfterMs, locks: sendings() }));
  });
}

/** The script that ends the last hold of a stay: it frees the lock, or keeps it for a while. */
export function lastRelease(
  { kind }: LockIdentity,
  { keepForMs }: ServerRecord,
): Script<ReleaseCall, readonly ReleaseAnswer[]> {
  return keepForMs > 0 && kind.keep !== undefined ? kind.keep : kind.release;
}

/**
 * One try to lower a hold count.
 * @see docs/internals/states.md#one-release
 */
export class Lowering implements GroupedRequest<Release, ReleaseAnswer> {
  readonly limited: boolean;
  readonly patience: Patience;
  readonly context: AsyncResource | undefined;
  readonly #lock: LockIdentity;
  readonly #stay: Stay;
  readonly #heldCount: number;
  readonly #keptCount: number;
  /** How long the key stays when no holds are left; 0: the lock is freed. */
  readonly #keepForMs: number;
  /** Whether the command publishes that the lock is free. */
  readonly #isFreeing: boolean;
  readonly #repeated: boolean;
  /** How the command looks into the queue of waiting clients when it is next sent. */
  #looks: LookIntoQueue | undefined;
  /** How the command looked into that queue when it was last sent. */
  #looked: LookIntoQueue | undefined;
  /** Undefined before the first sending, and for a command without a deadline. */
  #deadline: Deadline | undefined;
  /** The shortest TTL that the command may have written. */
  #leastTtlMs = Number.POSITIVE_INFINITY;
  /** Settles the promise of `send`; `#reject` does so if the command fails. */
  #resolve: ((sent: Exchanged<ReleaseAnswer>) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  /** @param repeated whether Redis may have received an earlier try more than once */
  constructor(
    lock: LockIdentity,
    stay: Stay,
    { patience = PLAIN, goesOn = false }: Sending = PLAIN,
    repeated = false,
  ) {
    const { inRedis, threadId } = stay;
    const isReused = threadId < FIRST_OWN_THREAD_ID;
    const { heldCount, keptCount, limited } = inRedis.lowered(inRedis.count, goesOn || isReused);
    this.#lock = lock;
    this.#stay = stay;
    this.#heldCount = heldCount;
    this.#keptCount = keptCount;
    this.#keepForMs = keptCount === 0 ? inRedis.keepForMs : 0;
    this.#isFreeing = keptCount === 0 && this.#keepForMs === 0;
    this.limited = limited;
    this.#repeated = repeated;
    this.#looks = this.#isFreeing && lock.queues ? lock.client.lines.look(lock.id) : undefined;
    this.patience = patience;
    this.context = events.acquire.asyncEnd.hasSubscribers ? presentContext() : undefined;
  }

  get key(): string {
    return this.#stay.key;
  }

  /** A release that keeps holds has its own counts and TTL, so it is sent alone. */
  isLike(other: Lowering): boolean {
    const looksAlike = (this.#looks === undefined) === (other.#looks === undefined);
    return this.#keptCount === 0 && other.#keptCount === 0 && looksAlike;
  }

  item(notAfterMs: number): Release {
    const { commands } = this.#lock.client;
    if (notAfterMs > 0) this.#deadline = commands.deadline(this.#stay.key, notAfterMs, this.#deadline);
    if (this.#isFreeing) freeing(this.#lock);
    const { key, field: holder } = this.#stay;
    const keptCount = this.#keptCount;
    const keptMs = this.#stay.keptMs(keptCount);
    // The count may include a hold that is about to be released: until then the key must not expire.
    const ttlMs = Math.max(this.#stay.neededMs(), ...keptMs);
    if (keptCount > 0) {
      const leastMs = this.#lock.kind.shared ? this.#leastOf(ttlMs) : ttlMs;
      this.#leastTtlMs = Math.min(this.#leastTtlMs, leastMs);
    }
    const { channel } = this.#lock;
    const keepForMs = this.#keepForMs;
    const looks = this.#looks;
    this.#looked = looks;
    // As in `sendingsOf`. A cluster refuses a writer's release while the slot moves, with or without the key of the queue.
    if (commands.inCluster && this.#lock.kind.half === undefined) this.#looks = undefined;
    return { key, holder, heldCount: this.#heldCount, keptCount, ttlMs, keptMs, keepForMs, channel, looks };
  }

  /** Each hold of a shared lock has its own TTL. */
  #leastOf(ttlMs: number): number {
    return this.#stay.live.reduce((least, hold) => Math.min(least, Math.ceil(hold.neededMs())), ttlMs);
  }

  send(): Promise<Exchanged<ReleaseAnswer>> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      const { kind, client } = this.#lock;
      client.groups.send(this.#keepForMs > 0 && kind.keep !== undefined ? kind.keep : kind.release, this);
    });
  }

  answered(answer: ReleaseAnswer, command: Exchanged<unknown>): void {
    const { sentAt, serverMs, clock, resets, shortfall } = command;
    const repeated = this.#repeated || command.repeated;
    const { inRedis } = this.#stay;
    const { client, id, kind } = this.#lock;
    if (repeated) this.#copyMayArrive();
    inRedis.seenServer(clock, serverMs);
    if (answer.status !== "released") notFreed(this.#lock);
    else if (this.#isFreeing) freed(this.#lock, answer, this.#looked);
    else if (!kind.shared) {
      // The waiting calls of this client learn the new end at once, without a message. The waiting calls for a shared lock do not, because
      // other clients also decide when that lock expires.
      client.lines.of(id)?.endsIn(this.#keepForMs || this.#stay.neededMs());
      // The answer to a repeat does not show whether the TTL became shorter: the first copy may have already written the new TTL.
      if (answer.sooner || repeated) callFirst(this.#lock);
    }
    // If a release did not wait for replicas, the replicas may lack this release.
    const isShort = shortfall !== undefined || this.patience.replicated === false;
    if (answer.status !== "late") inRedis.released(this.#keptCount, answer.status, isShort);
    this.#resolve?.({ reply: answer, sentAt, serverMs, clock, resets, repeated, shortfall });
  }

  failed(error: unknown): void {
    notFreed(this.#lock);
    if (error instanceof UnavailableError && error.outcomeUnknown) this.#copyMayArrive();
    this.#reject?.(error);
  }

  #copyMayArrive(): void {
    if (this.#deadline === undefined) return;
    this.#stay.inRedis.copyMayArrive(this.#deadline, this.#leastTtlMs, true);
  }
}

const PLAIN: Patience & Sending = {};
/** The holder in a release that frees nothing. */
const NO_HOLDER = "";
