import type { AsyncResource } from "node:async_hooks";
import type { Ticket } from "../driver/driver.js";
import { events } from "../events.js";
import type { Script } from "../protocol/define-script.js";
import { presentContext } from "../root-context.js";
import { type Bound, tookTooLong } from "./command-failures.js";
import type { Exchanged } from "./exchanged.js";
import type { Instant } from "./instant.js";
import type { Patience } from "./patience.js";
import type { Server } from "./server-clocks.js";
import { Pending } from "./under-way.js";

/** A command to send, with callbacks for its outcome. */
export interface Command<Input, Reply> {
  readonly script: Script<Input, Reply>;
  /** One of the keys that it names: decides which server it goes to. */
  readonly key: string;
  readonly patience: Patience;
  /** The async context in which it is sent, while a listener traces calls. Default: the context in which it begins. */
  readonly context?: AsyncResource | undefined;
  /**
   * The content of the command. It is made again for each sending, like the deadline.
   * @param notAfterMs the time on the server's clock when the command has certainly been given up
   */
  input(notAfterMs: number): Input;
  answered(sent: Exchanged<Reply>): void;
  failed(error: unknown): void;
}

/** Called after a try without an answer: the command may be sent again. */
type TellUnanswered = (pending: AnyPendingCommand, error: unknown) => void;

/** Ends the current try of a command. */
interface Ends {
  giveUp(pending: AnyPendingCommand, error: Error): void;
}

/** When a command is given up, and how many of its tries are in doubt. */
export interface Started {
  /** On the monotonic clock. */
  readonly endMs: number;
  /** How many tries of the command have an unknown outcome. */
  readonly doubtful: number;
}

/** The first pause before a command is sent again; each next one is twice as long. */
const FIRST_BACKOFF_MS = 20;

/** The only record of a command through all its tries, until it is answered or given up. It is also the `Ticket` of each try. */
export class PendingCommand<Input, Reply> extends Pending implements Ticket, Bound {
  readonly command: Command<Input, Reply>;
  readonly unanswered: TellUnanswered;
  readonly timeoutMs: number;
  readonly endMs: number;
  doubtful: number;
  /** The pause before it is sent again. */
  backoffMs: number = FIRST_BACKOFF_MS;
  givenUp = false;
  silent: ReadonlySet<string> | undefined = undefined;
  /** The time just before its latest try. */
  sentAt: Instant;
  /** How many times the connection had been lost before the latest try; undefined: that try sent nothing. */
  resets: number | undefined = undefined;
  /** When the latest try is given up. This is later than `endMs` if the process was held up between `sentAt` and the sending. */
  expiresMs = 0;
  readonly isAside: boolean;
  /** The server that had its key at its latest try. */
  server: Server | undefined = undefined;
  /**
   * The async context of each try. A timer or a message may cause a later try, and the spans of the Redis client should still belong to the
   * call. Undefined: the context of the sending code.
   */
  readonly context: AsyncResource | undefined;
  readonly #sender: Ends;

  constructor(
    command: Command<Input, Reply>,
    sender: Ends,
    unanswered: TellUnanswered,
    sentAt: Instant,
    { timeoutMs, endMs }: Bound,
    doubtful = 0,
  ) {
    super();
    this.command = command;
    this.unanswered = unanswered;
    this.timeoutMs = timeoutMs;
    this.endMs = endMs;
    this.doubtful = doubtful;
    this.sentAt = sentAt;
    this.context = events.acquire.asyncEnd.hasSubscribers ? (command.context ?? presentContext()) : undefined;
    this.isAside = command.patience.aside === true;
    this.#sender = sender;
  }

  override expire(): void {
    this.giveUp(tookTooLong(this.command.script, this));
  }

  override giveUp(error: Error): void {
    this.#sender.giveUp(this, error);
  }
}

export type AnyPendingCommand = PendingCommand<unknown, unknown>;
