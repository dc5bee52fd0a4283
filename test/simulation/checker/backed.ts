import type { Reliance } from "../world/reliance.js";
import type { SimProcess } from "../world/sim-process.js";
import type { SimServer } from "../world/sim-server.js";
import type { Topology } from "../world/topology.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Checker, Entered, Part } from "./checker.js";
import type { Holders } from "./holders.js";
import { SLEEP } from "./slept-through.js";
import type { Trouble } from "./trouble.js";

const MS = 1_000;
/** Who requires replicas asks each second who has a slot; news of a Sentinel, timers and the way there come on top. */
const LOOK_MS = 1_000;
const SLACK_MS = 500;

/**
 * Who waits for all replicas that may be chosen believes in nothing that one of them lacks, unless the server of it has changed a short
 * time ago: then it is confirmed, or lost, within a look at the servers and one command timeout.
 */
export class Backed {
  readonly #time: VirtualTime;
  readonly #checker: Checker;
  readonly #trouble: Trouble;
  readonly #holders: Holders;
  readonly #topology: Topology;

  constructor(time: VirtualTime, checker: Checker, trouble: Trouble, holders: Holders, topology: Topology) {
    this.#time = time;
    this.#checker = checker;
    this.#trouble = trouble;
    this.#holders = holders;
    this.#topology = topology;
  }

  look(): void {
    for (const belief of this.#checker.believed) {
      const reliance = this.#topology.reliances?.of(belief.process.name);
      // A release is done, and tried on, although too few replicas have it.
      if (reliance?.isSafe !== true || belief.isKept === true) continue;
      for (const part of belief.parts) this.#compare(belief, part, reliance);
    }
  }

  #compare(belief: Entered, { name, owners }: Part, { commandTimeoutMs }: Reliance): void {
    const { process, label, enteredUs } = belief;
    const standing = this.#topology.standingOf?.(name);
    if (standing === undefined) return;
    const { master, heirs, sinceUs } = standing;
    if (sinceUs > 0 && this.#mayNotKnow(process, Math.max(sinceUs, enteredUs), commandTimeoutMs)) return;
    if (this.#wentAndCame(name, enteredUs)) return;
    // What was freed by force is missing everywhere, though another call of its client may have the lock by now.
    if (!has(master, name, owners) || this.#wasForced(name, owners, belief)) return;
    for (const heir of heirs) {
      if (has(heir, name, owners)) continue;
      this.#checker.fail(
        "exclusion",
        `"${name}": ${label} is believed, and ${heir.name}, which may take over from ${master.name}, lacks it`,
      );
    }
  }

  /** Whether it was freed by force itself, or what stood for it in Redis since it was handed on within its client. */
  #wasForced(name: string, owners: readonly string[], { startUs, enteredUs }: Entered): boolean {
    const isIts = (owner: string, field: string) => field === owner || field === `${owner}:write`;
    return owners.some((owner) =>
      this.#holders
        .departures(name, owner, startUs)
        .some(({ how, field, atUs }) => how === "by force" && (isIts(owner, field) || atUs >= enteredUs)),
    );
  }

  /** Whether its slot has gone and come back between two looks at the servers: nobody hears of that. */
  #wentAndCame(name: string, sinceUs: number): boolean {
    const moves = this.#topology.reliances?.movesOf(name, sinceUs) ?? [];
    return moves.some(
      ({ atUs }, at) => at > 0 && atUs - (moves[at - 1]?.atUs ?? 0) <= (LOOK_MS + SLACK_MS) * MS,
    );
  }

  /** Whether it may have slept through the change, or has time to hear of it still. */
  #mayNotKnow({ name }: SimProcess, changedUs: number, commandTimeoutMs: number): boolean {
    const longestMs = LOOK_MS + commandTimeoutMs + SLACK_MS;
    const slept = this.#trouble.spellsOf(name, SLEEP).some(({ untilUs }) => untilUs >= changedUs);
    return slept || this.#time.nowUs < changedUs + longestMs * MS;
  }
}

/** Whether the client of a holder has it there: within a process a lock is handed on before Redis hears of it. */
function has(server: SimServer, key: string, owners: readonly string[]): boolean {
  const fields = server.command("HKEYS", key) as readonly string[];
  const clients = owners.map((owner) => `${owner.split(":", 1)[0]}:`);
  return fields.some((field) => clients.some((client) => field.startsWith(client)));
}
