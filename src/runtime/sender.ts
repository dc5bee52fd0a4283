import type { Clock } from "../clock.js";
import type { Driver, Ticket } from "../driver/driver.js";
import type { Answered } from "../protocol/define-script.js";
import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import { tookTooLong } from "./command-failures.js";
import type { HashedWheelTimer } from "./hashed-wheel-timer.js";
import type { AnyPendingCommand, PendingCommand } from "./pending-command.js";
import type { Replication, Shortfall } from "./replication.js";
import type { ServerClocks } from "./server-clocks.js";
import type { UnderWay } from "./under-way.js";

/** Commands that may take longer are timed coarsely. */
const SHORT_BOUND_MS = 1_000;

/** The services that a sender uses. */
interface Services {
  readonly driver: Driver;
  readonly clock: Clock;
  readonly wheel: HashedWheelTimer;
  readonly replication: Replication;
  readonly clocks: ServerClocks;
  readonly underWay: UnderWay;
}

/** Sends commands once each. */
export class Sender {
  readonly #driver: Driver;
  readonly #clock: Clock;
  readonly #wheel: HashedWheelTimer;
  readonly #replication: Replication;
  readonly #clocks: ServerClocks;
  readonly #underWay: UnderWay;

  constructor({ driver, clock, wheel, replication, clocks, underWay }: Services) {
    this.#driver = driver;
    this.#clock = clock;
    this.#wheel = wheel;
    this.#replication = replication;
    this.#clocks = clocks;
    this.#underWay = underWay;
  }

  /**
   * One try. A command without an answer in time is given up, and a later answer is dropped.
   * @param place where its key is at present
   */
  send<Input, Reply>(pending: PendingCommand<Input, Reply>, call: ScriptCall, place: string): void {
    const { command, endMs, sentAt } = pending;
    const { replicated } = command.script;
    const leftMs = endMs - sentAt.monotonicMs;
    pending.place = place;
    pending.resets = this.#driver.resets;
    pending.timeout = this.after(leftMs, () => pending.giveUp(tookTooLong(call.script, pending)));
    this.#underWay.add(pending);
    const onError = (error: unknown) => this.#failed(pending, error);
    if (!replicated || !this.#replication.isOn) {
      this.#run(call, pending).then((raw) => this.#answered(pending, call, raw), onError);
      return;
    }
    // Replicas are waited for, as far as the caller wants it.
    const { replicated: awaited = true, leaseMs = Number.POSITIVE_INFINITY } = command.patience;
    const span = { awaited, required: replicated === true, leaseMs, leftMs };
    this.#replication
      .run(call, pending, span)
      .then(({ raw, shortfall }) => this.#answered(pending, call, raw, shortfall), onError);
  }

  /** Ends the try that is under way, and the command with it. */
  giveUp(pending: AnyPendingCommand, error: Error): void {
    this.#end(pending);
    pending.givenUp = true;
    pending.unanswered(pending, error);
  }

  #answered<Input, Reply>(
    pending: PendingCommand<Input, Reply>,
    call: ScriptCall,
    raw: RawReply,
    shortfall?: Shortfall,
  ): void {
    // The server's time is not read from a late answer either: the command may have been on its way to the server for long, and deadlines
    // made by it would end far too late.
    if (pending.givenUp) return;
    const { command, sentAt, place, resets = 0 } = pending;
    let decoded: Answered<Reply>;
    try {
      decoded = command.script.decode(raw, call.keys.length);
    } catch (error) {
      this.#failed(pending, error);
      return;
    }
    const { reply, serverMs } = decoded;
    // Nor is it read if this process was blocked until after the deadline, as it may have sent the command late.
    const isTimely = serverMs > 0 && this.#clock.monotonicMs() <= pending.endMs;
    const clock = isTimely ? this.#clocks.read(command.key, place, serverMs, { sentAt, resets }) : undefined;
    this.#end(pending);
    const repeated = pending.doubtful > 0 || this.#driver.resets !== resets;
    command.answered({ reply, serverMs, clock, sentAt, resets, repeated, shortfall });
  }

  #failed(pending: AnyPendingCommand, error: unknown): void {
    if (pending.givenUp) return;
    this.#end(pending);
    pending.unanswered(pending, error);
  }

  #end(pending: AnyPendingCommand): void {
    pending.timeout?.cancel();
    this.#underWay.settled(pending);
  }

  /** A driver that throws counts as one that rejects. */
  #run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    try {
      return this.#driver.run(call, ticket);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Most bounds are long, and share the wheel; its grain is too coarse for a short one. */
  after(ms: number, callback: () => void): { cancel(): void } {
    if (ms >= SHORT_BOUND_MS) return this.#wheel.schedule(ms, callback);
    return this.#clock.schedule(Math.max(ms, 0), callback);
  }
}
