import { YOU_ARE_FIRST, YOU_ARE_NEXT, YOUR_TURN } from "../../../src/protocol/messages.js";
import { clientChannel, semaphoreChannel } from "../../../src/protocol/names.js";
import type { Member } from "../workload/member.js";
import type { SimServer } from "../world/sim-server.js";
import type { Answered } from "./answers.js";
import type { CountState } from "./count-state.js";
import type { WatchParts } from "./count-watch.js";
import { clientOf, isWell } from "./fields.js";
import { lineThatAsks, type PermitQueue } from "./permit-turns.js";
import type { Waiting } from "./semaphore-watch.js";

const US = 1_000;
/** As in permit-queue.lua: for so long a line that was told its turn may come. */
const TURN_MS = 1_500;
/** So late is a timer at most. */
const TIMERS_MS = 100;
/** So long after the last fault all have subscriptions again, and what the dead have left is gone. */
const ECHO_US = 20_000 * US;
/** What a line asks in a row, until it stands in the queue: two subscriptions and three questions, one way each. */
const WAYS = 12;
/** So long after its last call has given up a line has left the queue, besides the ways. */
const LEAVES_US = 200 * US;
/** Those that were served from the queue look there; the next line hears of others after 50 ms, and timers are late. */
const HEARS_ALL_US = (50 + TIMERS_MS) * US;

/**
 * Watches what the lines that wait for permits of one semaphore are told, and where they wait: a command tells those their turn that it
 * notes as told, and only the first of the others that it is the next one; that one asks when the turns before it have run out. Where nothing
 * has befallen the fleet, a line that waits has a place or hears what all hear, and one that has a place waits.
 */
