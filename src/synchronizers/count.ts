import type { AsyncResource } from "node:async_hooks";
import type { Client } from "../client.js";
import { UnavailableError, WrongTypeError } from "../errors.js";
import {
  type CountAnswer,
  countLook,
  type Decision,
  type RepeatableRequest,
} from "../protocol/count-scripts.js";
import type { Script } from "../protocol/define-script.js";
import type { LookIntoQueue } from "../protocol/lock-calls.js";
import { stillOpen } from "../runtime/command-failures.js";
import type { Exchanged } from "../runtime/exchanged.js";
import { forCaller } from "../runtime/for-caller.js";
import type { Instant } from "../runtime/instant.js";
import { ANSWERS_LATE, MOST_VAIN_TRIES } from "../runtime/late-answers.js";
import type { Patience } from "../runtime/patience.js";
import type { Command } from "../runtime/pending-command.js";
import type { Shortfall } from "../runtime/replication.js";
import type { OpenRequest } from "../runtime/requests.js";
import type { CountIdentity } from "../threads/permit-holds.js";

/** A number without an owner: the permits of a semaphore, or the count of a latch. */
export interface Count extends CountIdentity {
  readonly client: Client;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** A decision, with the facts about its command. */
export type Decided<Told extends Decision> = Told & {
  readonly sentAt: Instant;
  /** Whether a copy of the command may still arrive. */
  readonly repeated: boolean;
  /** Set if fewer replicas than required have acknowledged the decision. */
  readonly shortfall?: Shortfall;
};

/** The command of a request, with the callbacks for its outcome. */
interface CountQuestion<Input, Told extends Decision> {
  readonly script: Script<Input, CountAnswer<Told>>;
  readonly patience: Patience;
  readonly context?: AsyncResource | undefined;
  /** Called for each try, so that every try has its own input. */
  input(request: RepeatableRequest): Input;
  decided(decision: Decided<Told>): void;
  /** @param error UnavailableError, WrongTypeError, ClientClosedError */
  failed(error: unknown): void;
}

/** Sends a request until it is answered or its time is up. Whatever happens to the commands, the request takes effect at most once. */
export class Deciding<Input, Told extends Decision> implements Command<Input, CountAnswer<Told>> {
  readonly key: string;
  readonly script: Script<Input, CountAnswer<Told>>;
  readonly patience: Patience;
  readonly context: AsyncResource | undefined;
  readonly #count: Count;
  readonly #request: OpenRequest;
  readonly #question: CountQuestion<Input, Told>;
  #tries = 0;
  #repeated = false;

  constructor(count: Count, request: OpenRequest, question: CountQuestion<Input, Told>) {
    this.key = count.key;
    this.script = question.script;
    this.patience = question.patience;
    this.context = question.context;
    this.#count = count;
    this.#request = request;
    this.#question = question;
  }

  send(): void {
    this.#tries += 1;
    this.#count.client.commands.begin(this);
  }

  input(): Input {
    return this.#question.input(this.#request.next());
  }

