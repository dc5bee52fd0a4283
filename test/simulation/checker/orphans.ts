import { fairTimes } from "../../../src/protocol/fair-scripts.js";
import { fairAliveKey, fairQueueKey, KEPT_ENDING } from "../../../src/protocol/names.js";
import type { ScriptCall } from "../../../src/protocol/script-call.js";
import { familyOf } from "../workload/families.js";
import type { Shared } from "../workload/family.js";
import { LONGEST_KEPT_MS } from "../workload/lease-ends.js";
import type { Member } from "../workload/member.js";
import { longestWatchdogMs } from "../workload/plan.js";
import type { SimServer } from "../world/sim-server.js";
import type { Topology } from "../world/topology.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Checker } from "./checker.js";
import { clientOf, isChosen, isField, isOfGiven, isWell } from "./fields.js";
import { CHANGES } from "./losses.js";
import type { Trouble } from "./trouble.js";

const US = 1_000;
/** A lock is given to a client that waits for so long at most: it takes it, or others may. As in waiting.lua. */
const MOST_GIVEN_MS = 1_500;
/** What a call that has ended has under way is answered by then, and what it has got is given back. */
const GIVEN_BACK_MS = 500;
const WAYS = 6;
/** Pauses between two tries of a clean-up double from half a second to this. */
const LONGEST_PAUSE_MS = 10_000;
/** A waiter is silent for so long before its place is lost, and has the lock for so long if it was given it before. */
const GIVEN_UP_US = (fairTimes.aliveMs + fairTimes.grantMs) * US;
/** How often it is looked, and for how long after the last task is done: no lease is longer. */
const LOOK_US = 500 * US;
const LONGEST_US = 60_000 * US;

/** Those whose hash has a field for each who has them, and no others. */
const STORED = ["fair", "non-reentrant fair", "lock", "non-reentrant", "fenced", "spin", "multi", "red"];
/** A field of these stays for as long as others read, also when its lease has run out, after which nobody tries on to give it back. */
const KEPT_BY_OTHERS = ["read-write", "fair read-write"];
/** What keeps nobody from the server that has the lock. */
const BEHIND_THE_SERVER = ["replica lags", "replica stops", "replica cut off"];

interface Parts {
  readonly time: VirtualTime;
  readonly checker: Checker;
  readonly trouble: Trouble;
  readonly topology: Topology;
  readonly shared: readonly Shared[];
}

/**
 * No field stays in a lock, or in its queue, of whom nobody knows: a process that has no call about a lock under way and no lease of it
 * has given back what it had, or goes on trying.
 */
