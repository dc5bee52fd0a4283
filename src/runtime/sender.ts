import type { Clock } from "../clock.js";
import { type Driver, ServerReplyError, type Ticket } from "../driver/driver.js";
import type { Answered } from "../protocol/define-script.js";
import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import { now } from "./instant.js";
import type { AnyPendingCommand, PendingCommand } from "./pending-command.js";
import type { Replication, Shortfall } from "./replication.js";
import type { Server, ServerClocks } from "./server-clocks.js";
import type { UnderWay } from "./under-way.js";

/** The services that a sender uses. */
interface SenderServices {
  readonly driver: Driver;
  readonly clock: Clock;
  readonly replication: Replication;
  readonly clocks: ServerClocks;
  readonly underWay: UnderWay;
}

/** Sends each command once. */
export class Sender {
  readonly #driver: Driver;
  readonly #clock: Clock;
  readonly #replication: Replication;
  readonly #clocks: ServerClocks;
  readonly #underWay: UnderWay;
  /** The sending time of the first command since a server last answered in time; a refusal counts as an answer. */
  #silentSinceMs: number | undefined;

  constructor({ driver, clock, replication, clocks, underWay }: SenderServices) {
    this.#driver = driver;
    this.#clock = clock;
    this.#replication = replication;
    this.#clocks = clocks;
    this.#underWay = underWay;
  }

  /** Milliseconds since the sending of the first command after the last timely answer; 0 if none was sent after it. */
  get silentMs(): number {
    const nowMs = this.#clock.monotonicMs();
    return nowMs - (this.#silentSinceMs ?? nowMs);
  }

  /**
   * Sends one try. A command without an answer in time is given up, and a later answer is dropped.
   * @param server the server that has its key now
   */
  send<Input, Reply>(pending: PendingCommand<Input, Reply>, call: ScriptCall, server: Server): void {
    const { command, endMs, sentAt, context } = pending;
    const { replicated } = command.script;
    const leftMs = endMs - sentAt.monotonicMs;
    pending.expiresMs = this.#clock.monotonicMs() + leftMs;
    pending.server = server;
    pending.resets = this.#driver.resets;
    this.#underWay.add(pending);
    this.#silentSinceMs ??= sentAt.monotonicMs;
    const onError = (error: unknown) => this.#failed(pending, error);
    if (!replicated || !this.#replication.isOn) {
      let answer: Promise<RawReply>;
      try {
        if (command.script.everywhere) answer = askMasters(this.#driver, call, pending);
        else if (context === undefined) answer = this.#driver.run(call, pending);
        else answer = context.runInAsyncScope(this.#driver.run, this.#driver, call, pending);
      } catch (error) {
        // A driver that throws counts as one that rejects.
        answer = Promise.reject(error);
      }
      answer.then((raw) => this.#answered(pending, call, raw), onError);
      return;
    }
    // Waits for replicas, if the caller wants that.
    const { replicated: awaited = true, leaseMs = Number.POSITIVE_INFINITY } = command.patience;
    const span = { awaited, required: replicated === true, leaseMs, leftMs };
    const sent =
      context === undefined
        ? this.#replication.run(call, pending, span)
        : context.runInAsyncScope(() => this.#replication.run(call, pending, span));
    sent.then(({ raw, shortfall }) => this.#answered(pending, call, raw, shortfall), onError);
  }

  /** Ends the current try, and the command with it. */
  giveUp(pending: AnyPendingCommand, error: Error): void {
    this.#underWay.settled(pending);
    pending.givenUp = true;
    pending.unanswered(pending, error);
  }

  #answered<Input, Reply>(
    pending: PendingCommand<Input, Reply>,
    call: ScriptCall,
    raw: RawReply,
    shortfall?: Shortfall,
  ): void {
    // A late answer is dropped, and the server's time is not read from it: the command may have been on its way for long, and deadlines
    // based on that time would be far too late.
    if (pending.givenUp) return;
    this.#silentSinceMs = undefined;
    const { command, sentAt, resets = 0 } = pending;
    let decoded: Answered<Reply>;
    try {
      decoded = command.script.decode(raw, call.keys.length);
    } catch (error) {
      this.#failed(pending, error);
      return;
    }
    const { reply, serverMs } = decoded;
    // The server's time is not read either if this process was blocked until after the deadline, because it may have sent the command late;
    // nor if the machine was suspended, because the monotonic clock stood still.
    const at = now(this.#clock);
    const tookMs = Math.max(at.monotonicMs - sentAt.monotonicMs, at.wallMs - sentAt.wallMs);
    const isTimely = serverMs > 0 && tookMs <= pending.endMs - sentAt.monotonicMs;
    const clock = isTimely ? this.#clocks.read(pending, serverMs) : undefined;
    this.#underWay.settled(pending);
    const repeated = pending.doubtful > 0 || this.#driver.resets !== resets;
    command.answered({ reply, serverMs, clock, sentAt, resets, repeated, shortfall });
  }

  #failed(pending: AnyPendingCommand, error: unknown): void {
    if (pending.givenUp) return;
    if (error instanceof ServerReplyError) this.#silentSinceMs = undefined;
    this.#underWay.settled(pending);
    pending.unanswered(pending, error);
  }
}

/**
 * Returns a list with a name and an answer for each master. The first item stands for the server's time, which no single clock could give
 * here.
 */
async function askMasters(driver: Driver, call: ScriptCall, ticket: Ticket): Promise<RawReply> {
  const replies = (await driver.everywhere?.(call, ticket)) ?? [
    { server: driver.traits.server, reply: await driver.run(call, ticket) },
  ];
  return [0, ...replies.map(({ server, reply }) => [server, reply])];
}
