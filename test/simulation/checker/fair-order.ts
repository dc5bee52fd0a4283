import { fairTimes } from "../../../src/protocol/fair-scripts.js";
import { fairQueueKey } from "../../../src/protocol/names.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Checker } from "./checker.js";
import type { Trouble } from "./trouble.js";

const US = 1_000;
/** The server counts in whole milliseconds. */
const GRAIN_MS = 1;
/** By these a server loses what it was told, or takes it to be longer ago than it is. */
const FORGETS = ["server-emptied", "server-older", "server-clock-step", "server ahead takes over"];
/** A sign of life is on its way for so long at most where nothing has befallen its process. */
const WAY_US = 500 * US;

/** A fair lock as its server has it. */
interface Found {
  readonly queue: readonly string[];
  readonly holders: readonly string[];
}

/** What a command has done, and the fields that it was about. */
interface Change {
  readonly before: Found;
  readonly after: Found;
  readonly mine: ReadonlySet<string>;
}

/** What there is to know about a waiter's process. */
export interface Waiters {
  /** The process whose client has this field; undefined: nobody knows. */
  processOf(field: string): string | undefined;
  /** Whether a process that lives and goes on still waits for a lock. */
  stillWaits(process: string, name: string): boolean;
}

/**
 * Watches the queue of one fair lock: nobody is given the lock while somebody else stands before him, and nobody loses his place who
 * has given a sign of life within the time that is documented.
 */
export class FairOrder {
  readonly #name: string;
  readonly #time: VirtualTime;
  readonly #checker: Checker;
  readonly #trouble: Trouble;
  readonly #waiters: Waiters;
  /** When each field last gave a sign of life, in virtual time. */
  readonly #seenUs = new Map<string, number>();
  #before: Found = { queue: [], holders: [] };

  constructor(name: string, time: VirtualTime, checker: Checker, trouble: Trouble, waiters: Waiters) {
    this.#name = name;
    this.#time = time;
    this.#checker = checker;
    this.#trouble = trouble;
    this.#waiters = waiters;
  }

  starts(server: SimServer, { keys }: ScriptCall): void {
    if (keys.includes(this.#name)) this.#before = this.#look(server);
  }

  ran(server: SimServer, { script, keys, args }: ScriptCall, answer: RawReply | Error): void {
    if (!keys.includes(this.#name)) return;
    const before = this.#before;
    const after = this.#look(server);
    const entered = after.holders.filter((field) => !before.holders.includes(field));
    const mine = new Set(args.map(String));
    for (const field of entered) this.#lookAtEntry(field, { before, after, mine });
    for (const field of before.queue) {
      if (after.queue.includes(field) || entered.includes(field) || mine.has(field)) continue;
      this.#lookAtLoss(field);
    }
    if (answer instanceof Error || !isSign(script.name, JSON.stringify(answer))) return;
    for (const field of after.queue) if (mine.has(field)) this.#seenUs.set(field, this.#time.nowUs);
  }

  #look(server: SimServer): Found {
    const [queue, holders] = [
      server.command("LRANGE", fairQueueKey(this.#name), 0, -1),
      server.command("HKEYS", this.#name),
    ];
    return {
      queue: (queue as readonly unknown[]).map(String),
      holders: (holders as readonly unknown[]).map(String),
    };
  }

  /** A field that is new in the lock's hash. */
  #lookAtEntry(field: string, { before, after, mine }: Change): void {
    const place = before.queue.indexOf(field);
    // Those who have come by the same command have come later.
    const ahead = place < 0 ? before.queue : before.queue.slice(0, place);
    const passed = ahead.filter(
      (other) =>
        other !== field &&
        after.queue.includes(other) &&
        // A waiter that was silent for too long is dropped, and queued anew, by its own next command.
        !(mine.has(other) && this.#isSilent(other)) &&
        !this.#mayBeForgotten(other),
    );
    if (passed.length === 0) return;
    this.#checker.fail(
      "order",
      `"${this.#name}": ${field} has the lock, and ${passed.join(", ")} stood before`,
    );
  }

  /** Whether a field has given no sign of life for so long that it is taken to be dead. */
  #isSilent(field: string): boolean {
    const seenUs = this.#seenUs.get(field) ?? 0;
    return this.#time.nowUs - seenUs > (fairTimes.aliveMs - GRAIN_MS) * US;
  }

  #mayBeForgotten(field: string): boolean {
    return this.#trouble.hasSince(this.#seenUs.get(field) ?? 0, FORGETS);
  }

  /** A field that was taken out of the queue by somebody else. */
  #lookAtLoss(field: string): void {
    const seenUs = this.#seenUs.get(field);
    if (seenUs === undefined || this.#mayBeForgotten(field)) return;
    const silentMs = (this.#time.nowUs - seenUs) / US;
    if (!this.#isSilent(field)) {
      const text = `${field} has lost its place ${silentMs} ms after a sign of life`;
      this.#checker.fail("order", `"${this.#name}": ${text}`);
    }
    const process = this.#waiters.processOf(field);
    if (process === undefined || this.#trouble.has(process, seenUs - WAY_US)) return;
    if (!this.#waiters.stillWaits(process, this.#name)) return;
    this.#checker.fail(
      "order",
      `"${this.#name}": ${field} has lost its place, and nothing has befallen ${process}`,
    );
  }
}

/** Whether a script has told that those who stand in the queue are alive. */
function isSign(script: string, answer: string): boolean {
  return (
    script === "fair-refresh" ||
    (script === "fair-acquire" && answer.includes('"queued"') && !answer.includes('"late"'))
  );
}
