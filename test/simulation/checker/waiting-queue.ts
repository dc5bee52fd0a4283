import { clientChannel } from "../../../src/protocol/names.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { PendingCall } from "./calls.js";
import type { Checker } from "./checker.js";
import { clientOf, isOfGiven } from "./fields.js";
import type { Trouble } from "./trouble.js";
import { TurnsTold } from "./turns-told.js";
import {
  type Change,
  claimantGiven,
  type Found,
  isGivenTo,
  lookAt,
  type QueuedKind,
} from "./waiting-places.js";

const US = 1_000;
/** As in waiting.lua: for so long a lock is given to a client that waits, which has taken it by then. */
const GIVEN_MS = 1_500;
/** So late is a timer at most. */
const TIMERS_MS = 100;
/** So long after the last fault all have subscriptions again, and what the dead have left is gone. */
const ECHO_US = 20_000 * US;
/** What a client that waits asks in a row, until it stands in the queue: two subscriptions and three questions, one way each. */
const WAYS = 12;
/** What a client is given and does not want it has given back by then, besides the ways. */
const PASSED_ON_MS = 200;
/** A client that has freed the lock leaves it to others for 400 ms at most (decision 029) before it asks for its other calls; timers are late. */
const STANDS_AGAIN_US = 500 * US;

/** The clients of a fleet. */
export interface Clients {
  /** The client of a process. */
  idOf(process: string): string | undefined;
  /** Whether a process lives, goes on, and has not been closed. */
  isWell(process: string): boolean;
  /** Whether messages of a channel reach a process. */
  hears(process: string, channel: string): boolean;
  /** How long a message takes to the slowest process, at most. */
  wayUs(): number;
}

/**
 * Watches the queue of the clients that wait for one lock: who is given the lock, for how long, and that each stands where it came. A client
 * that nobody hears for is passed over; nobody else is.
 */
export class WaitingQueue {
  readonly #name: string;
  readonly #kind: QueuedKind;
  /** The channel that all hear. */
  readonly #channel: string;
  readonly #time: VirtualTime;
  readonly #checker: Checker;
  readonly #trouble: Trouble;
  readonly #clients: Clients;
  readonly #told: TurnsTold;
  /** When each client was last seen to have the lock, or to wait in the queue. */
  readonly #inUs = new Map<string, number>();
  /** When each client last believed that it has the lock. */
  readonly #believedUs = new Map<string, number>();
  #before: Found | undefined;

  constructor(
    name: string,
    kind: QueuedKind,
    parts: { readonly time: VirtualTime; readonly checker: Checker; readonly trouble: Trouble },
    clients: Clients,
  ) {
    const { time, checker, trouble } = parts;
    this.#name = name;
    this.#kind = kind;
    this.#channel = kind.channelOf(name);
    this.#time = time;
    this.#checker = checker;
    this.#trouble = trouble;
    this.#clients = clients;
    this.#told = new TurnsTold(name, kind, time, (what) => this.#fail(what));
  }

  starts(server: SimServer, { keys }: ScriptCall): void {
    this.#before = keys.includes(this.#name) ? lookAt(server, this.#name, this.#kind) : undefined;
    this.#told.starts();
  }

  /** @param heard how many listen to the channel */
  published(channel: string, message: string, heard: number): void {
    this.#told.published(channel, message, heard);
  }

