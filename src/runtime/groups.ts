import type { AsyncResource } from "node:async_hooks";
import { ServerReplyError } from "../driver/driver.js";
import { ClientClosedError, UnavailableError } from "../errors.js";
import type { Script } from "../protocol/define-script.js";
import { unexpected } from "../protocol/replies.js";
import { rootContext } from "../root-context.js";
import type { Commands } from "./commands.js";
import type { Exchanged } from "./exchanged.js";
import type { Patience } from "./patience.js";
import type { Command, Started } from "./pending-command.js";

/** One key's part of a command on many keys. */
export interface GroupedRequest<Item, Answer> {
  readonly key: string;
  /** Whether the request has a deadline, after which it changes nothing. */
  readonly limited: boolean;
  readonly patience: Patience;
  /** The async context of its caller; undefined while no listener traces calls. */
  readonly context?: AsyncResource | undefined;
  /** Whether one command of the script can carry both this request and the other one. */
  isLike(other: GroupedRequest<Item, Answer>): boolean;
  /**
   * The content to send, made again for each sending.
   * @param notAfterMs the time on the server's clock when the command is given up; 0 without a deadline
   */
  item(notAfterMs: number): Item;
  /** @param command the facts about the whole command */
  answered(answer: Answer, command: Exchanged<unknown>): void;
  /** @param error as {@link Commands.exchange} throws it */
  failed(error: unknown): void;
}

/** A script with a separate answer for each key. */
export type GroupScript<Item, Answer> = Script<GroupInput<Item>, readonly Answer[]>;

interface GroupInput<Item> {
  readonly notAfterMs: number;
  readonly locks: readonly Item[];
}

/** Cheaper than `queueMicrotask`, which keeps an async resource. */
const SOON = Promise.resolve();
/** A script call with more requests would keep the server from other commands for too long. */
const MOST_REQUESTS = 100;

/**
 * Sends the requests of one tick together: one script call for many keys, with an answer for each. A single request is sent as if there
 * were no groups. If a group fails as a whole, each request is sent alone, because only one key may be the cause.
 */
export class Groups {
  readonly #commands: Commands;
  readonly #enabled: boolean;
  /** The groups that are still unsent. Each tick begins a new list. */
  #forming: AnyGroup[] = [];

  constructor(commands: Commands, { groupCommit }: { readonly groupCommit: boolean }) {
    this.#commands = commands;
    this.#enabled = groupCommit;
  }

  /** As {@link Commands.exchange}, for one key. */
  send<Item, Answer>(script: GroupScript<Item, Answer>, request: GroupedRequest<Item, Answer>): void {
    const { timeoutMs, replicated = true } = request.patience;
    // A request with a shorter timeout, or without a wait for replicas, would wait for the rest of its group: it is sent alone.
    if (!this.#enabled || timeoutMs !== undefined || !replicated) {
      new Group(this.#commands, script, request).send();
      return;
    }
    const slot = this.#commands.inCluster ? this.#commands.slotOf(request.key) : 0;
    const forming = this.#forming;
    if (forming.length === 0) void SOON.then(this.#flush);
    for (const group of forming) {
      // Groups of the same script have the same types of items and answers.
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

/** One or more requests that are sent as one command. */
class Group<Item, Answer> implements Command<GroupInput<Item>, readonly Answer[]> {
  readonly slot: number;
  readonly script: GroupScript<Item, Answer>;
  readonly key: string;
  patience: Patience;
  context: AsyncResource | undefined;
  readonly #commands: Commands;
  readonly #first: GroupedRequest<Item, Answer>;
  /** Includes the first. */
  readonly #requests: GroupedRequest<Item, Answer>[];
  /** The time limit of the command: if it fails, each request is sent alone with the same limit. */
  #started: Started | undefined;
  #resets = 0;

  constructor(
    commands: Commands,
    script: GroupScript<Item, Answer>,
    first: GroupedRequest<Item, Answer>,
    slot = 0,
  ) {
    this.slot = slot;
    this.script = script;
    this.key = first.key;
    this.patience = first.patience;
    this.context = first.context;
    this.#commands = commands;
    this.#first = first;
    this.#requests = [first];
  }

  /** @returns whether the request joins the group */
  takes(request: GroupedRequest<Item, Answer>): boolean {
    const [first, requests] = [this.#first, this.#requests];
    const most = this.script.mostKeys ?? MOST_REQUESTS;
    if (requests.length >= most || first.limited !== request.limited || !first.isLike(request)) return false;
    requests.push(request);
    return true;
  }

  send(started?: Started): void {
    const commands = this.#commands;
    if (this.#requests.length === 1) {
      commands.begin(this, started);
      return;
    }
    this.patience = patienceOf(this.#requests);
    // The command belongs to all of its callers equally, so it runs in the root context.
    if (this.context !== undefined) this.context = rootContext;
    this.#started = commands.start();
    this.#resets = commands.resets;
    commands.begin(this, this.#started);
  }

  input(notAfterMs: number): GroupInput<Item> {
    const limitMs = this.#first.limited ? notAfterMs : 0;
    const locks: Item[] = [];
    for (const request of this.#requests) locks.push(request.item(limitMs));
    return { notAfterMs: limitMs, locks };
  }

  answered(sent: Exchanged<readonly Answer[]>): void {
    const [answers, requests] = [sent.reply, this.#requests];
    for (let at = 0; at < requests.length; at += 1) {
      const answer = answers[at];
      if (answer === undefined) requests[at]?.failed(unexpected("an answer for each key", null));
      else requests[at]?.answered(answer, sent);
    }
  }

  failed(error: unknown): void {
    const started = this.#started;
    if (started === undefined) {
      this.#first.failed(error);
      return;
    }
    const commands = this.#commands;
    const doubtful = isDoubtful(error) || commands.resets !== this.#resets ? 1 : 0;
    for (const request of this.#requests) {
      if (error instanceof ClientClosedError) request.failed(error);
      else new Group(commands, this.script, request).send({ ...started, doubtful });
    }
  }
}

type AnyGroup = Group<unknown, unknown>;

/** The wait for replicas is bounded by a part of the shortest lease. */
function patienceOf(requests: readonly { readonly patience: Patience }[]): Patience {
  let leaseMs = Number.POSITIVE_INFINITY;
  for (const { patience } of requests) {
    if (patience.leaseMs !== undefined && patience.leaseMs < leaseMs) ({ leaseMs } = patience);
  }
  return { once: true, leaseMs };
}

/** Whether parts of a failed command may have run. */
function isDoubtful(error: unknown): boolean {
  if (!(error instanceof UnavailableError) || error.outcomeUnknown) return true;
  // A script that fails on one key may have changed the keys before it.
  const { cause } = error;
  return cause instanceof ServerReplyError && cause.fromScript;
}
