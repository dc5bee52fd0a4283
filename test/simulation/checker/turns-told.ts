import { YOU_ARE_NEXT, YOUR_TURN } from "../../../src/protocol/messages.js";
import { clientChannel } from "../../../src/protocol/names.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { VirtualTime } from "../world/virtual-time.js";
import { clientOf, isOfGiven } from "./fields.js";
import { type Change, claimantGiven, isGivenTo, type QueuedKind } from "./waiting-places.js";

/** Of a release that frees nothing, and has the first of the queue ask. */
const NO_HOLDER = "";

/** A command that has run about one lock. */
export interface Ran {
  readonly call: ScriptCall;
  /** The client that has sent it; undefined: none of this fleet. */
  readonly own: string | undefined;
  readonly change: Change;
  readonly answer: RawReply | Error;
  /** Whether somebody listens for a client, and may be told. */
  readonly isHeard: (client: string) => boolean;
}

/** A release has told a client its turn, and nothing has answered it yet. */
interface Turn {
  /** Whether the lock was given to it; false: it was left to the fastest. */
  readonly isGiven: boolean;
}

/**
 * Watches what the clients that wait for one lock are told: a command wakes one of them, which is the first that somebody listens for;
 * and no client is woken for nothing twice in a row. Of two releases in a row that tell clients their turn, one gives the lock to the first of them, and what was
 * given it finds; one that polls may have been given it, which claims it. A turn is for nothing when the client's next question is refused, but for what was given and is there no more: that was
 * asked for too late, or somebody has freed it by force, or the server has lost it. Once a client has had the lock, has left the queue, or
 * was passed over as nobody listened for it, its turns are counted anew, and so are those of all others once it was given to somebody. That another one has left, has freed the
 * lock by force, or lets it fall sooner, is news, and no turn.
 */
export class TurnsTold {
  readonly #kind: QueuedKind;
  readonly #queue: string;
  readonly #channel: string;
  readonly #fail: (what: string) => void;
  /** What the command that runs has told to somebody who listens, in order. */
  #told: { readonly client: string; readonly message: string }[] = [];
  readonly #turns = new Map<string, Turn>();
  /** The clients whose latest turn was for nothing. */
  readonly #inVain = new Set<string>();
  /** The clients that were told that they are the next ones, and have not asked since; when that was. */
  readonly #next = new Map<string, number>();
  readonly #time: VirtualTime;

  constructor(name: string, kind: QueuedKind, time: VirtualTime, fail: (what: string) => void) {
    this.#time = time;
    this.#kind = kind;
    this.#queue = kind.queueOf(name);
    this.#channel = clientChannel(kind.channelOf(name), "");
    this.#fail = fail;
  }

  starts(): void {
    this.#told = [];
  }

