import type { Node } from "../world/fleet.js";
import { type Census, isExposed, more, takeCensus } from "./census.js";
import type { Checker } from "./checker.js";

type Tables = Readonly<Record<string, Readonly<Record<string, () => unknown>>>>;

/** Those of modules; written by what has exposed the private names. */
const ofModules: Tables = isExposed ? await loadTables() : {};

async function loadTables(): Promise<Tables> {
  const { href } = new URL("../../../src/tables.js", import.meta.url);
  const { tables } = (await import(href)) as { readonly tables: Tables };
  return tables;
}

/** So many lines, and counts of stays, stay in their maps for the locks that are wanted next. */
const MOST_KEPT = 64;
/** A process has one client for each server of a red lock. */
const MOST_CLIENTS = 5;

/** What a client keeps at rest, and after its end, although nothing is under way: how much of it at most, and why. */
const MAY_KEEP: ReadonlyMap<string, number> = new Map([
  // Lines in which nobody stands: see wait-lines.ts.
  ["WaitLines.#lines", MOST_KEPT],
  ["WaitLine", MOST_KEPT],
  ["LineAnswers", MOST_KEPT],
  // It listens to nothing then: one for the client's own channel, and one for what all hear.
  ["Ear", 2 * MOST_KEPT],
  ["LineEars", MOST_KEPT],
  // How many waited before its client, by an answer that came when nobody waited any more.
  ["LineEars.place.ahead", 2 * MOST_KEPT],
  ["LineAlarm", MOST_KEPT],
  ["OwnMessage", MOST_KEPT],
  // A lock of which others have heard, or which was lost: the next release looks into its queue, if there is one.
  ["WaitLines.waitedFor", MOST_KEPT],
  // What such a line has learnt of how long to leave its lock to others: decision 29.
  ["Yields", MOST_KEPT],
  // Zeros: decision 23. Their sum is counted by itself.
  ["Occupancy.#stays", MOST_KEPT],
  // One for each place where a key can be.
  ["ServerClocks.#servers", MOST_KEPT],
  ["Server", MOST_KEPT],
  ["Admission.#rooms", MOST_KEPT],
  ["Room", MOST_KEPT],
  // One for each lease of the ladder that a call has asked for, without a timer.
  ["Watchdog", MOST_KEPT],
  ["Watchdogs.#others", MOST_KEPT],
  // The latest losses of each client, for presence.
  ["Tally.losses", 10 * MOST_CLIENTS],
  // One of each, made for its first beat.
  ["Presence", MOST_CLIENTS],
  // A beat of each, at any time.
  ["UnderWay.#aside", MOST_CLIENTS],
  ["PendingCommand", MOST_CLIENTS],
  // The context that it was sent in, where calls are traced.
  ["AsyncResource", MOST_CLIENTS],
  ["TracedCommand", MOST_CLIENTS],
  ["TracedCommand.#locks", MOST_CLIENTS],
  ["TracedCommand.#tries", MOST_CLIENTS],
  // Handles of timeouts that have fired or were cancelled: one that is pending is in a ring of the wheel.
  ["WheelTimeout", MOST_KEPT],
]);

/** These bound themselves: what was read of other clients (see fleet.ts), and what was counted since the last beat of presence (see tally.ts). */
const BOUNDED = ["KnownClients.", "Tally.#stats"];

/** What the clients of a run keep, compared with what a new client has. */
export class TableCheck {
  readonly #checker: Checker;
  readonly #before = new Map<Node, Census>();
  #ofModules: Census | undefined;

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  /** A client was made, and nothing was done with it. */
  began(node: Node): void {
    if (!isExposed) return;
    this.#ofModules ??= censusOfModules();
    this.#before.set(node, censusOf(node));
  }

  /** Nothing is held, waited for or under way any more. */
  look(node: Node, when: string): void {
    const before = this.#before.get(node);
    if (before === undefined) return;
    for (const client of node.clients) sweep(client);
    const mayHave = (what: string) =>
      BOUNDED.some((start) => what.startsWith(start)) ? Number.POSITIVE_INFINITY : (MAY_KEEP.get(what) ?? 0);
    for (const surplus of more(censusOf(node), before, mayHave)) {
      this.#checker.fail("leftovers", `${node.process.name} has ${surplus} ${when}`);
    }
  }

  /** All clients are closed, or gone. @param killed how many clients are gone: those have told no module of theirs */
  lookAtModules(killed: number): void {
    const before = this.#ofModules;
    if (before === undefined) return;
    const mayHave = (what: string) => {
      // It bounds itself, and remembers keys for all clients to come: see hash-slot.ts.
      if (what.includes(": knownSlots")) return Number.POSITIVE_INFINITY;
      return what.endsWith(": tellers") ? killed : 0;
    };
    for (const surplus of more(censusOfModules(), before, mayHave)) {
      this.#checker.fail("leftovers", `${surplus} when all clients are closed`);
    }
  }
}

/**
 * The stays under chosen ids that Redis has no more, and the books of values that nobody asks about, are looked for when there are many:
 * now is that time.
 */
function sweep(holdfast: unknown): void {
  const { threads, requests } = (holdfast as { _Holdfast_client: Sweeping })._Holdfast_client;
  threads._Threads_sweepAtSize = 0;
  threads._Threads_sweep();
  requests._Requests_sweep(Number.POSITIVE_INFINITY);
}

interface Sweeping {
  readonly threads: { _Threads_sweepAtSize: number; _Threads_sweep(): void };
  readonly requests: { _Requests_sweep(unusedSinceMs: number): void };
}

function censusOf({ clients, process, lines }: Node): Census {
  const roots = Object.fromEntries(clients.map((client, at) => [`Holdfast ${at}`, client]));
  return takeCensus(roots, [
    process.clock,
    ...lines.flatMap(({ commands, messages }) => [commands, messages]),
  ]);
}

function censusOfModules(): Census {
  const roots: Record<string, unknown> = {};
  for (const [module, tables] of Object.entries(ofModules)) {
    for (const [name, table] of Object.entries(tables)) roots[`${module}: ${name}`] = table();
  }
  return takeCensus(roots, []);
}