export class PermitLines {
  readonly #parts: WatchParts;
  readonly #channel: string;
  /** What the command that runs has told to somebody who listens, in order. */
  #told: { readonly line: string; readonly message: string }[] = [];
  /** The lines that were told that they are the next ones, and have not asked since; when that was. */
  readonly #next = new Map<string, number>();
  /** When each line was last seen in the queue, or was answered. */
  readonly #inUs = new Map<string, number>();
  /** When each line last asked for its place. */
  readonly #askedUs = new Map<string, number>();
  /** When a call of each line last waited. */
  readonly #wantedUs = new Map<string, number>();
  /** By the ids of their clients. */
  readonly #members = new Map<string, Member>();
  #wayUs = 0;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#channel = clientChannel(semaphoreChannel(parts.name), "");
  }

  starts(): void {
    this.#told = [];
  }

  /** @param heard how many listen to the channel */
  published(channel: string, message: string, heard: number): void {
    if (heard === 0 || !channel.startsWith(this.#channel)) return;
    this.#told.push({ line: channel.slice(this.#channel.length), message });
  }

  waits({ member }: Waiting): void {
    this.#members.set(member.holdfast.clientId, member);
    const { leastUs, spreadUs } = member.plan.distance;
    this.#wayUs = Math.max(this.#wayUs, leastUs + spreadUs);
  }

  waitsNoMore(waiting: Waiting): void {
    this.#wantedUs.set(lineOf(waiting), this.#parts.time.nowUs);
  }

  answered(answered: Answered, { queue }: CountState, server: SimServer): void {
    const { nowUs } = this.#parts.time;
    const line = lineThatAsks(answered);
    this.#lookAtMessages(answered, queue, line, server);
    for (const { line: other, message } of this.#told)
      if (message === YOU_ARE_NEXT) this.#next.set(other, nowUs);
    this.#told = [];
    for (const other of this.#next.keys()) if (!queue.places.has(other)) this.#next.delete(other);
    if (line === undefined) return;
    this.#next.delete(line);
    this.#inUs.set(line, nowUs);
    if (answered.script !== "permit-leave") this.#askedUs.set(line, nowUs);
  }

  #lookAtMessages(
    { script, before }: Answered,
    queue: PermitQueue,
    line: string | undefined,
    server: SimServer,
  ): void {
    // A full server tells, and can not note it.
    if (server.isFull) return;
    const notedNow = (other: string) =>
      queue.told.has(other) && queue.told.get(other) !== before.queue.told.get(other);
    const next = [...queue.places.keys()].find((other) => other !== line && !queue.told.has(other));
    for (const { line: other, message } of this.#told) {
      // A release that also brings back permits whose leases are over tells twice: then the next one may have its turn at once.
      const isTrue = notedNow(other) || (message !== YOUR_TURN && other === next);
      if (!isTrue) this.#fail(`a ${script} has told ${other} "${message}", and ${next} is the next one`);
    }
    const turns = this.#told.filter(({ message }) => message === YOUR_TURN).length;
    const others = this.#told.filter(({ message }) => message === YOU_ARE_NEXT || message === YOU_ARE_FIRST);
    const nextOnes = new Set(others.map(({ line: other }) => other).filter((other) => !notedNow(other)));
    if (nextOnes.size > 1)
      this.#fail(`a ${script} has told ${[...nextOnes].join(" and ")} that they are the next ones`);
    if (turns > 0 && others.length === 0 && next !== undefined && this.#isHeard(server, next))
      this.#fail(`a ${script} has told ${turns} lines their turn, and not ${next} that it is the next one`);
  }

  /** @param waiting all calls that wait for permits here */
  glance(queue: PermitQueue, waiting: ReadonlySet<Waiting>): void {
    const { time, trouble } = this.#parts;
    const { nowUs } = time;
    const waysUs = WAYS * this.#wayUs;
    for (const line of queue.places.keys()) this.#inUs.set(line, nowUs);
    const wanted = new Map([...waiting].map((call) => [lineOf(call), call]));
    for (const line of wanted.keys()) this.#wantedUs.set(line, nowUs);
    const quietUs = trouble.hasBegun ? trouble.endsUs + ECHO_US : 0;
    if (nowUs < quietUs) return;
    this.#lookWhoIsNext(Math.max(quietUs, nowUs - (TURN_MS + TIMERS_MS) * US - waysUs), wanted);
    for (const line of queue.places.keys()) {
      // The leave of one that gave up before may have failed.
      const askedUs = this.#askedUs.get(line) ?? 0;
      const idleUs = nowUs - Math.max(askedUs, this.#wantedUs.get(line) ?? 0);
      if (askedUs > quietUs && idleUs > LEAVES_US + waysUs && !this.#isGone(line))
        this.#fail(`${line} keeps its place, and no call of it waits since ${idleUs / US} ms`);
    }
    for (const [line, call] of wanted) {
      const { member, startUs, what } = call;
      const outUs = Math.max(startUs, quietUs, this.#inUs.get(line) ?? 0);
      if (nowUs - outUs < HEARS_ALL_US + waysUs || !isWell(member) || queue.places.has(line)) continue;
      if (member.lines.some(({ messages }) => messages.hears(semaphoreChannel(this.#parts.name)))) continue;
      this.#fail(`${what} waits since ${startUs / US} ms, and its line is out of it since ${outUs / US} ms`);
    }
  }

  /** The line behind those that were told their turn asks when that has run out: nobody tells it that they are not coming. */
  #lookWhoIsNext(untilUs: number, wanted: ReadonlyMap<string, Waiting>): void {
    for (const [line, us] of this.#next) {
      const call = wanted.get(line);
      if (us > untilUs || call === undefined || call.startUs > untilUs || !isWell(call.member)) continue;
      this.#fail(`${line} was told that it is the next one, and has not asked since`);
    }
  }

  /** Whether its process can not leave the queue. */
  #isGone(line: string): boolean {
    const member = this.#members.get(clientOf(line));
    return member === undefined || !isWell(member);
  }

  /** Whether somebody listens for a line, and may be told. */
  #isHeard(server: SimServer, line: string): boolean {
    return !server.refusesPublish && server.channels.includes(`${this.#channel}${line}`);
  }

  #fail(what: string): void {
    this.#parts.checker.fail("order", `the queue of "${this.#parts.name}": ${what}`);
  }
}

function lineOf({ member, permits }: Waiting): string {
  return `${member.holdfast.clientId}:${permits}`;
}