  ran(server: SimServer, call: ScriptCall, by: string, answer: RawReply | Error): void {
    const { script, keys } = call;
    const before = this.#before;
    if (before === undefined) return;
    const after = lookAt(server, this.#name, this.#kind);
    const own = this.#clients.idOf(by);
    const others = [...before.places.keys()].filter((client) => client !== own);
    this.#noteWhoIsIn(before);
    this.#noteWhoIsIn(after);
    const change: Change = { before, after, others };
    const isHeard = (client: string) => this.#isHeard(server, client);
    this.#keepPlaces(change, own, isHeard);
    this.#told.ran({ call, own, change, answer, isHeard });
    const given = after.holders.filter((field) => isOfGiven(field) && !before.holders.includes(field));
    for (const field of given) this.#lookAtGiven(server, clientOf(field), change, own);
    this.#lookAtClaims(change, own);
    const looks = script.name === this.#kind.release && keys.includes(this.#kind.queueOf(this.#name));
    const isFreed = before.holders.length > 0 && after.holders.length === 0;
    // Where others hear of each release, every other one leaves the lock to the fastest.
    if (!looks || !isFreed || (before.wasGiven && !after.wasGiven)) return;
    const waiting = others.find((client) => this.#isHeard(server, client));
    if (waiting !== undefined) this.#fail(`${by} has freed it, and ${waiting} was not given it, who waits`);
  }

  /** Where nothing has befallen the fleet: a client that waits for others stands in the queue, or hears of each release. */
  glance(server: SimServer, pending: Iterable<PendingCall>): void {
    const { nowUs } = this.#time;
    const calls = [...pending];
    this.#lookWhoIsNext(server, calls);
    const quietUs = this.#trouble.hasBegun ? this.#trouble.endsUs + ECHO_US : 0;
    const leastUs = STANDS_AGAIN_US + WAYS * this.#clients.wayUs();
    if (nowUs < quietUs + leastUs) return;
    const found = lookAt(server, this.#name, this.#kind);
    const { holders, places, polls, claimants } = found;
    this.#noteWhoIsIn(found);
    this.#lookWhoTakesIt(server, holders, calls);
    for (const { process, what, names, startUs, isAlone, sharesId, reads, isDead } of calls) {
      const client = this.#clients.idOf(process);
      if (client === undefined || !this.#clients.isWell(process) || isDead()) continue;
      if (!isAlone || sharesId || names.length !== 1 || names[0] !== this.#name) continue;
      const outUs = Math.max(startUs, quietUs, this.#inUs.get(client) ?? 0);
      if (nowUs - outUs < leastUs) continue;
      if ((places.has(client) && !reads) || this.#clients.hears(process, this.#channel)) continue;
      const hasPoll = polls.has(client) || claimants.includes(client);
      if (hasPoll && calls.some((call) => call.polls && call.process === process)) continue;
      this.#fail(
        `${what} waits since ${startUs / US} ms, and its client is out of it since ${outUs / US} ms`,
      );
    }
  }

  /**
   * The client behind one that was given the lock asks when that has run out: nobody tells it that the other one is not coming. Whoever
   * believes that it has the lock does not ask: a client whose lock was forced open leaves the queue once it knows.
   */
  #lookWhoIsNext(server: SimServer, calls: readonly PendingCall[]): void {
    for (const { process, parts } of this.#checker.believed) {
      const client = this.#clients.idOf(process.name);
      const isHere = parts.some(({ name }) => name === this.#name);
      if (isHere && client !== undefined) this.#believedUs.set(client, this.#time.nowUs);
    }
    const untilUs = this.#time.nowUs - (GIVEN_MS + TIMERS_MS) * US - WAYS * this.#clients.wayUs();
    for (const client of this.#told.silentSince(untilUs)) {
      const waits = calls.find(
        ({ process, names, isDead, startUs }) =>
          this.#clients.idOf(process) === client &&
          this.#clients.isWell(process) &&
          !isDead() &&
          names.includes(this.#name) &&
          startUs < untilUs &&
          (this.#believedUs.get(client) ?? 0) < untilUs &&
          ![process, server.name].some((of) => this.#trouble.has(of, untilUs - ECHO_US)),
      );
      if (waits !== undefined)
        this.#fail(`${client} was told that it is the next one, and has not asked since`);
    }
  }

  /** A client that has the lock, or waits for it. */
  #noteWhoIsIn({ holders, places, polls, claimants }: Found): void {
    const { nowUs } = this.#time;
    const all = [...holders.map(clientOf), ...places.keys(), ...polls.keys(), ...claimants];
    for (const client of all) this.#inUs.set(client, nowUs);
  }

  /** What was given to a client that gives up its last call in this moment it passes on. */
  #lookWhoTakesIt(server: SimServer, holders: readonly string[], calls: readonly PendingCall[]): void {
    const client = clientOf(holders.find((field) => isOfGiven(field)) ?? "");
    const leftMs = Number(server.command("PTTL", this.#name));
    if (client === "" || GIVEN_MS - leftMs < PASSED_ON_MS + (WAYS * this.#clients.wayUs()) / US) return;
    const isTheirs = ({ process, names }: PendingCall) =>
      this.#clients.idOf(process) === client && names.includes(this.#name);
    if (!calls.some(isTheirs)) this.#fail(`${client} keeps what it was given, and no call of it waits`);
  }

  /** A client that polls keeps its place, too, and claims the lock once nobody waits that came before it. */
  #lookAtClaims({ before, after, others }: Change, own: string | undefined): void {
    const stoodBefore = (place: number) => others.find((other) => (before.places.get(other) ?? 0) < place);
    for (const client of after.claimants) {
      if (before.claimants.includes(client)) continue;
      const earlier = stoodBefore(before.polls.get(client) ?? Number.POSITIVE_INFINITY);
      if (client !== own) this.#fail(`another one has put ${client} among those that claim it`);
      else if (earlier !== undefined) this.#fail(`${client} claims it, and ${earlier} stood before`);
    }
    for (const [client, place] of after.polls) {
      const was = before.polls.get(client);
      if (was !== place && client !== own) this.#fail(`another one has moved ${client}, who polls`);
      if (was === undefined && client === own && others.length === 0)
        this.#fail(`${client} polls, nobody else waits, and it does not claim it`);
    }
    const polled = [...before.polls.keys(), ...before.claimants].filter((client) => client !== own);
    const gone = polled.find(
      (client) => !after.polls.has(client) && !after.claimants.includes(client) && !isGivenTo(client, after),
    );
    if (gone !== undefined) this.#fail(`another one has taken ${gone} out, who polls`);
  }

  #lookAtGiven(server: SimServer, client: string, change: Change, own: string | undefined): void {
    const { before, after, others } = change;
    const [claimant] = before.claimants;
    const isClaimed = claimantGiven(change, own) === client;
    if (claimant !== undefined && claimant !== own && claimant !== client)
      this.#fail(`it was given to ${client}, and ${claimant} claims it`);
    if (!isClaimed && !others.includes(client)) {
      this.#fail(`it was given to ${client}, who did not wait for another one`);
      return;
    }
    if (!isClaimed && !this.#isHeard(server, client))
      this.#fail(`it was given to ${client}, for whom nobody listens`);
    const hasStrangers = server.channels.includes(this.#channel);
    if (before.wasGiven && before.holders.length > 0 && hasStrangers)
      this.#fail(`it was given to ${client}, and to another one before: others who hear of it had no turn`);
    const ttlMs = Number(server.command("PTTL", this.#name));
    if (after.holders.length > 1 || ttlMs < 0 || ttlMs > GIVEN_MS)
      this.#fail(`it was given to ${client} for ${ttlMs} ms, beside ${after.holders.length - 1} others`);
    if (after.places.has(client) || after.claimants.includes(client))
      this.#fail(`it was given to ${client}, who waits on`);
    const passedOver = others
      .slice(0, isClaimed ? 0 : others.indexOf(client))
      .find((other) => after.places.has(other) || this.#isHeard(server, other));
    if (passedOver !== undefined) this.#fail(`it was given to ${client}, and ${passedOver} stood before`);
  }

  /** Each stands where it came, until its own client leaves, it is given the lock, or nobody listens for it. */
  #keepPlaces(
    { before, after, others }: Change,
    own: string | undefined,
    isHeard: (client: string) => boolean,
  ): void {
    for (const [client, place] of after.places) {
      const was = before.places.get(client);
      const last = Math.max(
        0,
        ...[...before.places].flatMap(([other, its]) => (other === client ? [] : [its])),
      );
      if (was === place) continue;
      if (client !== own) this.#fail(`another one has moved ${client} from ${was} to ${place}`);
      else if (place <= last) this.#fail(`${client} has come to ${place}, and others wait up to ${last}`);
    }
    const gone = others.find(
      (client) => !after.places.has(client) && isHeard(client) && !isGivenTo(client, after),
    );
    if (gone !== undefined) this.#fail(`another one has taken ${gone} out, who waits`);
  }

  /** Whether somebody listens for a client, and may be told. */
  #isHeard(server: SimServer, client: string): boolean {
    const channel = clientChannel(this.#channel, client);
    return !server.refusesPublish && server.channels.includes(channel);
  }

  #fail(what: string): void {
    this.#checker.fail("order", `the queue of "${this.#name}": ${what}`);
  }
}
