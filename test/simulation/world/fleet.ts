import "../../support/run/preload.js";
import type { Around, HoldfastOptions } from "../../../src/client-options.js";
import type { Driver } from "../../../src/driver/driver.js";
import { Holdfast } from "../../../src/holdfast.js";
import type { History } from "../checker/history.js";
import type { Chooser } from "../chooser/chooser.js";
import type { ClientPlan } from "../workload/plan.js";
import type { CommandLink, LinkWatch } from "./command-link.js";
import type { MessageLink } from "./message-link.js";
import { SimProcess } from "./sim-process.js";
import type { SimServer } from "./sim-server.js";
import type { Topology } from "./topology.js";
import type { VirtualTime } from "./virtual-time.js";

/** The connections between a process and one server. */
export interface Line {
  readonly commands: CommandLink;
  readonly messages: MessageLink;
  /** Where they lead at present. */
  readonly server: () => SimServer;
}

/** One process with its connections, as the faults see it. */
export interface Node {
  readonly process: SimProcess;
  /** The first is there from the start. */
  readonly lines: readonly Line[];
  /** One for each group of servers: those of a red lock have one each. */
  readonly clients: readonly [Holdfast, ...Holdfast[]];
  /** Whether its clients have presence, and so a timer at any time. */
  readonly hasPresence: boolean;
}

export interface NodeParts {
  readonly name: string;
  readonly time: VirtualTime;
  readonly chooser: Chooser;
  readonly plan: ClientPlan;
  readonly around?: Around | undefined;
  readonly watch: LinkWatch;
  readonly history: History;
}

/** What a process needs for its connections. */
export interface ConnectParts extends NodeParts {
  readonly process: SimProcess;
  /** All that it has open. */
  readonly lines: Line[];
}

/** One client of a process. */
export interface Connected {
  readonly driver: Driver;
  readonly options?: HoldfastOptions;
}

/** Starts a process with its clients. */
export function startNode(topology: Topology, parts: NodeParts): Node {
  const { name, time, chooser, plan, around } = parts;
  const process = new SimProcess(name, time, plan.clock, chooser.stream(`${name}.timers`));
  const lines: Line[] = [];
  const [first, ...others] = topology.connect({ ...parts, process, lines });
  const options = { ...plan.options, clock: process.clock, ...(around === undefined ? {} : { around }) };
  return {
    process,
    lines,
    hasPresence: plan.options.presence !== undefined,
    clients: [
      new Holdfast(first.driver, { ...options, ...first.options }),
      ...others.map((other) => new Holdfast(other.driver, { ...options, ...other.options })),
    ],
  };
}
