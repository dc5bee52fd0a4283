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
   * Resolves once the Sentinels have named the master. If it is another server than before, `move` is called first. Rejects if too few
   * Sentinels answer. Absent without Sentinels: then the master stays the same server.
   */
  readonly confirm?: () => Promise<void>;
  /** Whether another server may be the master by now, as far as that is known without asking the Sentinels. If so, each answer must be confirmed. */
  readonly mayBeReplaced?: () => boolean;
  /** Turns a rejection of the Redis client into an error of the server, if the server has answered with an error. */
  readonly toError: (failure: unknown) => unknown;
  /** Default: the clock of the process. */
  readonly clock?: Clock;
}

interface WaitingCall {
  readonly call: ScriptCall;
  readonly ticket: Ticket;
  readonly demand: ReplicaDemand;
  /** Whether the slot is being imported by this master, which then accepts a call for the slot only after `ASKING`. */
  readonly asking: boolean;
  resolve(reply: ReplicatedReply): void;
  reject(error: unknown): void;
}

/** A call that the server has run, and that waits for replicas. */
interface Written extends WaitingCall, WantedReplicas {
  readonly reply: RawReply;
  /** How often the master had changed when the script was sent. */
  readonly moves: number;
}

/** A call that comes while earlier calls wait for replicas is delayed no longer than this. */
const ROUND_MS = 50;
/**
 * If no answer comes for this long after the time for the replicas is over, the connection is dead, perhaps unnoticed by the kernel, or its
 * master was replaced.
 */
const ANSWER_TIMEOUT_MS = 5_000;

/**
 * Runs scripts on one master and waits until its replicas have the scripts' writes. `WAIT` counts the writes of its own connection, so these
 * calls have their own connection. `WAIT` also blocks the commands behind it. So the calls go in rounds: each round sends the calls that
 * have come since the last round, and asks once for everything written so far.
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
      // All calls of this event-loop turn are sent together.
      inRootContext(() => queueMicrotask(() => void this.#runAll()));
    });
  }

  /** Another server has become the master: the next connection goes there, and commands sent to the old master fail. */
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
    // The connection has ended. The next connection has written nothing, so WAIT on it would count all replicas.
    if (this.#link !== link) this.#settle(undefined, Number.POSITIVE_INFINITY);
    // A script had to be sent again with its text, so it has written its values after this `WAIT`.
    else if (sender.late) this.#settle(undefined, this.#clock.monotonicMs());
    else this.#settle(count, isFinal ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs());
  }

  /**
   * Answers each call if enough replicas have acknowledged it, if its time is over, or if its caller has given it up.
   * @param counted undefined if the replicas could not be counted
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
   * This server may no longer be the master if replicas lack the write, or if a failover has begun: the old master no longer counts the
   * promoted replica, and its remaining replicas still acknowledge. In both cases the Sentinels must confirm the master first.
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
    // The demand `connected` accepts too few acknowledgements, so the master must be confirmed. With other demands, the caller rejects them.
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
    // Answers the calls whose writes went through an earlier connection: the new connection cannot count their replicas.
    this.#settle(undefined, Number.POSITIVE_INFINITY);
    if (this.#closed) throw new DriverClosedError();
    const link = this.#options.open(
      onlyEnd(() => {
        if (this.#link === link) this.#forget();
      }),
    );
    this.#link = link;
    this.#scripts.forget();
    // A server that refuses WAIT to this user says so here, before anything is written.
    await link.send(["WAIT", "0", "0"]).catch((error: unknown) => this.#checkRefusal(error));
    return link;
  }

  #forget(): void {
    this.#link = undefined;
    this.#count.forget();
  }

  /** Ends the connection and the commands under way; the next call makes a new connection. */
  async #leave(): Promise<void> {
    const link = this.#link;
    this.#forget();
    await link?.close();
  }

  /**
   * Remembers and throws a refusal that is final for this user. Any other error of the server is ignored here: the script that follows this
   * question gets the same error.
   */
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
  /** Undefined if the server could not tell. */
  readonly count: number | undefined;
  /** True if asking again would give the same answer. */
  readonly isFinal: boolean;
}

/** Asks how many replicas have all writes. Takes no longer than a round. Never rejects. */
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
  // If the answer is not a number, or came too early for the server to have waited, asking again would have the same result.
  const isEarly = clock.monotonicMs() - askedMs < roundMs / 2;
  return { count, isFinal: count === undefined || (count < needed && isEarly) };
}

/** Rejects a call that its caller has given up already. */
function isWanted({ ticket, reject }: WaitingCall): boolean {
  if (ticket.givenUp) reject(new Error("the call was given up before it was sent"));
  return !ticket.givenUp;
}
