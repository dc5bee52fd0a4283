import { readHoldKey } from "../../../src/protocol/names.js";
import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Checker, Entered, Part } from "./checker.js";
import { isOfGiven } from "./fields.js";
import type { Keyspace } from "./keyspace.js";

/** These a client hands on from one of its calls to another, and tells Redis of it later. */
const HANDED_ON = ["lock", "non-reentrant", "multi"];
const PAIRS = ["read-write", "fair read-write"];
const US = 1_000;

interface Parts {
  readonly time: VirtualTime;
  readonly checker: Checker;
  readonly keyspace: Keyspace;
  /** Whether what is believed may be gone for a reason that is documented. */
  mayLack(name: string, belief: Entered): boolean;
}

/**
 * Nobody believes in a lock for longer than its server keeps it for him, also where nobody comes to whom that would show: his field is
 * there, and of a reader a key for each of his holds.
 */
export class StoredHolds {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  look(server: SimServer): void {
    const { checker } = this.#parts;
    const { believed } = checker;
    for (const belief of believed) {
      for (const part of belief.parts) this.#compare(server, belief, part, believed);
    }
  }

  #compare(server: SimServer, belief: Entered, part: Part, believed: readonly Entered[]): void {
    const { checker, mayLack } = this.#parts;
    const leftMs = checker.leftMs(belief);
    const isReader = PAIRS.includes(belief.kind) && part.mode === "shared";
    const lockMs = this.#lockMs(server, belief, part);
    const keptMs = isReader ? Math.min(lockMs, this.#readMs(server, belief, part, believed)) : lockMs;
    if (leftMs <= keptMs || mayLack(part.name, belief)) return;
    const untilWhen = `for ${round(leftMs)} ms, and is kept for ${round(keptMs)} ms`;
    checker.fail("exclusion", `"${part.name}": ${belief.label} is believed ${untilWhen}`);
  }

  /** For how long the lock is kept for its holder; 0: it is not. */
  #lockMs(server: SimServer, { kind }: Entered, { name, owners, mode }: Part): number {
    const { time, keyspace } = this.#parts;
    const { fields, endsUs } = keyspace.latest(server, name);
    // What was given to a client is not had before that has taken it.
    const isHolder = (field: string) =>
      !isOfGiven(field) &&
      owners.some((owner) => {
        if (HANDED_ON.includes(kind)) return clientOf(field) === clientOf(owner);
        return field === (PAIRS.includes(kind) && mode === "exclusive" ? `${owner}:write` : owner);
      });
    return [...fields.keys()].some(isHolder) ? (endsUs - time.nowUs) / US : 0;
  }

  /**
   * Of the holds of one reader the one that is believed for longest has the key that is kept for longest, and so on. One that may be gone
   * has none that another one could not have.
   */
  #readMs(server: SimServer, belief: Entered, { name, owners }: Part, believed: readonly Entered[]): number {
    const { checker, keyspace, mayLack } = this.#parts;
    const [owner = ""] = owners;
    const count = Number(keyspace.latest(server, name).fields.get(owner) ?? 0);
    const keptMs = Array.from({ length: count }, (_, at) =>
      Number(server.command("PTTL", readHoldKey(name, owner, at + 1))),
    ).sort((one, other) => other - one);
    const isOfReader = (part: Part) =>
      part.name === name && part.mode === "shared" && part.owners[0] === owner;
    const itsReads = believed
      .filter((each) => each.parts.some(isOfReader) && !mayLack(name, each))
      .sort((one, other) => checker.leftMs(other) - checker.leftMs(one));
    return keptMs[itsReads.indexOf(belief)] ?? 0;
  }
}

function clientOf(field: string): string {
  return field.slice(0, field.indexOf(":"));
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
