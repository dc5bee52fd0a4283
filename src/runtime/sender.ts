import type { Clock } from "../clock.js";
import type { Driver, Ticket } from "../driver/driver.js";
import type { Answered, Script } from "../protocol/define-script.js";
import type { RawReply, ScriptCall } from "../protocol/script-call.js";
import { type Bound, tookTooLong } from "./command-failures.js";
import type { Exchanged } from "./commands.js";
import type { HashedWheelTimer } from "./hashed-wheel-timer.js";
import type { Instant } from "./instant.js";
import type { Patience } from "./patience.js";
import type { Replication, Shortfall, Span } from "./replication.js";
import type { ServerClocks } from "./server-clocks.js";
import { Pending, type UnderWay } from "./under-way.js";

/** Commands that may take longer are timed coarsely. */
const SHORT_BOUND_MS = 1_000;

/** What a sender needs of those whom it serves. */
interface Services {
  readonly driver: Driver;
  readonly clock: Clock;
  readonly wheel: HashedWheelTimer;
  readonly replication: Replication;
  readonly clocks: ServerClocks;
  readonly underWay: UnderWay;
}

/** A command that is sent once. */
export interface Sending<Reply> {
  readonly script: Script<never, Reply>;
  /** One of those that it names: says which server answers. */
  readonly key: string;
  readonly call: ScriptCall;
  readonly bound: Bound;
  readonly patience: Patience;
  /** Just before. */
  readonly sentAt: Instant;
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

  /** A call without an answer in time is given up; its late answer is nobody's any more. */
  send<Reply>(
    { script, key, call, bound, patience, sentAt }: Sending<Reply>,
    answered: (sent: Exchanged<Reply>) => void,
    failed: (error: unknown) => void,
  ): void {
    const { resets } = this.#driver;
    const place = this.#clocks.placeOf(key);
    const sent = new Sent((error) => {
      end();
      sent.givenUp = true;
      failed(error);
    });
    const onReply = (raw: RawReply, shortfall?: Shortfall) => {
      // Nor does it tell the time: it may have been on its way to the server for long, and deadlines made by it would end far too late.
      if (sent.givenUp) return;
      let decoded: Answered<Reply>;
      try {
        decoded = script.decode(raw);
      } catch (error) {
        onError(error);
        return;
      }
      const { reply, serverMs } = decoded;
      // Nor does one that its process has held up before it went out.
      const isTimely = serverMs > 0 && this.#clock.monotonicMs() <= bound.endMs;
      const clock = isTimely ? this.#clocks.read(key, place, serverMs, { sentAt, resets }) : undefined;
      end();
      const repeated = this.#driver.resets !== resets;
      answered({ reply, serverMs, clock, sentAt, resets, repeated, shortfall });
    };
    const onError = (error: unknown) => {
      if (sent.givenUp) return;
      end();
      failed(error);
    };
    const end = () => {
      timeout.cancel();
      this.#underWay.settled(sent);
    };
    const timeout = this.after(bound.endMs - sentAt.monotonicMs, () =>
      sent.giveUp(tookTooLong(call.script, bound)),
    );
    this.#underWay.add(sent);
    const span = this.#spanOf(script, { bound, sentAt }, patience);
    if (span === undefined) this.#run(call, sent).then(onReply, onError);
    else
      this.#replication.run(call, sent, span).then(({ raw, shortfall }) => onReply(raw, shortfall), onError);
  }

  /** What a driver throws is what it fails with. */
  #run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    try {
      return this.#driver.run(call, ticket);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** For how long replicas are waited for; undefined: they are not asked, or it writes nothing that they need to have. */
  #spanOf(
    { replicated }: Pick<Script<never, unknown>, "replicated">,
    { bound, sentAt }: Pick<Sending<unknown>, "bound" | "sentAt">,
    { replicated: awaited = true, leaseMs = Number.POSITIVE_INFINITY }: Patience,
  ): Span | undefined {
    return replicated && this.#replication.isOn
      ? { awaited, required: replicated === true, leaseMs, leftMs: bound.endMs - sentAt.monotonicMs }
      : undefined;
  }

  /** The wheel is for the many that are far off; its grain is too coarse for a short bound. */
  after(ms: number, callback: () => void): { cancel(): void } {
    if (ms >= SHORT_BOUND_MS) return this.#wheel.schedule(ms, callback);
    return this.#clock.schedule(Math.max(ms, 0), callback);
  }
}

/** A command on its way to a server. */
class Sent extends Pending implements Ticket {
  givenUp = false;
}
