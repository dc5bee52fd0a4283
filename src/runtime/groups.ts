import { ServerReplyError } from "../driver/driver.js";
import { ClientClosedError, UnavailableError } from "../errors.js";
import type { Script } from "../protocol/define-script.js";
import { unexpected } from "../protocol/replies.js";
import type { Commands } from "./commands.js";
import type { Exchanged } from "./exchanged.js";
import type { Patience } from "./patience.js";
import type { Command, Started } from "./pending-command.js";

/** The part for one key of a command that may be about many. */
export interface Request<Item, Answer> {
  readonly key: string;
  /** Whether it has a deadline, after which it changes nothing. */
  readonly limited: boolean;
  readonly patience: Patience;
  /** Whether both can be asked in one command of their script. */
  isLike(other: Request<Item, Answer>): boolean;
  /**
   * What to send, made again for each sending.
   * @param notAfterMs on the server's clock, when the command is given up; 0 without a limit
   */
  item(notAfterMs: number): Item;
  /** @param command what is known of the command as a whole */
  answered(answer: Answer, command: Exchanged<unknown>): void;
  /** @param error as {@link Commands.exchange} throws it */
  failed(error: unknown): void;
}

/** A script that answers each of its keys by itself. */
export type GroupScript<Item, Answer> = Script<GroupInput<Item>, readonly Answer[]>;

interface GroupInput<Item> {
  readonly notAfterMs: number;
  readonly locks: readonly Item[];
}

/** Cheaper than `queueMicrotask`, which keeps an async resource. */
const SOON = Promise.resolve();
/** A script call for more would keep the server from other commands for too long. */
const MOST_REQUESTS = 100;

/**
 * Sends what is asked for in the same tick together: one script call for many keys, with an answer for each. A request that is alone is
 * sent as it would be without groups. A group that fails as a whole is sent key by key, since only one of them may be to blame.
 */
export class Groups {
  readonly #commands: Commands;
  readonly #enabled: boolean;
  /** The groups of which nothing was sent yet. A new list for each tick: a Map that is cleared keeps alive what it had. */
  #forming: AnyGroup[] = [];

  constructor(commands: Commands, { groupCommit }: { readonly groupCommit: boolean }) {
    this.#commands = commands;
    this.#enabled = groupCommit;
  }

  /** As {@link Commands.exchange}, for one key. */
  send<Item, Answer>(script: GroupScript<Item, Answer>, request: Request<Item, Answer>): void {
    const { timeoutMs, replicated = true } = request.patience;
    // A request with a shorter timeout, or without a wait for replicas, would wait for the rest of its group: it is sent alone.
    if (this.#enabled && timeoutMs === undefined && replicated) this.#join(script, request);
    else new Group(this.#commands, script, request).send();
  }

  #join<Item, Answer>(script: GroupScript<Item, Answer>, request: Request<Item, Answer>): void {
    const slot = this.#commands.inCluster ? this.#commands.slotOf(request.key) : 0;
    const forming = this.#forming;
    if (forming.length === 0) void SOON.then(this.#flush);
    for (const group of forming) {
      // Of one script, and so of one kind of items and answers.
      if (group.slot === slot && group.script === script && (group as Group<Item, Answer>).takes(request))
        return;
    }
    forming.push(new Group(this.#commands, script, request, slot) as AnyGroup);
  }

  readonly #flush = (): void => {
    const groups = this.#forming;
    this.#forming = [];
    for (const group of groups) group.send();
  };
}

/** One request or more that are sent as one command. */
class Group<Item, Answer> implements Command<GroupInput<Item>, readonly Answer[]> {
  readonly slot: number;
  readonly script: GroupScript<Item, Answer>;
  readonly #commands: Commands;
  readonly #first: Request<Item, Answer>;
  /** With the first; undefined while that is alone. */
  #requests: Request<Item, Answer>[] | undefined;
  #patience: Patience;
  /** The time limit of the command: where it fails, each request is sent by itself with the same. */
  #started: Started | undefined;
  #resets = 0;

  constructor(commands: Commands, script: GroupScript<Item, Answer>, first: Request<Item, Answer>, slot = 0) {
    this.slot = slot;
    this.script = script;
    this.#commands = commands;
    this.#first = first;
    this.#patience = first.patience;
  }

  get key(): string {
    return this.#first.key;
  }

  get patience(): Patience {
    return this.#patience;
  }

  /** @returns whether the request goes with those that are there */
  takes(request: Request<Item, Answer>): boolean {
    const first = this.#first;
    const requests = this.#requests ?? [first];
    const most = this.script.mostKeys ?? MOST_REQUESTS;
    if (requests.length >= most || first.limited !== request.limited || !first.isLike(request)) return false;
    requests.push(request);
    this.#requests = requests;
    return true;
  }

  send(started?: Started): void {
    const commands = this.#commands;
    if (this.#requests === undefined) {
      commands.begin(this, started);
      return;
    }
    this.#patience = patienceOf(this.#requests);
    this.#started = commands.start();
    this.#resets = commands.resets;
    commands.begin(this, this.#started);
  }

  input(notAfterMs: number): GroupInput<Item> {
    const first = this.#first;
    const limitMs = first.limited ? notAfterMs : 0;
    const locks = this.#requests?.map((request) => request.item(limitMs)) ?? [first.item(limitMs)];
    return { notAfterMs: limitMs, locks };
  }

  answered(sent: Exchanged<readonly Answer[]>): void {
    const requests = this.#requests;
    if (requests === undefined) answer(this.#first, sent, 0);
    else for (let at = 0; at < requests.length; at += 1) answer(requests[at], sent, at);
  }

  failed(error: unknown): void {
    const [requests, started] = [this.#requests, this.#started];
    if (requests === undefined || started === undefined) {
      this.#first.failed(error);
      return;
    }
    const commands = this.#commands;
    const doubtful = isDoubtful(error) || commands.resets !== this.#resets ? 1 : 0;
    for (const request of requests) {
      if (error instanceof ClientClosedError) request.failed(error);
      else new Group(commands, this.script, request).send({ ...started, doubtful });
    }
  }
}

type AnyGroup = Group<unknown, unknown>;

function answer<Answer>(
  request: Pick<Request<unknown, Answer>, "answered" | "failed"> | undefined,
  sent: Exchanged<readonly Answer[]>,
  at: number,
): void {
  const own = sent.reply[at];
  if (own === undefined) request?.failed(unexpected("an answer for each key", null));
  else request?.answered(own, sent);
}

/** Replicas are waited for during a part of the shortest lease. */
function patienceOf(requests: readonly { readonly patience: Patience }[]): Patience {
  let leaseMs = Number.POSITIVE_INFINITY;
  for (const { patience } of requests) {
    if (patience.leaseMs !== undefined && patience.leaseMs < leaseMs) ({ leaseMs } = patience);
  }
  return { once: true, leaseMs };
}

/** Whether some of a command that has failed may have been carried out. */
function isDoubtful(error: unknown): boolean {
  if (!(error instanceof UnavailableError) || error.outcomeUnknown) return true;
  // A script that fails on one key may have changed the keys before it.
  const { cause } = error;
  return cause instanceof ServerReplyError && cause.fromScript;
}
