import type { Stream } from "../chooser/chooser.js";
import { between, pick } from "../draw.js";
import { LOCK_KINDS } from "../workload/lock-names.js";
import { ClusterTopology } from "./cluster.js";
import { CommandLink } from "./command-link.js";
import type { Connected, ConnectParts } from "./fleet.js";
import { MessageLink } from "./message-link.js";
import type { Reliances } from "./reliance.js";
import { replicaCount, SentinelTopology } from "./sentinels.js";
import { SimDriver } from "./sim-driver.js";
import { type ServerWatch, SimServer } from "./sim-server.js";
import type { VirtualTime } from "./virtual-time.js";

export const TOPOLOGY_NAMES = ["standalone", "red", "sentinel", "cluster"] as const;
export type TopologyName = (typeof TOPOLOGY_NAMES)[number];

/** Seven in ten have one server. */
const TOPOLOGIES: readonly [TopologyName, ...TopologyName[]] = [
  ...(["standalone", "standalone", "standalone", "standalone"] as const),
  ...(["standalone", "standalone", "standalone", "red", "sentinel", "cluster"] as const),
];

/** Which servers there are, and how a process connects to them. */
export interface Topology {
  readonly name: TopologyName;
  readonly servers: readonly [SimServer, ...SimServer[]];
  /** Where there are replicas. */
  readonly reliances?: Reliances;
  /** Who has a name, where there are replicas; undefined while that is about to change. */
  standingOf?(name: string): Standing | undefined;
  connect(parts: ConnectParts): readonly [Connected, ...Connected[]];
}

/** The servers of a name. */
export interface Standing {
  readonly master: SimServer;
  /** The replicas one of which would take over. */
  readonly heirs: readonly SimServer[];
  /** Since when that is the master. */
  readonly sinceUs: number;
}

interface TopologyParts {
  readonly time: VirtualTime;
  /** What the clocks of servers show at the beginning. */
  readonly epochMs: () => number;
  readonly watch: ServerWatch;
  readonly stream: Stream;
}

/** Whether something is no lock. */
export function isSynchronizer(kind: string): boolean {
  return !LOCK_KINDS.some((lock) => lock === kind);
}

/** Of these kinds of lock and synchronizer those that a topology has. */
export function kindsOf(topology: TopologyName, kinds: readonly string[]): readonly string[] {
  if (topology === "red") return kinds.filter((kind) => kind === "red");
  // What is counted is read at one server, which is to have it all the time.
  return kinds.filter((kind) => kind !== "red" && (topology === "standalone" || !isSynchronizer(kind)));
}

/** @param only those that the run may have */
export function drawTopology(stream: Stream, only: readonly TopologyName[]): TopologyName {
  const [first, ...others] = TOPOLOGIES.filter((name) => only.includes(name));
  return pick(stream, [first ?? "standalone", ...others]);
}

export function makeTopology(name: TopologyName, parts: TopologyParts): Topology {
  switch (name) {
    case "standalone":
      return new Separate(name, [newServer(0, parts)]);
    case "red": {
      const others = Array.from({ length: pick(parts.stream, [2, 2, 4]) }, (_, at) =>
        newServer(at + 1, parts),
      );
      return new Separate(name, [newServer(0, parts), ...others]);
    }
    case "sentinel": {
      const epochMs = parts.epochMs();
      const alike = { ...parts, epochMs: () => epochMs };
      const replicas = Array.from({ length: replicaCount(parts.stream) }, (_, at) =>
        newServer(at + 1, alike),
      );
      return new SentinelTopology(parts.time, parts.stream, [newServer(0, alike), ...replicas]);
    }
    case "cluster": {
      const epochMs = parts.epochMs();
      const count = 2 * between(parts.stream, 2, 3) - 1;
      const alike = { ...parts, epochMs: () => epochMs };
      const others = Array.from({ length: count }, (_, at) => newServer(at + 1, alike));
      return new ClusterTopology(parts.time, parts.stream, [newServer(0, alike), ...others]);
    }
    default:
      return name satisfies never;
  }
}

function newServer(at: number, { time, epochMs, watch }: TopologyParts): SimServer {
  return new SimServer(`s${at}`, time, epochMs(), watch);
}

/** Servers that know nothing of each other: each process has a client for each. */
class Separate implements Topology {
  readonly name: TopologyName;
  readonly servers: readonly [SimServer, ...SimServer[]];

  constructor(name: TopologyName, servers: readonly [SimServer, ...SimServer[]]) {
    this.name = name;
    this.servers = servers;
  }

  connect(parts: ConnectParts): readonly [Connected, ...Connected[]] {
    const [first, ...others] = this.servers;
    return [this.#reach(first, parts), ...others.map((other) => this.#reach(other, parts))];
  }

  #reach(server: SimServer, { name, time, chooser, plan, process, watch, lines }: ConnectParts): Connected {
    const link = this.servers.length === 1 ? name : `${name}-${server.name}`;
    const { distance, rules } = plan;
    const delays = chooser.stream(`${link}.delays`);
    const common = { name: link, time, process, server: () => server, distance, delays };
    const commands = new CommandLink({ ...common, rules, watch });
    const messages = new MessageLink(common);
    lines.push({ commands, messages, server: () => server });
    return { driver: new SimDriver(server.name, commands, messages) };
  }
}