  answered({ reply, sentAt, shortfall, repeated }: Exchanged<CountAnswer<Told>>): void {
    this.#repeated ||= repeated;
    if ("status" in reply) {
      this.#request.answered();
      this.#question.decided({ ...reply, sentAt, repeated: this.#repeated, ...(shortfall && { shortfall }) });
    } else if (reply.why === "wrong-type") {
      const { key, kind } = this.#count;
      this.#question.failed(new WrongTypeError(key, reply.type, kind));
    } else if (this.#tries < MOST_VAIN_TRIES) this.send();
    else {
      const { server } = this.#count.client.commands;
      this.#question.failed(new UnavailableError(server, ANSWERS_LATE, this.#repeated));
    }
  }

  failed(error: unknown): void {
    this.#question.failed(this.#repeated ? unknownAfterAll(error) : error);
  }
}

/**
 * As {@link Deciding}, for a caller that wants a promise.
 * @throws UnavailableError, WrongTypeError, ClientClosedError
 */
export function decide<Input, Told extends Decision>(
  count: Count,
  request: OpenRequest,
  script: Script<Input, CountAnswer<Told>>,
  input: (request: RepeatableRequest) => Input,
  patience: Patience = {},
): Promise<Decided<Told>> {
  return new Promise((decided, failed) => {
    new Deciding(count, request, { script, input, patience, decided, failed }).send();
  });
}

/** The latest try had no effect, but an earlier try may have had one. */
function unknownAfterAll(error: unknown): unknown {
  if (!(error instanceof UnavailableError) || error.outcomeUnknown) return error;
  const why = "refused; earlier attempts may have been applied";
  return new UnavailableError(error.server, why, true, { cause: error });
}

/** The options for a change that other calls may wait for. */
interface Persistence<Status> {
  /** Whether the change is repeated in the background if Redis does not answer or refuses. Default: false. */
  readonly goesOn?: boolean;
  /** Runs in the background after a decision that comes too late for the caller. Does not reject. */
  readonly after?: (status: Status) => Promise<void>;
  /** How the change looks into the queue of the clients that wait for permits; undefined: not at all. */
  readonly looks?: LookIntoQueue | undefined;
}

/**
 * Changes a count, once or not at all.
 * @throws UnavailableError, WrongTypeError, ClientClosedError
 */
export async function change<Input, Told extends Decision>(
  count: Count,
  script: Script<Input, CountAnswer<Told>>,
  input: (request: RepeatableRequest) => Input,
  { goesOn = false, after, looks }: Persistence<Told["status"]> = {},
): Promise<Decided<Told>> {
  const request = count.client.requests.begin(count.key);
  const again = () => decide(count, request, script, input);
  const unheard = async () => {
    const decided = await again();
    await after?.(decided.status);
    return decided;
  };
  try {
    const decided = await decide(count, request, script, input);
    const { waiting = -1 } = decided;
    if (waiting > 0) count.client.lines.wasHeard(count.channel);
    else if (waiting === 0 && looks !== undefined) count.client.lines.hasLeft(count.channel, looks);
    // A replica that takes over must know of the decision, too.
    if (goesOn && decided.shortfall !== undefined) persist(count, request, again);
    else request.end(decided.repeated ? "copies" : "answer");
    return decided;
  } catch (cause) {
    const error = goesOn ? stillOpen(cause) : cause;
    const unknown = error instanceof UnavailableError && error.outcomeUnknown;
    if (goesOn && unknown) persist(count, request, unheard);
    else request.end(unknown ? "copies" : "nothing");
    throw forCaller(error, count);
  }
}

/** Repeats `work` for a request in the background until it is answered, or Redis has forgotten the request. */
export function persist(
  { client }: Pick<Count, "client">,
  request: OpenRequest,
  work: () => Promise<Pick<Decided<Decision>, "shortfall">>,
): void {
  client.inBackground(async () => {
    for (let pauseMs = FIRST_PAUSE_MS; !client.stopped && request.mayRepeat; ) {
      let isShort = false;
      try {
        const { shortfall } = await work();
        isShort = shortfall !== undefined;
        if (!isShort) break;
      } catch (error) {
        // Redis is unavailable, or has refused this try, which says nothing about earlier tries: tries again.
        if (!(error instanceof UnavailableError)) break;
      }
      if (isShort && client.isClosing) break;
      await client.commands.pause(pauseMs, isShort).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
    request.end("copies");
  });
}

/** Reads a count: 0 if there is none. @throws UnavailableError, WrongTypeError, ClientClosedError */
export async function look(count: Count): Promise<number> {
  return (await read(count, countLook, { count: count.key })).value;
}

/** Asks a question that changes nothing. @throws UnavailableError, WrongTypeError, ClientClosedError */
export async function read<Input, Told extends Decision>(
  count: Count,
  script: Script<Input, CountAnswer<Told>>,
  input: Input,
): Promise<Told> {
  count.client.assertOpen(count);
  try {
    const { reply } = await count.client.commands.exchange(script, count.key, () => input);
    if ("status" in reply) return reply;
    throw new WrongTypeError(count.key, reply.why === "late" ? "?" : reply.type, count.kind);
  } catch (error) {
    throw forCaller(error, count);
  }
}
