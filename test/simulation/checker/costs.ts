import type { Shared } from "../workload/family.js";
import type { ClientPlan } from "../workload/plan.js";
import type { Node } from "../world/fleet.js";
import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Checker } from "./checker.js";
import type { Trouble } from "./trouble.js";

const US_PER_S = 1_000_000;
/** As many servers as a red lock has at most, and locks a multi lock. */
const RED_SERVERS = 5;
const MULTI_MEMBERS = 3;

/**
 * So many commands that reach a server one process may have sent within such a span of virtual time, by all its tasks together, besides
 * those of the calls that it begins meanwhile: some two and a half times as many as the busiest runs need. A loop that asks without waiting
 * is beyond one of them from any distance. What was held up, or is sent again when there is a connection, comes all at once, and
 * counts as of when it was asked for.
 */
const BUDGETS = [
  { spanS: 1, most: 150 },
  { spanS: 10, most: 400 },
] as const;

/** Such a server refuses commands, which are tried on. */
const REFUSES = ["server full", "server read-only"];
const TRIED_ON = 2;

/** One that asks for a lock and is refused asks again once messages reach it; the lock is released in the end. */
const OF_A_CALL = 3;
const RENEWALS_A_LEASE = 3;
/** The leases of others are prolonged at their third: who waits asks when the end that was last heard of is there. */
const ENDS_A_LEASE = 1.5;
/** A waiter asks once in each safety period, which is drawn from this part of it upwards. */
const SAFETY_PART = 0.8;
/** Who waits for a fair lock gives a sign of life that often. */
const SIGN_OF_LIFE_MS = 2_000;
/** Who waits for a spin lock asks that often in the long run, and after 1, 2, 4 … 64 ms at first. */
const SPIN_MS = 100;
const FIRST_SPINS = 7;
/** One message wakes each of a process' tasks that wait for a red lock: each of them listens for itself. */
const RED_TASKS = 3;
/** Permits end one by one, each with a lease of its own, or are saved up for one after the other for a while: who waits asks then. */
const PERMIT_MS = 200;
/** The first question to a server, and one about a server that was changed. */
const OF_A_SERVER = 2;
/** Who misses some of the servers of a red lock, or is woken for nothing, tries again: that is drawn, and not counted above. */
const TRIED_AGAIN = 1.2;
/** What faults may make of it: repeats, clean-up, lines without messages. */
const UNDER_FAULTS = 6;

interface Span {
  fromUs: number;
  count: number;
  /** How many calls the process had begun when it began. */
  begun: number;
}

/** One process with a client of ours. */
interface Sender {
  readonly node: Node;
  readonly plan: ClientPlan;
  readonly bornUs: number;
  sent: number;
}

/** Counts what each process sends. */
export class Costs {
  readonly #time: VirtualTime;
  readonly #checker: Checker;
  readonly #trouble: Trouble;
  readonly #spans = new Map<string, readonly Span[]>();
  readonly #senders = new Map<string, Sender>();

  constructor(time: VirtualTime, checker: Checker, trouble: Trouble) {
    this.#time = time;
    this.#checker = checker;
    this.#trouble = trouble;
  }

  takesPart(node: Node, plan: ClientPlan): void {
    this.#senders.set(node.process.name, { node, plan, bornUs: this.#time.nowUs, sent: 0 });
  }

  /** A command of a process has reached a server. */
  ran(name: string, { name: server, askedUs }: SimServer, script: string): void {
    const sender = this.#senders.get(name);
    if (sender !== undefined) sender.sent += 1;
    const process = `${name} at ${server}`;
    const begun = this.#checker.calls.begunBy(name, askedUs);
    const spans = this.#spans.get(process) ?? BUDGETS.map(() => ({ fromUs: 0, count: 0, begun: 0 }));
    this.#spans.set(process, spans);
    BUDGETS.forEach(({ spanS, most }, at) => {
      const span = spans[at];
      if (span === undefined) return;
      if (askedUs - span.fromUs >= spanS * US_PER_S) {
        Object.assign(span, { fromUs: askedUs, count: 0, begun });
      }
      span.count += 1;
      if (span.count < most) return;
      const refuses = this.#trouble.has(server, span.fromUs, REFUSES);
      if (span.count !== (refuses ? TRIED_ON * most : most) + OF_A_CALL * (begun - span.begun)) return;
      this.#checker.fail(
        "cost",
        `${process} has sent ${span.count} commands within ${spanS} s, the last ${script}`,
      );
    });
  }

  /** All tasks are done: nobody may have sent more than all its calls, and all that it heard, account for. */
  compare(shared: readonly Shared[]): void {
    const share = this.#trouble.hasBegun ? UNDER_FAULTS : 1;
    for (const [name, sender] of this.#senders) {
      const most = share * this.#budget(name, sender, shared);
      if (sender.sent <= most) continue;
      this.#checker.fail(
        "cost",
        `${name} has sent ${sender.sent} commands, and ${Math.floor(most)} are enough`,
      );
    }
  }

  #budget(name: string, { node, plan, bornUs }: Sender, shared: readonly Shared[]): number {
    const ms = (this.#time.nowUs - bornUs) / 1_000;
    const { watchdogMs, safetyPeriodMs, presence } = plan.options;
    const told = presence === undefined ? 0 : ms / presence.everyMs;
    const [servers, tasks] = shared.some(({ kind }) => kind === "red") ? [RED_SERVERS, RED_TASKS] : [1, 1];
    const members = shared.some(({ kind }) => kind === "multi") ? MULTI_MEMBERS : 1;
    const spins = shared.filter(({ kind }) => kind === "spin").length;
    const permits = shared.filter(({ kind }) => kind.includes("semaphore")).length;
    const plans = [...this.#senders.values()].map((each) => each.plan);
    const shortestMs = Math.min(
      ...plans.flatMap((each) => [each.options.watchdogMs, ...each.callWatchdogsMs]),
    );
    const beats = [watchdogMs, ...plan.callWatchdogsMs].reduce((sum, leaseMs) => sum + 1 / leaseMs, 0);
    const whileItWaits = 1 / (SAFETY_PART * safetyPeriodMs) + ENDS_A_LEASE / shortestMs + 1 / SIGN_OF_LIFE_MS;
    const heard = node.lines.reduce((sum, { messages }) => sum + messages.heard, 0);
    const perServer =
      OF_A_SERVER +
      told +
      (OF_A_CALL * members + (spins > 0 ? FIRST_SPINS : 0)) * this.#checker.calls.begunBy(name) +
      ms *
        (RENEWALS_A_LEASE * beats +
          shared.length * members * whileItWaits +
          spins / SPIN_MS +
          permits / PERMIT_MS);
    return TRIED_AGAIN * (tasks * heard + servers * perServer);
  }
}
