import { systemClock } from "../clock.js";
import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import { inRootContext } from "../root-context.js";
import {
  DriverClosedError,
  type ReplicaDemand,
  type ReplicatedReply,
  ServerReplyError,
  type Ticket,
  WaitRefusedError,
} from "./driver.js";
import { KnownScripts } from "./known-scripts.js";
import { type MasterEvents, type MasterLink, ScriptSender } from "./master-link.js";

export interface MasterOptions {
  open(events: MasterEvents): MasterLink;
  /** Makes an error of the server of what the Redis client rejects with, where it is one. */
  toError(error: unknown): unknown;
}

interface Waiting {
  readonly call: ScriptCall;
  readonly ticket: Ticket;
  readonly demand: ReplicaDemand;
  /** Whether the master gets the slot only now, and takes calls for it from those who say that they were sent. */
  readonly asking: boolean;
  /** Until when it waits for replicas, on the monotonic clock. */
  readonly untilMs: number;
  resolve(reply: ReplicatedReply): void;
  reject(error: unknown): void;
}

/** A call that was carried out, and waits for replicas. */
interface Written extends Waiting {
  readonly reply: RawReply;
  readonly wanted: number;
  /** It is answered at once, whatever the replicas have. */
  readonly isLax: boolean;
}

/** After so many milliseconds the number of replicas is asked for again. */
const COUNT_AGAIN_MS = 5_000;
const MORE_THAN_THERE_ARE = 1_000;
const AT_ONCE_MS = 10;
/** Who comes while others wait for replicas is held up no longer than this. */
const ROUND_MS = 50;
/**
 * A connection on which nothing is answered so long after the replicas' time is over is dead, though the kernel may not know
 * it yet, or that of a master which was replaced since.
 */
const ANSWER_TIMEOUT_MS = 5_000;

/**
 * Runs scripts on one master and waits until its replicas have what they wrote. `WAIT` counts the writes of its own
 * connection, so these calls have one. It also holds up what comes after it: hence rounds, each of which sends what has come
 * meanwhile and asks once for all that has been written.
 */
export class ReplicatedCalls {
  readonly #options: MasterOptions;
  readonly #scripts = new KnownScripts();
  #link: MasterLink | undefined;
  /** The number of replicas that are connected; undefined while it is not known. */
  #connected: { readonly count: number; readonly atMs: number } | undefined;
  /**
   * Whether a replica is connected that has let a call wait in vain. Who wants all that are connected, but does not need
   * them, does not wait any more until it has caught up.
   */
  #behind = false;
  #waiting: Waiting[] = [];
  #written: Written[] = [];
  #running = false;
  #refused: WaitRefusedError | undefined;
  #closed = false;

  constructor(options: MasterOptions) {
    this.#options = options;
  }

  run(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand, asking = false): Promise<ReplicatedReply> {
    if (this.#refused !== undefined) return Promise.reject(this.#refused);
    if (this.#closed) return Promise.reject(new DriverClosedError());
    const untilMs = systemClock.monotonicMs() + demand.timeoutMs;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, ticket, demand, asking, untilMs, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      // All calls of this turn go together.
      inRootContext(() => queueMicrotask(() => void this.#runAll()));
    });
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
      const timeout = systemClock.schedule(ROUND_MS + ANSWER_TIMEOUT_MS, () => void this.#leave());
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

  async #round(waiting: readonly Waiting[]): Promise<void> {
    const link = await this.#open();
    const connected = await this.#needed(link, waiting);
    const batch = waiting.filter(isWanted).map((call) => ({
      ...call,
      wanted: numberOf(call.demand.replicas, connected),
      isLax: this.#behind && call.demand.replicas === "connected",
    }));
    // By now those who keep up have acknowledged what was written before.
    const keepingUp = this.#behind ? ask(link, 0, 0) : undefined;
    const sender = new ScriptSender(link);
    const replies = batch.map(({ call, ticket, asking }) =>
      this.#scripts.run(call, ticket, asking ? sender.asking : sender),
    );
    sender.late = false;
    const answer = askFor(link, [...this.#written, ...batch]);
    const settled = await Promise.allSettled(replies);
    settled.forEach((outcome, at) => {
      const call = batch[at];
      if (call === undefined) return;
      if (outcome.status === "fulfilled") this.#written.push({ ...call, reply: outcome.value });
      else this.#reject(call, outcome.reason);
    });
    if (keepingUp !== undefined) this.#behind = ((await keepingUp) ?? 0) < connected;
    const { count, isFinal } = await answer;
    // A script that had to be sent again, in full, has written after the question.
    if (sender.late) this.#settle(0, systemClock.monotonicMs());
    // The connection has ended.
    else if (this.#link !== link) this.#settle(0, Number.POSITIVE_INFINITY);
    else this.#settle(count, isFinal ? Number.POSITIVE_INFINITY : systemClock.monotonicMs());
  }

  /** Answers the calls whose replicas have what they wrote, or whose time is over. */
  #settle(acknowledged: number, nowMs: number): void {
    this.#written = this.#written.filter((call) => {
      const { demand, reply, wanted, isLax } = call;
      const isShort = acknowledged < wanted;
      if (isShort && !isLax && nowMs < call.untilMs && !call.ticket.givenUp) return true;
      if (isShort && !isLax) {
        this.#connected = undefined;
        this.#behind ||= demand.replicas === "connected";
      }
      call.resolve({ reply, acknowledged, wanted });
      return false;
    });
  }

  #reject({ reject }: Waiting, reason: unknown): void {
    const error = this.#options.toError(reason);
    // It is a replica by now, and the next connection leads to the master.
    if (error instanceof ServerReplyError && error.code === "READONLY") void this.#leave();
    reject(error);
  }

  async #open(): Promise<MasterLink> {
    if (this.#link !== undefined) return this.#link;
    // The next connection would count what it has not written.
    this.#settle(0, Number.POSITIVE_INFINITY);
    if (this.#closed) throw new DriverClosedError();
    const link = this.#options.open({
      onEnd: () => {
        if (this.#link === link) this.#forget();
      },
    });
    this.#link = link;
    this.#scripts.forget();
    // Before anything is written: a server that can not be asked for its replicas is to say so now.
    await link.send(["WAIT", "0", "0"]).catch((error: unknown) => this.#checkRefusal(error));
    return link;
  }

  #forget(): void {
    this.#link = undefined;
    this.#connected = undefined;
  }

  /** Ends the connection, with what is under way; the next call makes a new one. */
  async #leave(): Promise<void> {
    const link = this.#link;
    this.#forget();
    await link?.close();
  }

  /** Throws what no later call would be answered otherwise, and remembers it. Anything else the script is told as well. */
  #checkRefusal(failure: unknown): void {
    const error = this.#options.toError(failure);
    if (!(error instanceof ServerReplyError)) throw error;
    if (error.code !== "NOPERM" && !/unknown command/i.test(error.message)) return;
    this.#refused = new WaitRefusedError(error.message, { cause: error });
    void this.close();
    throw this.#refused;
  }

