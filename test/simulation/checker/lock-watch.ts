import { MARK_MS } from "../../../src/protocol/read-write-scripts.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import { familyOf } from "../workload/families.js";
import type { Shared } from "../workload/family.js";
import type { Member } from "../workload/member.js";
import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { PendingCall } from "./calls.js";
import type { Checker } from "./checker.js";
import { DrawnTokens } from "./drawn-tokens.js";
import { FairOrder } from "./fair-order.js";
import { clientOf, isField, isWell } from "./fields.js";
import { LateCalls } from "./late-calls.js";
import { Prompt, type Told } from "./prompt.js";
import type { Trouble } from "./trouble.js";
import { plainKind, writeKind } from "./waiting-places.js";
import { type Clients, WaitingQueue } from "./waiting-queue.js";

/** Those that have queues. */
const FAIR = ["fair", "non-reentrant fair"];
/** Those whose waiting clients stand in a queue. */
const QUEUED = ["lock", "non-reentrant", "fenced"];
/** Those of which waiters are told, so that none of them needs a timer. */
const TOLD = [...FAIR, ...QUEUED, "read-write"];
/** Who wants several locks has one of them again and again until the others are free as well. */
const TAKEN_IN_PASSING_MS = 2_000;

interface Parts {
  readonly time: VirtualTime;
  readonly checker: Checker;
  readonly trouble: Trouble;
  readonly shared: readonly Shared[];
}

/** What locks are promised besides exclusion, where all of them are on one server and nobody but holdfast uses them. */
export class LockWatch {
  readonly #checker: Checker;
  readonly #members = new Map<string, Member>();
  /** Which process has which client, by the client's id. */
  readonly #clients = new Map<string, string>();
  readonly #orders: readonly FairOrder[];
  readonly #queues: readonly WaitingQueue[];
  readonly #late: LateCalls;
  readonly #tokens: DrawnTokens;
  readonly #prompt: Prompt;
  #server: SimServer | undefined;
  /** What the slowest process may need for one way. */
  #wayUs = 0;

  constructor({ time, checker, trouble, shared }: Parts) {
    this.#checker = checker;
    const namesOf = (kinds: readonly string[]) =>
      shared.filter(({ kind }) => kinds.includes(kind)).flatMap((each) => familyOf(each).heldKeys(each));
    const processOf = (field: string) => this.#clients.get(clientOf(field));
    const stillWaits = (process: string, name: string) => this.#stillWaits(process, name);
    this.#orders = namesOf(FAIR).map(
      (name) => new FairOrder(name, time, checker, trouble, { processOf, stillWaits }),
    );
    const clients: Clients = {
      idOf: (process) => this.#members.get(process)?.holdfast.clientId,
      isWell: (process) => this.#isWell(process),
      hears: (process, channel) => {
        const lines = this.#members.get(process)?.lines ?? [];
        return lines.some(({ messages }) => messages.hears(channel));
      },
      wayUs: () => this.#wayUs,
    };
    const watched = { time, checker, trouble };
    this.#queues = [
      ...namesOf(QUEUED).map((name) => new WaitingQueue(name, plainKind, watched, clients)),
      ...namesOf(["read-write"]).map((name) => new WaitingQueue(name, writeKind, watched, clients)),
    ];
    this.#late = new LateCalls(checker);
    this.#tokens = new DrawnTokens(checker);
    const told = new Map<string, Told>(namesOf(TOLD).map((name) => [name, { freeMs: 0 }]));
    for (const name of namesOf(["multi"])) told.set(name, { freeMs: TAKEN_IN_PASSING_MS });
    for (const name of namesOf(["read-write"])) told.set(name, { freeMs: 0, sharedMs: 0 });
    for (const name of namesOf(["fair read-write"])) told.set(name, { sharedMs: MARK_MS, givesWay: true });
    this.#prompt = new Prompt(time, checker, trouble, told, {
      hasLeft: (name) => this.#hasLeft(name),
      mayEnter: (call) => this.#mayEnter(call),
    });
  }

  takesPart(member: Member): void {
    this.#members.set(member.process.name, member);
    this.#prompt.takesPart(member.plan);
    const { leastUs, spreadUs } = member.plan.distance;
    this.#wayUs = Math.max(this.#wayUs, leastUs + spreadUs);
  }

  starts(server: SimServer, call: ScriptCall): void {
    this.#late.starts(server, call);
    this.#tokens.starts(server, call);
    for (const watch of [...this.#orders, ...this.#queues]) watch.starts(server, call);
    this.#server = server;
  }

  /** @param heard how many listen to the channel */
  published(channel: string, message: string, heard: number): void {
    for (const queue of this.#queues) queue.published(channel, message, heard);
  }

  ran(server: SimServer, call: ScriptCall, by: string, answer: RawReply | Error): void {
    for (const arg of call.args) {
      if (isField(String(arg)) && !this.#clients.has(clientOf(String(arg))))
        this.#clients.set(clientOf(String(arg)), by);
    }
    this.#late.ran(server, call, by);
    this.#tokens.ran(server, call, by);
    for (const order of this.#orders) order.ran(server, call, answer);
    for (const queue of this.#queues) queue.ran(server, call, by, answer);
  }

  glance(): void {
    this.#prompt.glance();
    if (this.#server === undefined) return;
    for (const queue of this.#queues) queue.glance(this.#server, this.#checker.calls.pending);
  }

  #isWell(process: string): boolean {
    const member = this.#members.get(process);
    return member !== undefined && isWell(member);
  }

  #stillWaits(process: string, name: string): boolean {
    if (!this.#isWell(process)) return false;
    return [...this.#checker.calls.pending].some(
      (call) => call.process === process && call.names.includes(name),
    );
  }

  #hasLeft(name: string): boolean {
    return [...this.#members.values()].some(
      ({ isClosing, process }) => isClosing || this.#checker.forgotten.has(`${process.name} ${name}`),
    );
  }

  /** The same id may be about something else at that time. */
  #mayEnter({ process, sharesId }: PendingCall): boolean {
    return this.#isWell(process) && !sharesId;
  }
}
