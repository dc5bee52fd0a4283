import { type Clock, systemClock } from "../../clock.js";
import type { RawReply, ScriptCall } from "../../protocol/script-call.js";
import { inRootContext } from "../../root-context.js";
import {
  DriverClosedError,
  type ReplicaDemand,
  type ReplicatedReply,
  ServerReplyError,
  type Ticket,
  WaitRefusedError,
} from "../driver.js";
import { KnownScripts } from "../known-scripts.js";
import { type CommandConnection, type ConnectionEvents, onlyEnd } from "./connection.js";
import { ConnectionScripts } from "./connection-scripts.js";
import { askReplicas, ReplicaCount, type WantedReplicas } from "./replica-count.js";

export interface MasterOptions {
  open(events: ConnectionEvents): CommandConnection;
  /**
   * Resolves once the Sentinels have named the master, after `move` was called where that is another server; rejects where too few
   * of them answer. Not there without Sentinels: then no other server becomes the master.
   */
  readonly confirm?: () => Promise<void>;
  /** Whether, as far as is known without asking, another server may be the master by now: then each answer is to be confirmed. */
  readonly mayBeReplaced?: () => boolean;
  /** Makes an error of the server of what the Redis client rejects with, where it is one. */
  readonly toError: (failure: unknown) => unknown;
  /** Default: that of the process. */
  readonly clock?: Clock;
}

interface WaitingCall {
  readonly call: ScriptCall;
  readonly ticket: Ticket;
  readonly demand: ReplicaDemand;
  /** Whether the slot is being imported by this master, which then takes a call for it only after `ASKING`. */
  readonly asking: boolean;
  resolve(reply: ReplicatedReply): void;
  reject(error: unknown): void;
}

/** A call that was carried out, and waits for replicas. */
interface Written extends WaitingCall, WantedReplicas {
  readonly reply: RawReply;
  /** The number of changes of the master when the script was sent. */
  readonly moves: number;
}

/** A call that comes while earlier ones wait for replicas is held up no longer than this. */
const ROUND_MS = 50;
/**
 * A connection on which nothing is answered so long after the replicas' time is over is dead, though the kernel may not know
 * it yet, or that of a master which was replaced since.
 */
const ANSWER_TIMEOUT_MS = 5_000;

/**
 * Runs scripts on one master and waits until its replicas have what they wrote. `WAIT` counts the writes of its own
 * connection, so these calls have one. It also blocks the commands behind it: hence rounds, each of which sends the calls that have
 * come meanwhile and asks once for everything written so far.
 */
export class ReplicatedCalls {
  readonly #options: MasterOptions;
  readonly #scripts: KnownScripts;
  #link: CommandConnection | undefined;
  readonly #clock: Clock;
  readonly #count: ReplicaCount;
  #waiting: WaitingCall[] = [];
  #written: Written[] = [];
  #running = false;
  #moves = 0;
  #refused: WaitRefusedError | undefined;
  #closed = false;

  constructor(options: MasterOptions) {
    this.#options = options;
    this.#scripts = new KnownScripts(options.toError);
    this.#clock = options.clock ?? systemClock;
    this.#count = new ReplicaCount(this.#clock);
  }

