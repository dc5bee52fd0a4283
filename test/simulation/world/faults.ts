import type { Chooser, Stream } from "../chooser/chooser.js";
import { between, oneIn, pick } from "../draw.js";
import type { Mix } from "../workload/mixes.js";
import type { CommandLink, LinkWatch, Moment } from "./command-link.js";
import { connectionFaults, rareFaults } from "./connection-faults.js";
import { type Fault, type Hit, linesTo, MS, type Reach } from "./fault.js";
import { processFaults } from "./process-faults.js";
import { replicaFaults } from "./replica-faults.js";
import { serverFaults } from "./server-faults.js";
import { slotFaults } from "./slot-faults.js";
import { isSynchronizer, type TopologyName } from "./topology.js";

const FAULTS: Readonly<Record<string, Fault>> = {
  ...connectionFaults,
  ...processFaults,
  ...serverFaults,
  ...replicaFaults,
  ...slotFaults,
};

const ALL_FAULTS: Readonly<Record<string, Fault>> = { ...FAULTS, ...rareFaults };

/** All sorts of fault that a schedule of everything may have. */
export const FAULT_SORTS: readonly string[] = Object.keys(FAULTS);

/** The sorts of fault that a topology has, where these kinds are used. */
export function sortsOf(topology: TopologyName, kinds: readonly string[]): readonly string[] {
  const hasOthers = kinds.some(isSynchronizer);
  return FAULT_SORTS.filter((sort) => {
    const { only, isForLocks = false } = FAULTS[sort] ?? {};
    return (only?.includes(topology) ?? true) && !(isForLocks && hasOthers);
  });
}

/** What is done to a fleet, and when: at a moment in the life of a command, so that it hits something under way. */
interface Planned {
  readonly sort: string;
  readonly process: string;
  readonly moment: Moment;
  readonly nth: number;
  readonly stream: Stream;
  isDone: boolean;
}

const MOMENTS: readonly [Moment, ...Moment[]] = ["sent", "arrived", "answered"];

/** As many at most, where faults are many. */
const MOST_OF_MANY = 16;

/** All that befalls one fleet. */
export class Faults implements LinkWatch {
  readonly #planned: Planned[] = [];
  /** What may strike at any moment, where faults are many. */
  readonly #many: NonNullable<Mix["faults"]> | undefined;
  readonly #chance: Stream;
  #left = 0;
  #reach: Reach | undefined;

  /** @param processes how many there are */
  constructor(
    chooser: Chooser,
    processes: number,
    topology: TopologyName,
    kinds: readonly string[],
    mix: Mix | undefined,
  ) {
    const plan = chooser.stream("faults");
    this.#chance = chooser.stream("many faults");
    if (mix !== undefined) {
      this.#many = mix.faults;
      this.#left = MOST_OF_MANY;
      return;
    }
    const sorts = sortsOf(topology, kinds);
    const own = sorts.filter((sort) => FAULTS[sort]?.only?.includes("standalone") === false);
    // What only this topology has comes more often than the rest.
    const often = [...sorts, ...own, ...own, ...own];
    const count = pick(plan, [0, 2, 3, 4, 5, 6, 8]);
    for (let at = 0; at < count; at += 1) {
      const stream = chooser.stream(`fault${at}`);
      this.#planned.push({
        sort: pick(stream, often as [string, ...string[]]),
        process: `p${stream.choose(processes)}`,
        moment: pick(stream, MOMENTS),
        nth: between(stream, 1, 16),
        stream,
        isDone: false,
      });
    }
  }

  begin(reach: Reach): void {
    this.#reach = reach;
  }

  /** Nothing befalls the fleet any more. */
  end(): void {
    for (const fault of this.#planned) fault.isDone = true;
    this.#left = 0;
  }

  reached(link: CommandLink, moment: Moment, nth: number): void {
    const { name } = link.process;
    for (const fault of this.#planned) {
      if (fault.isDone || fault.process !== name || fault.moment !== moment || fault.nth !== nth) continue;
      fault.isDone = true;
      this.#strike(fault, link);
    }
    if (this.#many !== undefined && this.#left > 0) this.#strikeAnyTime(this.#many, link);
  }

  #strikeAnyTime({ sorts, oneIn: times }: NonNullable<Mix["faults"]>, link: CommandLink): void {
    const stream = this.#chance;
    if (!oneIn(stream, times)) return;
    this.#left -= 1;
    this.#strike({ sort: pick(stream, sorts), process: link.process.name, stream }, link);
  }

  #strike(
    { sort, process: name, stream }: Pick<Planned, "sort" | "process" | "stream">,
    link: CommandLink,
  ): void {
    const reach = this.#reach;
    const fault = ALL_FAULTS[sort];
    const node = reach?.nodes().find(({ process }) => process.name === name);
    const line = node?.lines.find(({ commands }) => commands === link);
    if (reach === undefined || node === undefined || line === undefined || fault === undefined) return;
    if (node.process.isDead) return;
    const hit: Hit = { node, line, server: line.server(), stream, reach };
    const hasHit = isUnderWay(fault, hit);
    const lastsUs = fault.strike(hit);
    if (lastsUs === undefined) return;
    const of = fault.befalls === "server" ? undefined : name;
    reach.trouble.begin(sort, of, lastsUs, hasHit);
    reach.history.add("world", `${sort} of ${of ?? hit.server.name} for ${lastsUs / MS} ms`);
  }
}

/** Whether a fault hits something that is under way. */
function isUnderWay({ befalls }: Fault, { node, line, server, reach }: Hit): boolean {
  switch (befalls) {
    case "process":
      return node.lines.some(({ commands }) => commands.underWay > 0);
    case "commands":
      return line.commands.underWay > 0;
    case "messages":
      return line.messages.channels > 0;
    case "server":
      return linesTo(server, reach.nodes()).some(({ commands }) => commands.underWay > 0);
    default:
      return befalls satisfies never;
  }
}