  published(channel: string, message: string, heard: number): void {
    if (heard === 0 || !channel.startsWith(this.#channel)) return;
    this.#told.push({ client: channel.slice(this.#channel.length), message });
  }

  ran(ran: Ran): void {
    const { call, change, own } = ran;
    const { before, after } = change;
    const { acquire, release, mayLook } = this.#kind;
    const claimant = claimantGiven(change, own);
    // Those that poll have a place before some that wait: for these it was a turn like any other.
    if (claimant !== undefined) this.#countAnew();
    const toldTurn = claimant === undefined ? this.#lookAtOrder(ran) : this.#lookAtClaim(claimant, ran);
    for (const client of new Set([...this.#turns.keys(), ...this.#inVain, ...this.#next.keys()])) {
      const hasIt = after.holders.some(
        (field) => clientOf(field) === client && !isOfGiven(field) && mayLook(field),
      );
      const isOut = before.places.has(client) && !after.places.has(client);
      const hasLeft = isOut && client === own && call.script.name === release;
      const isPassedOver = isOut && client !== own && client !== toldTurn;
      if (hasIt || hasLeft || isPassedOver) this.#forget(client);
    }
    if (toldTurn !== undefined && isFreed(change) && call.script.name === release) {
      const isGiven = isGivenTo(toldTurn, after);
      // It may have stood before others that were told their turn by its own release.
      if (isGiven) this.#countAnew();
      this.#turns.set(toldTurn, { isGiven });
    }
    for (const { client, message } of this.#told)
      if (message === YOU_ARE_NEXT) this.#next.set(client, this.#time.nowUs);
    if (own === undefined) return;
    if (call.script.name === acquire) this.#next.delete(own);
    this.#lookAtQuestion(own, ran);
  }

  /** The clients that were told by then that they are the next ones, and have neither asked since nor left the queue. */
  silentSince(untilUs: number): readonly string[] {
    return [...this.#next].flatMap(([client, us]) => (us <= untilUs ? [client] : []));
  }

  /** @returns who was told its turn */
  #lookAtOrder({ call: { script, keys, args }, change, isHeard }: Ran): string | undefined {
    const { before, after } = change;
    // Of a lock that was freed by force, or falls sooner, the first is told, even if it is the sender's client: that names no holder.
    const isRelease = script.name === this.#kind.release;
    const others = isRelease && args[1] !== NO_HOLDER ? change.others : [...before.places.keys()];
    const turns = new Set(
      this.#told.filter(({ message }) => message === YOUR_TURN).map(({ client }) => client),
    );
    const [client, another] = turns;
    if (another !== undefined) this.#fail(`one command has woken ${[...turns].join(" and ")}`);
    const next = this.#told.find(({ message }) => message === YOU_ARE_NEXT)?.client;
    if (client === undefined) {
      if (next !== undefined) this.#fail(`${next} was told that it is the next one, and nobody its turn`);
      const looks = isRelease && keys.includes(this.#queue);
      const missed = looks && this.#isLetGo(change) ? others.find(isHeard) : undefined;
      if (missed !== undefined) this.#fail(`it was freed, and ${missed} was not told, who waits`);
      return undefined;
    }
    const place = others.indexOf(client);
    if (place < 0) this.#fail(`${client} was told its turn, and did not wait for another one`);
    const passed = others.slice(0, place).find((other) => after.places.has(other) || isHeard(other));
    if (passed !== undefined) this.#fail(`${client} was told its turn, and ${passed} stood before`);
    const second = others[place + 1];
    if (next !== undefined && next !== second)
      this.#fail(`${next} was told that it is the next one after ${client}, which is ${second}`);
    const isGiven = isGivenTo(client, after) && !isGivenTo(client, before);
    if (isGiven && next === undefined && second !== undefined && isHeard(second))
      this.#fail(`it was given to ${client}, and ${second} was not told that it is the next one`);
    return client;
  }

  /** One that claims the lock was given it, and asks by itself: only the first of those that wait is told, that it is the next one. */
  #lookAtClaim(claimant: string, { change, isHeard }: Ran): undefined {
    const [first] = change.others;
    for (const { client, message } of this.#told) {
      if (message !== YOU_ARE_NEXT || client !== first)
        this.#fail(`${client} was told "${message}" when it was given to ${claimant}, who claims it`);
    }
    if (first !== undefined && isHeard(first) && this.#told.length === 0)
      this.#fail(
        `it was given to ${claimant}, who claims it, and ${first} was not told that it is the next one`,
      );
  }

  /** A client that waits has asked: this answers its latest turn. */
  #lookAtQuestion(client: string, { call, change: { before }, answer }: Ran): void {
    const turn = this.#turns.get(client);
    if (turn === undefined || !this.#kind.isQueued(call) || !isRefusal(answer)) return;
    this.#turns.delete(client);
    if (turn.isGiven) {
      if (isGivenTo(client, before)) this.#fail(`${client} was given it, has asked, and was refused`);
      return;
    }
    if (this.#inVain.has(client))
      this.#fail(`${client} was told its turn twice in a row, both times for nothing`);
    this.#inVain.add(client);
  }

  /** Whether none of those who had it to look into the queue has it any more: a writer may read on. */
  #isLetGo({ before, after }: Change): boolean {
    const { mayLook } = this.#kind;
    const had = before.holders.filter(mayLook);
    return had.length > 0 && !after.holders.some((field) => had.includes(field));
  }

  /** Also turns that are not answered yet: what their clients ask next may come after that. */
  #countAnew(): void {
    this.#inVain.clear();
    for (const [client, { isGiven }] of this.#turns) if (!isGiven) this.#turns.delete(client);
  }

  #forget(client: string): void {
    this.#turns.delete(client);
    this.#inVain.delete(client);
    this.#next.delete(client);
  }
}

/** Whether none of those who had the lock has it any more. */
function isFreed({ before, after }: Change): boolean {
  return before.holders.length > 0 && !after.holders.some((field) => before.holders.includes(field));
}

/** Whether a question was answered that another one has the lock. */
function isRefusal(answer: RawReply | Error): boolean {
  return Array.isArray(answer) && Array.isArray(answer[1]) && answer[1][0] === "busy";
}
