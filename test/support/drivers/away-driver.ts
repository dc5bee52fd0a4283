import type { Clock } from "../../../src/clock.js";
import type {
  ChannelListener,
  Driver,
  PubSubFamily,
  Ticket,
  Unsubscribe,
} from "../../../src/driver/driver.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import { type CallFault, ScriptedDriver } from "./scripted-driver.js";

/** An answer of the server that has reached the client: when it was asked for, and when it came, on the monotonic clock. */
export interface Answer {
  readonly keys: readonly string[];
  readonly askedMs: number;
  readonly cameMs: number;
}

/** A driver to a server that meets every call with one fault for as long as a test wants, and writes down what was answered all the same. */
export class AwayDriver extends ScriptedDriver {
  /** Undefined: the server answers. */
  fault: CallFault | undefined;
  readonly answers: Answer[] = [];
  readonly #clock: Clock;

  constructor(inner: Driver, clock: Clock) {
    super(inner);
    this.#clock = clock;
  }

  override async run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    const askedMs = this.#clock.monotonicMs();
    const deliver = () => super.run(call, ticket);
    const reply = await (this.fault === undefined ? deliver() : this.fault.meet(deliver, this));
    this.answers.push({ keys: call.keys, askedMs, cameMs: this.#clock.monotonicMs() });
    return reply;
  }

  override subscribe(
    channel: string,
    listener: ChannelListener,
    family?: PubSubFamily,
  ): Promise<Unsubscribe> {
    if (this.fault !== undefined) return Promise.reject(new Error("there is no connection"));
    return super.subscribe(channel, listener, family);
  }
}
