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
import { KnownScripts, type ScriptCommands } from "./known-scripts.js";

/** A connection of our own to a master. It lives once. */
export interface MasterLink {
  /** Sends a command once connected. Those of one turn travel together, in order. Rejects as the Redis client does. */
  send(command: readonly string[]): Promise<unknown>;
  /** Ends it at once. Resolves in bounded time also when the server is gone. Safe twice. */
  close(): Promise<void>;
}

export interface MasterEvents {
  onEnd(cause: unknown): void;
}

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
  resolve(reply: ReplicatedReply): void;
  reject(error: unknown): void;
}

/** After so many milliseconds the number of replicas is asked for again. */
const COUNT_AGAIN_MS = 5_000;
const MORE_THAN_THERE_ARE = 1_000;
const AT_ONCE_MS = 10;
/**
 * A connection on which nothing is answered so long after the replicas' time is over is dead, though the kernel may not know
 * it yet, or that of a master which was replaced since.
 */
const ANSWER_TIMEOUT_MS = 5_000;

/**
 * Runs scripts on one master and waits until its replicas have what they wrote. `WAIT` counts the writes of its own
 * connection, so these calls have one. It also holds up what comes after it, so that calls which come meanwhile gather, and
 * share the next.
 */
export class ReplicatedCalls {
  readonly #options: MasterOptions;
  readonly #scripts = new KnownScripts();
  #link: MasterLink | undefined;
  /** The number of replicas that are connected; undefined while it is not known. */
  #connected: { readonly count: number; readonly atMs: number } | undefined;
  #waiting: Waiting[] = [];
  #running = false;
  #refused: WaitRefusedError | undefined;
  #closed = false;

  constructor(options: MasterOptions) {
    this.#options = options;
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

  async close(): Promise<void> {
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#refused ?? new DriverClosedError());
    await this.#leave();
  }

  /** Never rejects. */
  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      const timeoutMs = Math.max(...batch.map(({ demand }) => demand.timeoutMs));
      const timeout = systemClock.schedule(timeoutMs + ANSWER_TIMEOUT_MS, () => void this.#leave());
      try {
        await this.#runBatch(batch, timeoutMs);
      } catch (error) {
        for (const { reject } of batch) reject(this.#options.toError(error));
      } finally {
        timeout.cancel();
      }
    }
    this.#running = false;
  }

  async #runBatch(waiting: readonly Waiting[], timeoutMs: number): Promise<void> {
    const link = await this.#open();
    const wanted = await this.#wanted(link, waiting);
    const batch = waiting.filter(isWanted);
    if (batch.length === 0) return;
    const sender = new Sender(link);
    const replies = batch.map(({ call, ticket, asking }) =>
      this.#scripts.run(call, ticket, asking ? sender.asking : sender),
    );
    let acknowledged = this.#wait(link, wanted, timeoutMs);
    sender.late = false;
    const settled = await Promise.allSettled(replies);
    // A script that had to be sent again, in full, has written after that.
    if (sender.late) acknowledged = this.#wait(link, wanted, timeoutMs);
    const count = await acknowledged;
    if (count < wanted) this.#connected = undefined;
    settled.forEach((outcome, at) => {
      const call = batch[at];
      if (outcome.status === "fulfilled") {
        call?.resolve({ reply: outcome.value, acknowledged: count, wanted });
        return;
      }
      const error = this.#options.toError(outcome.reason);
      // It is a replica by now, and the next connection leads to the master.
      if (error instanceof ServerReplyError && error.code === "READONLY") void this.#leave();
      call?.reject(error);
    });
  }

  async #open(): Promise<MasterLink> {
    if (this.#link !== undefined) return this.#link;
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

  /** How many replicas are to have the writes of all these calls. */
  async #wanted(link: MasterLink, batch: readonly Waiting[]): Promise<number> {
    const demands = batch.map(({ demand }) => demand.replicas);
    const fixed = demands.filter((replicas) => typeof replicas === "number");
    if (fixed.length === demands.length) return Math.max(...fixed);
    const connected = await this.#countReplicas(link);
    return Math.max(...demands.map((replicas) => numberOf(replicas, connected)));
  }

  async #countReplicas(link: MasterLink): Promise<number> {
    const nowMs = systemClock.monotonicMs();
    const known = this.#connected;
    if (known !== undefined && nowMs - known.atMs < COUNT_AGAIN_MS) return known.count;
    const info = await link.send(["INFO", "replication"]).catch((error: unknown) => {
      if (this.#options.toError(error) instanceof ServerReplyError) return "";
      throw error;
    });
    const [, told] = /connected_slaves:(\d+)/.exec(String(info)) ?? [];
    // A user who may not ask for it counts those that have the latest write by now.
    const count = Number(told ?? (await this.#wait(link, MORE_THAN_THERE_ARE, AT_ONCE_MS)));
    this.#connected = { count, atMs: nowMs };
    return count;
  }

  /** Never rejects: what can not be learned is not acknowledged. */
  async #wait(link: MasterLink, wanted: number, timeoutMs: number): Promise<number> {
    if (wanted === 0) return 0;
    const command = ["WAIT", String(wanted), String(Math.max(1, Math.ceil(timeoutMs)))];
    return link.send(command).then(Number, () => 0);
  }
}

/** Refuses a call for which nobody waits any more. */
function isWanted({ ticket, reject }: Waiting): boolean {
  if (ticket.givenUp) reject(new Error("the call was given up before it was sent"));
  return !ticket.givenUp;
}

/** Sends scripts on a connection. */
class Sender implements ScriptCommands {
  readonly #link: MasterLink;
  /** Whether something was sent since this was last set to false. */
  late = false;
  /** The same for a slot that this master is getting only now. */
  readonly asking: ScriptCommands = {
    eval: (call) => this.#ask(() => this.eval(call)),
    evalsha: (call) => this.#ask(() => this.evalsha(call)),
  };

  constructor(link: MasterLink) {
    this.#link = link;
  }

  eval(call: ScriptCall): Promise<RawReply> {
    return this.#send("EVAL", call.script.lua, call);
  }

  evalsha(call: ScriptCall): Promise<RawReply> {
    return this.#send("EVALSHA", call.script.sha1, call);
  }

  #send(command: string, script: string, { keys, args }: ScriptCall): Promise<RawReply> {
    this.late = true;
    return this.#link.send([command, script, String(keys.length), ...keys, ...args]) as Promise<RawReply>;
  }

  #ask(send: () => Promise<RawReply>): Promise<RawReply> {
    this.#link.send(["ASKING"]).catch(toldByTheScript);
    return send();
  }
}

/** What can not ask is redirected again. */
function toldByTheScript(): void {}

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
