import { ServerReplyError } from "../driver/driver.js";
import { ClientClosedError, UnavailableError } from "../errors.js";
import type { Script } from "../protocol/define-script.js";
import { unexpected } from "../protocol/replies.js";
import type { Commands, Exchanged, Started } from "./commands.js";
import type { Patience } from "./patience.js";

/** One key's part of a command that may be about many. */
export interface Request<Item> {
  readonly key: string;
  /** Whether it is to change nothing once it has surely been given up. */
  readonly limited: boolean;
  readonly patience: Patience;
  /**
   * What to send, made anew for each time.
   * @param notAfterMs on the server's clock, when the command is given up; 0 without a limit
   */
  item(notAfterMs: number): Item;
}

/** A script that answers each of its keys by itself. */
export type GroupScript<Item, Answer> = Script<
  { readonly notAfterMs: number; readonly locks: readonly Item[] },
  readonly Answer[]
>;

/** A script call for more would hold up the server for others. */
const MOST_REQUESTS = 100;

/**
 * Sends what is asked for in the same tick together: one script call for many keys, each of which is answered by itself. What
 * is alone goes at once, as it would without. A group that fails as a whole is sent key by key, since only one of them may
 * be to blame.
 */
export class Groups {
  readonly #commands: Commands;
  readonly #enabled: boolean;
  /** Those that nothing was sent of yet; hardly ever more than one. */
  #forming: Forming[] = [];

  constructor(commands: Commands, { groupCommit }: { readonly groupCommit: boolean }) {
    this.#commands = commands;
    this.#enabled = groupCommit;
  }

  /** As {@link Commands.exchange}, for one key. */
  ask<Item, Answer>(script: GroupScript<Item, Answer>, request: Request<Item>): Promise<Exchanged<Answer>> {
    const { timeoutMs, replicated = true } = request.patience;
    // Who is in a hurry, or need not wait for replicas, is not to wait for those who do.
    if (!this.#enabled || timeoutMs !== undefined || !replicated) return this.#alone(script, request);
    return new Promise((resolve, reject) => {
      const group = this.#groupFor(script, request);
      // All that is in a group is of one script.
      (group as Group<Item, Answer>).members.push({ request, resolve, reject });
    });
  }

  #groupFor<Item, Answer>(script: GroupScript<Item, Answer>, { key, limited }: Request<Item>): Forming {
    const slot = this.#commands.slotOf(key);
    for (const group of this.#forming) {
      const fits = group.script === script && group.limited === limited && group.slot === slot;
      if (fits && group.members.length < MOST_REQUESTS) return group;
    }
    const group: Group<Item, Answer> = { script, limited, slot, members: [] };
    if (this.#forming.length === 0) queueMicrotask(() => this.#send());
    this.#forming.push(group as Forming);
    return group as Forming;
  }

  #send(): void {
    const groups = this.#forming;
    this.#forming = [];
    for (const group of groups) void this.#sendGroup(group);
  }

  async #sendGroup<Item, Answer>(group: Group<Item, Answer>): Promise<void> {
    const { script, limited, members } = group;
    const [first] = members;
    if (first === undefined) return;
    if (members.length === 1) {
      this.#alone(script, first.request).then(first.resolve, first.reject);
      return;
    }
    const { key } = first.request;
    const input = () => {
      const notAfterMs = limited ? this.#commands.notAfterMs(key) : 0;
      return { notAfterMs, locks: members.map(({ request }) => request.item(notAfterMs)) };
    };
    const started = this.#commands.start();
    const { resets } = this.#commands;
    try {
      const sent = await this.#commands.exchange(script, key, input, patienceOf(members), started);
      members.forEach(({ resolve, reject }, at) => {
        const answer = sent.reply[at];
        if (answer === undefined) reject(unexpected("an answer for each key", null));
        else resolve(partOf(answer, sent));
      });
    } catch (error) {
      const doubtful = isDoubtful(error) || this.#commands.resets !== resets ? 1 : 0;
      for (const { request, resolve, reject } of members) {
        if (error instanceof ClientClosedError) reject(error);
        else this.#alone(script, request, { ...started, doubtful }).then(resolve, reject);
      }
    }
  }

  async #alone<Item, Answer>(
    script: GroupScript<Item, Answer>,
    request: Request<Item>,
    started?: Started,
  ): Promise<Exchanged<Answer>> {
    const { key, limited, patience } = request;
    const input = () => {
      const notAfterMs = limited ? this.#commands.notAfterMs(key) : 0;
      return { notAfterMs, locks: [request.item(notAfterMs)] };
    };
    const sent = await this.#commands.exchange(script, key, input, patience, started);
    const [answer] = sent.reply;
    if (answer === undefined) throw unexpected("one answer", null);
    return partOf(answer, sent);
  }
}

interface Member<Item, Answer> {
  readonly request: Request<Item>;
  readonly resolve: (answer: Exchanged<Answer>) => void;
  readonly reject: (error: unknown) => void;
}

interface Group<Item, Answer> {
  readonly script: GroupScript<Item, Answer>;
  readonly limited: boolean;
  readonly slot: number;
  readonly members: Member<Item, Answer>[];
}

type Forming = Group<unknown, unknown>;

/** What one key was answered, and what goes for the whole command. */
function partOf<Answer>(
  answer: Answer,
  { sentAt, serverMs, resets, repeated, shortfall }: Exchanged<unknown>,
): Exchanged<Answer> {
  return { reply: answer, sentAt, serverMs, resets, repeated, shortfall };
}

/** Replicas are waited for during a part of the shortest lease. Whoever may not wait for its keys together is asked alone. */
function patienceOf(members: readonly Pick<Member<unknown, unknown>, "request">[]): Patience {
  let leaseMs = Number.POSITIVE_INFINITY;
  for (const { request } of members) {
    if (request.patience.leaseMs !== undefined) leaseMs = Math.min(leaseMs, request.patience.leaseMs);
  }
  return { once: true, leaseMs };
}

/** Whether some of a command that has failed may have been carried out. */
function isDoubtful(error: unknown): boolean {
  if (!(error instanceof UnavailableError) || error.outcomeUnknown) return true;
  // A script that fails on one key has been at others before.
  const { cause } = error;
  return cause instanceof ServerReplyError && cause.message.includes("user_script");
}