  run(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand, asking = false): Promise<ReplicatedReply> {
    if (this.#refused !== undefined) return Promise.reject(this.#refused);
    if (this.#closed) return Promise.reject(new DriverClosedError());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, ticket, demand, asking, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      // All calls of this turn go together.
      inRootContext(() => queueMicrotask(() => void this.#runAll()));
    });
  }

  /** Another server is the master: the next connection leads there, and what the old one was sent fails. */
  move(): void {
    this.#moves += 1;
    void this.#leave();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#refused ?? new DriverClosedError());
    await this.#leave();
  }

  /** Never rejects. */
  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0 || this.#written.length > 0) {
      const batch = this.#waiting.splice(0);
      const timeout = this.#clock.schedule(ROUND_MS + ANSWER_TIMEOUT_MS, () => void this.#leave());
      try {
        await this.#round(batch);
      } catch (error) {
        for (const { reject } of [...batch, ...this.#written.splice(0)]) reject(this.#options.toError(error));
      } finally {
        timeout.cancel();
      }
    }
    this.#running = false;
  }

  async #round(waiting: readonly WaitingCall[]): Promise<void> {
    const link = await this.#open();
    const moves = this.#moves;
    const { toError } = this.#options;
    await this.#count.look(
      link,
      waiting.map(({ demand }) => demand),
      toError,
    );
    const batch = waiting.filter(isWanted).map((call) => ({ ...call, ...this.#count.of(call.demand) }));
    const sender = new ConnectionScripts(link);
    const replies = batch.map(({ call, ticket, asking }) =>
      this.#scripts.run(call, ticket, asking ? sender.asking : sender),
    );
    sender.late = false;
    const answer = askFor(link, [...this.#written, ...batch], this.#clock);
    const settled = await Promise.allSettled(replies);
    settled.forEach((outcome, at) => {
      const call = batch[at];
      if (call === undefined) return;
      if (outcome.status === "fulfilled") this.#written.push({ ...call, reply: outcome.value, moves });
      else this.#reject(call, outcome.reason);
    });
    const { count, isFinal } = await answer;
    // The connection has ended. The next one has written nothing, so its WAIT would count all replicas.
    if (this.#link !== link) this.#settle(undefined, Number.POSITIVE_INFINITY);
    // A script that had to be sent again, in full, has written after the question.
    else if (sender.late) this.#settle(undefined, this.#clock.monotonicMs());
    else this.#settle(count, isFinal ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs());
  }

  /**
   * Answers each call that enough replicas have acknowledged, that is out of time or that was given up.
   * @param counted undefined where the replicas could not be counted
   */
  #settle(counted: number | undefined, nowMs: number): void {
    const acknowledged = counted ?? 0;
    this.#written = this.#written.filter((call) => {
      const { needed, untilMs, ticket } = call;
      if (acknowledged < needed && nowMs < untilMs && !ticket.givenUp) return true;
      if (counted !== undefined) this.#count.answered(counted, call);
      this.#answer(call, acknowledged);
      return false;
    });
  }

  /**
   * This server may have been replaced as the master if replicas lack the write, or if a failover has begun: a replica that is promoted is
   * no longer counted here, and those that are left acknowledge. Then the Sentinels have to confirm the master first.
   */
  #answer(call: Written, acknowledged: number): void {
    const { reply, demand, wanted, resolve, reject } = call;
    const answer = () => {
      if (call.moves === this.#moves) resolve({ reply, acknowledged, wanted });
      else reject(new Error("another server has become the master meanwhile"));
    };
    const { confirm, mayBeReplaced } = this.#options;
    const { connected, hasFewer } = this.#count;
    const confirmed = () => {
      if (connected !== undefined) this.#count.confirmed(connected);
      answer();
    };
    // With any other demand the caller itself rejects too few acknowledgements; `connected` accepts them, so the master must be confirmed.
    const isShort = demand.replicas === "connected" && (acknowledged < wanted || hasFewer);
    const isDoubtful = isShort || (demand.replicas !== 0 && mayBeReplaced?.() === true);
    if (isDoubtful && confirm !== undefined) confirm().then(confirmed, reject);
    else answer();
  }

  #reject({ reject }: WaitingCall, error: unknown): void {
    // This server has become a replica; the next connection leads to the master.
    if (error instanceof ServerReplyError && error.code === "READONLY") void this.#leave();
    reject(error);
  }

  async #open(): Promise<CommandConnection> {
    if (this.#link !== undefined) return this.#link;
    // Answers the calls that a former connection has written: a new one cannot count their replicas.
    this.#settle(undefined, Number.POSITIVE_INFINITY);
    if (this.#closed) throw new DriverClosedError();
    const link = this.#options.open(
      onlyEnd(() => {
        if (this.#link === link) this.#forget();
      }),
    );
    this.#link = link;
    this.#scripts.forget();
    // Before anything is written: a server that refuses WAIT to this user says so now.
    await link.send(["WAIT", "0", "0"]).catch((error: unknown) => this.#checkRefusal(error));
    return link;
  }

  #forget(): void {
    this.#link = undefined;
    this.#count.forget();
  }

  /** Ends the connection and the commands under way; the next call makes a new one. */
  async #leave(): Promise<void> {
    const link = this.#link;
    this.#forget();
    await link?.close();
  }

  /** Throws and remembers a refusal that is final for this user. Any other error of the server is left to the script behind it. */
  #checkRefusal(failure: unknown): void {
    const error = this.#options.toError(failure);
    if (!(error instanceof ServerReplyError)) throw error;
    if (error.code !== "NOPERM" && !/unknown command/i.test(error.message)) return;
    this.#refused = new WaitRefusedError(error.message, { cause: error });
    void this.close();
    throw this.#refused;
  }
}

interface AnsweredCount {
  /** Undefined where the server could not tell. */
  readonly count: number | undefined;
  /** True if asking again would bring the same. */
  readonly isFinal: boolean;
}

/** Asks how many replicas have all that was written, for no longer than a round. Never rejects. */
async function askFor(
  link: CommandConnection,
  calls: readonly WantedReplicas[],
  clock: Clock,
): Promise<AnsweredCount> {
  const needed = Math.max(0, ...calls.map((call) => call.needed));
  if (needed === 0) return { count: 0, isFinal: true };
  const askedMs = clock.monotonicMs();
  const leftMs = Math.min(...calls.map(({ untilMs }) => untilMs)) - askedMs;
  const roundMs = Math.max(1, Math.min(ROUND_MS, Math.ceil(leftMs)));
  const count = await askReplicas(link, needed, roundMs);
  // Not a number, or a number that came too early for a server that waits: asking again would have the same result.
  const isEarly = clock.monotonicMs() - askedMs < roundMs / 2;
  return { count, isFinal: count === undefined || (count < needed && isEarly) };
}

/** Rejects a call that its caller has given up. */
function isWanted({ ticket, reject }: WaitingCall): boolean {
  if (ticket.givenUp) reject(new Error("the call was given up before it was sent"));
  return !ticket.givenUp;
}