  /** How many replicas are connected, where a call hangs on that. */
  async #needed(link: MasterLink, calls: readonly Waiting[]): Promise<number> {
    if (calls.every(({ demand }) => typeof demand.replicas === "number")) return 0;
    const nowMs = systemClock.monotonicMs();
    const known = this.#connected;
    if (known !== undefined && nowMs - known.atMs < COUNT_AGAIN_MS) return known.count;
    const info = await link.send(["INFO", "replication"]).catch((error: unknown) => {
      if (this.#options.toError(error) instanceof ServerReplyError) return "";
      throw error;
    });
    const [, told] = /connected_slaves:(\d+)/.exec(String(info)) ?? [];
    // A user who may not ask for it counts those that have the latest write by now.
    const count = Number(told ?? (await ask(link, MORE_THAN_THERE_ARE, AT_ONCE_MS)) ?? 0);
    this.#connected = { count, atMs: nowMs };
    return count;
  }
}

interface Count {
  readonly count: number;
  /** Whether to ask again would bring nothing else. */
  readonly isFinal: boolean;
}

/** Asks how many replicas have all that was written, for no longer than a round. Never rejects. */
async function askFor(
  link: MasterLink,
  calls: readonly Pick<Written, "wanted" | "isLax" | "untilMs">[],
): Promise<Count> {
  const patient = calls.filter(({ isLax }) => !isLax);
  const wanted = Math.max(0, ...patient.map((call) => call.wanted));
  if (wanted === 0) return { count: 0, isFinal: true };
  const askedMs = systemClock.monotonicMs();
  const leftMs = Math.min(...patient.map(({ untilMs }) => untilMs)) - askedMs;
  const roundMs = Math.max(1, Math.min(ROUND_MS, Math.ceil(leftMs)));
  const count = await ask(link, wanted, roundMs);
  // A server that can not tell, or does not wait, has said all.
  const isEarly = systemClock.monotonicMs() - askedMs < roundMs / 2;
  return { count: count ?? 0, isFinal: count === undefined || (count < wanted && isEarly) };
}

/** Undefined when that can not be learned. */
function ask(link: MasterLink, replicas: number, timeoutMs: number): Promise<number | undefined> {
  return link.send(["WAIT", String(replicas), String(timeoutMs)]).then(Number, () => undefined);
}

/** Refuses a call for which nobody waits any more. */
function isWanted({ ticket, reject }: Waiting): boolean {
  if (ticket.givenUp) reject(new Error("the call was given up before it was sent"));
  return !ticket.givenUp;
}

function numberOf(replicas: ReplicaDemand["replicas"], connected: number): number {
  switch (replicas) {
    case "connected":
      return connected;
    case "all":
      return Math.max(1, connected);
    case "majority":
      return Math.floor(connected / 2) + 1;
    default:
      return replicas;
  }
}
