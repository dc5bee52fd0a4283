import { ServerReplyError } from "../driver/driver.js";
import { ClientClosedError, UnavailableError } from "../errors.js";
import type { Script } from "../protocol/define-script.js";
import { unexpected } from "../protocol/replies.js";
import type { Command, Commands, Exchanged, Started } from "./commands.js";
import type { Patience } from "./patience.js";

/** One key's part of a command that may be about many. */
export interface Request<Item, Answer> {
  readonly key: string;
  /** Whether it is to change nothing once it has surely been given up. */
  readonly limited: boolean;
  readonly patience: Patience;
  /** Whether both can be asked in one command of their script. */
  isLike(other: Request<Item, Answer>): boolean;
  /**
   * What to send, made anew for each time.
   * @param notAfterMs on the server's clock, when the command is given up; 0 without a limit
   */
  item(notAfterMs: number): Item;
  /** @param command what goes for all of it */
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
/** A script call for more would hold up the server for others. */
const MOST_REQUESTS = 100;

/**
 * Sends what is asked for in the same tick together: one script call for many keys, each of which is answered by itself. What
 * is alone goes as it would without. A group that fails as a whole is sent key by key, since only one of them may be to
 * blame.
 */
export class Groups {
  readonly #commands: Commands;
  readonly #enabled: boolean;
  /** Those of which nothing was sent yet. A new list for each tick: a Map that is cleared keeps alive what it had. */
  #forming: AnyGroup[] = [];

  constructor(commands: Commands, { groupCommit }: { readonly groupCommit: boolean }) {
    this.#commands = commands;
    this.#enabled = groupCommit;
  }

  /** As {@link Commands.exchange}, for one key. */
  send<Item, Answer>(script: GroupScript<Item, Answer>, request: Request<Item, Answer>): void {
    const { timeoutMs, replicated = true } = request.patience;
    // Who is in a hurry, or need not wait for replicas, is not to wait for those who do.
    if (this.#enabled && timeoutMs === undefined && replicated) this.#join(script, request);
    else this.#sendAlone(script, request);
  }

  #join<Item, Answer>(script: GroupScript<Item, Answer>, request: Request<Item, Answer>): void {
    const slot = this.#commands.inCluster ? this.#commands.slotOf(request.key) : 0;
    const forming = this.#forming;
    if (forming.length === 0) void SOON.then(this.#flush);
    for (const group of forming) {
      if (group.slot !== slot || group.script !== script) continue;
      // Of one script, and so of one kind of items and answers.
      const { requests } = group as Group<Item, Answer>;
      const [first] = requests;
      if (requests.length >= (script.mostKeys ?? MOST_REQUESTS) || first?.limited !== request.limited)
        continue;
      if (first.isLike(request)) {
        requests.push(request);
        return;
      }
    }
    forming.push({ slot, script, requests: [request] } satisfies Group<Item, Answer> as AnyGroup);
  }

  readonly #flush = (): void => {
    const groups = this.#forming;
    this.#forming = [];
    for (const { script, requests } of groups) {
      const [request] = requests;
      if (request !== undefined && requests.length === 1) this.#sendAlone(script, request);
      else this.#sendGroup(script, requests);
    }
  };

  #sendGroup<Item, Answer>(
    script: GroupScript<Item, Answer>,
    requests: readonly Request<Item, Answer>[],
  ): void {
    const [{ key, limited } = NOBODY] = requests;
    const commands = this.#commands;
    const started = commands.start();
    const { resets } = commands;
    const command: Command<GroupInput<Item>, readonly Answer[]> = {
      script,
      key,
      patience: patienceOf(requests),
      input() {
        const notAfterMs = limited ? commands.notAfterMs(key) : 0;
        return { notAfterMs, locks: requests.map((request) => request.item(notAfterMs)) };
      },
      answered(sent) {
        for (let at = 0; at < requests.length; at += 1) answer(requests[at], sent, at);
      },
      failed: (error) => {
        const doubtful = isDoubtful(error) || commands.resets !== resets ? 1 : 0;
        for (const request of requests) {
          if (error instanceof ClientClosedError) request.failed(error);
          else this.#sendAlone(script, request, { ...started, doubtful });
        }
      },
    };
    commands.begin(command, started);
  }

  #sendAlone<Item, Answer>(
    script: GroupScript<Item, Answer>,
    request: Request<Item, Answer>,
    started?: Started,
  ): void {
    const { key, limited, patience } = request;
    const commands = this.#commands;
    const command: Command<GroupInput<Item>, readonly Answer[]> = {
      script,
      key,
      patience,
      input() {
        const notAfterMs = limited ? commands.notAfterMs(key) : 0;
        return { notAfterMs, locks: [request.item(notAfterMs)] };
      },
      answered: (sent) => answer(request, sent, 0),
      failed: (error) => request.failed(error),
    };
    commands.begin(command, started);
  }
}

interface Group<Item, Answer> {
  readonly slot: number;
  readonly script: GroupScript<Item, Answer>;
  readonly requests: Request<Item, Answer>[];
}

type AnyGroup = Group<unknown, unknown>;

const NOBODY = { key: "", limited: false } as const;

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
  // A script that fails on one key has been at others before.
  const { cause } = error;
  return cause instanceof ServerReplyError && cause.fromScript;
}