export class Orphans {
  readonly #parts: Parts;
  /** The locks, and whether others keep what is stored of one. */
  readonly #names: ReadonlyMap<string, boolean>;
  /** By the ids of their clients. */
  readonly #members = new Map<string, Member>();
  /** When each field first came to a server. */
  readonly #firstUs = new Map<string, number>();
  /** Until when each waiter is believed alive, by server, name and field. */
  readonly #signs = new Map<string, number>();
  /** When one was believed alive that had said nothing: its sign of life was lost. */
  readonly #presumedUs = new Map<string, number>();
  /** Since when a field is nobody's, by server, name and field. */
  readonly #sinceUs = new Map<string, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
    const names = new Map<string, boolean>();
    for (const each of parts.shared) {
      const isKept = KEPT_BY_OTHERS.includes(each.kind);
      if (!isKept && !STORED.includes(each.kind)) continue;
      for (const name of familyOf(each).heldKeys(each)) names.set(name, isKept);
    }
    this.#names = names;
  }

  takesPart(member: Member): void {
    for (const { clientId } of member.clients) this.#members.set(clientId, member);
  }

  ran(server: SimServer, { script, args }: ScriptCall, by: string): void {
    for (const arg of args) {
      const field = String(arg);
      if (isField(field) && !this.#firstUs.has(field)) this.#firstUs.set(field, this.#parts.time.nowUs);
    }
    if (script.name.startsWith("fair")) for (const name of this.#names.keys()) this.#hear(server, name, by);
  }

  #hear(server: SimServer, name: string, by: string): void {
    const signs = list(server, "ZRANGE", fairAliveKey(name), 0, -1, "WITHSCORES");
    for (let at = 0; at < signs.length; at += 2) {
      const [field = "", untilMs] = signs.slice(at, at + 2);
      const key = `${server.name} ${name} ${field}`;
      if (Number(untilMs) === this.#signs.get(key)) continue;
      this.#signs.set(key, Number(untilMs));
      if (this.#members.get(clientOf(field))?.process.name === by) this.#presumedUs.delete(key);
      else this.#presumedUs.set(key, this.#parts.time.nowUs);
    }
  }

  glance(): void {
    const { trouble, checker } = this.#parts;
    // What another server has, or lacks, need not be what its clients were told, nor what one has again.
    if (trouble.happened(...CHANGES, "server-older")) return;
    for (const [name, isKept] of this.#names) {
      if (isKept && (trouble.hasBegun || checker.lapsedUs(name) !== undefined)) continue;
      for (const server of this.#serversOf(name)) this.#lookAt(server, name);
    }
  }

  #lookAt(server: SimServer, name: string): void {
    // Who is silent in a queue loses its place when somebody else looks for the next.
    const alive = list(server, "ZRANGE", fairAliveKey(name), Math.ceil(server.timeMs), "+inf", "BYSCORE");
    const queue = list(server, "LRANGE", fairQueueKey(name), 0, -1).filter((field) => alive.includes(field));
    for (const field of new Set([...list(server, "HKEYS", name), ...queue])) this.#look(server, name, field);
  }

  /** When all tasks are done: what they have left is looked at for as long as it is there. */
  async end(): Promise<void> {
    const { time, checker } = this.#parts;
    const endUs = time.nowUs + LONGEST_US;
    while (this.#hasAny() && time.nowUs < endUs && !checker.hasFailed) {
      await time.pass(time.nowUs + LOOK_US);
      this.glance();
    }
  }

  #hasAny(): boolean {
    return [...this.#names.keys()].some((name) =>
      this.#serversOf(name).some((server) => server.command("EXISTS", name) === 1),
    );
  }

  /** Those that have a lock; none while that is about to change. */
  #serversOf(name: string): readonly SimServer[] {
    const { topology } = this.#parts;
    if (topology.standingOf === undefined) return topology.servers;
    const standing = topology.standingOf(name);
    return standing === undefined ? [] : [standing.master];
  }

  #look(server: SimServer, name: string, field: string): void {
    const { nowUs } = this.#parts.time;
    const owner = this.#members.get(clientOf(field));
    const key = `${server.name} ${name} ${field}`;
    if (field.endsWith(KEPT_ENDING)) {
      this.#lookAtEnd(server, name, field, LONGEST_KEPT_MS);
      return;
    }
    if (isOfGiven(field)) {
      this.#lookAtEnd(server, name, field, MOST_GIVEN_MS);
      return;
    }
    if (owner === undefined || !isWell(owner) || this.#isKnown(owner.process.name, name, field)) {
      this.#sinceUs.delete(key);
      return;
    }
    const process = owner.process.name;
    const firstUs = this.#sinceUs.get(key) ?? nowUs;
    this.#sinceUs.set(key, firstUs);
    // Under a chosen id one call may have followed another unseen.
    const endedUs = isChosen(field) ? this.#parts.checker.calls.endedUs(process, name) : 0;
    const sinceUs = Math.max(firstUs, endedUs);
    const presumedUs = this.#presumedUs.get(key);
    const silentUs = presumedUs === undefined ? 0 : presumedUs + GIVEN_UP_US;
    const earliestUs = Math.max(sinceUs, silentUs, this.#quietUs(owner), this.#fallenUs(name, owner));
    if (nowUs - earliestUs <= boundUs(owner) + this.#replicasUs(owner)) return;
    this.#parts.checker.fail(
      "leftovers",
      `"${name}" has ${field} of ${process} on ${server.name}, who has neither a lease nor a call since ${sinceUs / US} ms`,
    );
  }

  /** Of a lock that is kept, or was given away and not taken yet, no call need know, but it has an end. */
  #lookAtEnd(server: SimServer, name: string, field: string, mostMs: number): void {
    const ttlMs = Number(server.command("PTTL", name));
    if (ttlMs >= 0 && ttlMs <= mostMs) return;
    if (this.#parts.trouble.happened("server behind takes over", "server-clock-step")) return;
    this.#parts.checker.fail("leftovers", `"${name}" is kept by ${field} for ${ttlMs} ms`);
  }

  /** Each stay has a number of its own, unless its id was chosen: the field is not that of a call which began later. */
  #isKnown(process: string, name: string, field: string): boolean {
    const { checker } = this.#parts;
    if (checker.forgotten.has(`${process} ${name}`) || checker.isHad(name, process)) return true;
    const untilUs = isChosen(field)
      ? Number.POSITIVE_INFINITY
      : (this.#firstUs.get(field.replace(/:write$/, "")) ?? 0);
    return [...checker.calls.pending].some(
      (call) =>
        call.process === process &&
        call.names.includes(name) &&
        (call.startUs <= untilUs || call.mostMs === 0),
    );
  }

  /** When the last fault that it felt was mended, and the pauses of its clean-ups, which are as long as that was, are over. */
  #quietUs(owner: Member): number {
    const latest = this.#parts.trouble.latestOf(owner.process.name, BEHIND_THE_SERVER);
    if (latest === undefined) return 0;
    // What is refused without a connection is not tried again: a place is lost by silence, what was given to it and a lease by their TTL.
    if (!owner.plan.rules.queues) return latest.endsUs + leaseUs(owner) + GIVEN_UP_US;
    const pauseUs = Math.min(LONGEST_PAUSE_MS * US, 2 * latest.longestUs + 1_000 * US);
    return latest.endsUs + pauseUs + 2 * owner.plan.options.commandTimeoutMs * US;
  }

  /** Who gives up an acquisition waits for replicas that are short before it gives that back, and so does the one before. */
  #replicasUs({ plan: { options } }: Member): number {
    const areShort = this.#parts.trouble.happened(...BEHIND_THE_SERVER);
    return areShort ? 2 * options.commandTimeoutMs * US : 0;
  }

  /** When what was over by itself, and is not given back any more, has fallen by its TTL. */
  #fallenUs(name: string, owner: Member): number {
    const lapsedUs = this.#parts.checker.lapsedUs(name);
    return lapsedUs === undefined ? 0 : lapsedUs + leaseUs(owner);
  }
}

/** No lease of it is longer. */
function leaseUs({ plan }: Member): number {
  return Math.max(longestWatchdogMs(plan), 2 * plan.options.commandTimeoutMs) * US;
}

function boundUs({ plan: { distance } }: Member): number {
  return GIVEN_BACK_MS * US + WAYS * (distance.leastUs + distance.spreadUs);
}

function list(server: SimServer, name: string, ...args: readonly (string | number)[]): readonly string[] {
  return (server.command(name, ...args) as readonly unknown[]).map(String);
}
